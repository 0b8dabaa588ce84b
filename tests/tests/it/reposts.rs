//! Reposts: delivered like tweets, shown as the original, once where several people pass the same tweet on, and gone with
//! the answer (I1, I2, I3).

use std::time::Duration;

use roost_tests::events::{StreamRecord, table_batch};
use roost_tests::{
    Cache, Client, Listing, LocalCloud, Method, PATIENCE, Tweet, User, eventually, expect_equal,
    expect_tier, in_parallel, keys, shown, throughout,
};
use serde_json::{Value, json};
use shared::domain::{PageSize, TweetId, UserId};
use shared::platform::now_millis;
use tokio::time::sleep;

use crate::isolated_stack::IsolatedStack;
use crate::stores::{someone, tweet_at};

/// A tweet on a page, and who passed it on if it is there by a repost.
type Shown = (u64, Option<u64>);

fn own(tweet: &Tweet) -> Shown {
    (tweet.id, None)
}

fn by(tweet: &Tweet, reposter: &User) -> Shown {
    (tweet.id, Some(reposter.id))
}

async fn eventually_shows(reader: &User, expected: &[Shown]) {
    eventually(PATIENCE, "the timeline is complete", || async {
        let found = shown(&reader.try_walk(100).await?);
        expect_equal("timeline", found.as_slice(), expected)
    })
    .await;
}

/// Downwards in pages of several sizes, upwards and by number, the timeline is this now. All of it is above `since`.
async fn expect_everywhere(reader: &User, expected: &[Shown], since: u64, when: &str) {
    for limit in [1, 2, 100] {
        let walked = shown(&reader.walk(limit).await);
        assert_eq!(walked, expected, "in pages of {limit}, {when}");
    }
    let path = format!("/v1/home_timeline?limit=100&since_id={since}");
    let above: Listing<Tweet> = reader.get(&path).await.expect(200).read();
    assert_eq!(shown(&above.data), expected, "upwards, {when}");
    let path = format!("/v1/home_timeline/new?since={since}");
    let news = reader.get(&path).await.expect(200).json();
    assert_eq!(news["count"], expected.len(), "by number, {when}: {news}");
}

/// How the tweet came to the reader's first page.
async fn way(reader: &User, tweet: &Tweet) -> Option<String> {
    let path = "/v1/home_timeline?limit=100&explain=true";
    let page = reader.get(path).await.expect(200).json();
    let mut items = page["data"].as_array().expect("a list").iter();
    let id = tweet.id.to_string();
    let item = items.find(|item| item["id"] == id.as_str())?;
    Some(item["explain"]["via"].as_str().expect("a way").to_owned())
}

/// The position of the reader's newest entry.
async fn newest_position(reader: &User) -> u64 {
    let page = reader.newest().await;
    page.meta.newest_id.expect("the page is not empty")
}

/// The author of a tweet, somebody who reposts it, and a reader who follows only the latter and has a list.
async fn given_reposter(roost: &Client) -> [User; 3] {
    let [author, reposter, reader] = roost.sign_up_each(["autho", "repos", "reade"]).await;
    reader.follow(&reposter).await;
    reader.newest().await;
    [author, reposter, reader]
}

/// The same with a tweet that the reader sees by the repost.
async fn given_repost(roost: &Client) -> ([User; 3], Tweet) {
    let people = given_reposter(roost).await;
    let [author, reposter, reader] = &people;
    let tweet = author.post("pass me on").await;
    reposter.repost(&tweet).await;
    eventually_shows(reader, &[by(&tweet, reposter)]).await;
    (people, tweet)
}

async fn expect_reposts(reader: &User, tweet: &Tweet, count: u64) {
    eventually(PATIENCE, "reposts are counted", || async {
        let found = reader.tweet(tweet.id).await.repost_count;
        expect_equal("repost_count", found, count)
    })
    .await;
}

#[tokio::test]
async fn a_follower_of_the_reposter_sees_the_original_and_who_passed_it_on() {
    let roost = Client::shared().await;
    let [author, reposter, reader] = given_reposter(&roost).await;
    reposter.newest().await;
    let tweet = author.post("pass me on").await;

    reposter.repost(&tweet).await;

    // Read your writes.
    let page = reposter.newest().await;
    assert_eq!(shown(&page.data), [by(&tweet, &reposter)]);
    assert!(page.data[0].reposted);
    eventually_shows(&reader, &[by(&tweet, &reposter)]).await;
    // Every page that a test reads is checked for more: both people are included, and the ends are positions.
    let page = reader.newest().await;
    let item = &page.data[0];
    assert_eq!(
        (item.id, item.author_id, &item.text, &item.created_at),
        (tweet.id, author.id, &tweet.text, &tweet.created_at)
    );
    assert!(!item.reposted, "it is the caller who did not repost it");
    assert_eq!(page.includes.users.len(), 2);
    let position = newest_position(&reader).await;
    assert!(position > tweet.id, "a repost has an id of its own");
    assert_eq!(page.meta.oldest_id, Some(position));
    // The author follows nobody, so this is their own tweet and nothing else.
    assert_eq!(shown(&author.newest().await.data), [own(&tweet)]);
    // Again is as good as once.
    reposter.repost(&tweet).await;
    assert_eq!(newest_position(&reposter).await, position);
}

#[tokio::test]
async fn somebody_who_never_read_sees_what_was_reposted_before() {
    let roost = Client::shared().await;
    let [author, reposter, reader] = roost.sign_up_each(["autho", "repos", "reade"]).await;
    reader.follow(&reposter).await;
    let tweet = author.post("pass me on").await;
    reposter.repost(&tweet).await;

    // No waiting: a list that does not exist yet is built from the tables, consistently.
    let page = reader.newest().await;
    assert_eq!(shown(&page.data), [by(&tweet, &reposter)]);
}

#[tokio::test]
async fn ones_own_tweet_may_be_reposted() {
    let roost = Client::shared().await;
    let [author, fan] = roost.sign_up_each(["autho", "fan"]).await;
    fan.follow(&author).await;
    let (tweet, next) = (author.post("mine").await, author.post("next").await);

    author.repost(&tweet).await;

    // The oldest of the two is shown: the tweet itself.
    for reader in [&author, &fan] {
        eventually_shows(reader, &[own(&next), own(&tweet)]).await;
    }
    assert!(author.tweet(tweet.id).await.reposted);
    expect_reposts(&fan, &tweet, 1).await;
}

/// What happens to the reader's list before it is read.
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// Nothing: what was pushed is read.
    Nothing,
    /// The list is lost and made anew.
    List,
    /// The list keeps only its newest entry, as if it had grown too long.
    AllButTheNewest,
}

impl Loss {
    const ALL: [Self; 3] = [Self::Nothing, Self::List, Self::AllButTheNewest];

    async fn happen(self, cache: &Cache, reader: &User) {
        let list = keys::home_timeline(reader.id);
        match self {
            Self::Nothing => {}
            Self::List => {
                let _: u64 = cache.ask(&["DEL", &list]).await;
            }
            Self::AllButTheNewest => {
                let _: String = cache.ask(&["LTRIM", &list, "0", "0"]).await;
            }
        }
    }

    /// How an old entry may come to a page after it.
    fn ways(self) -> &'static [&'static str] {
        match self {
            // Where streams are slow, a follow is applied after the repost.
            Self::Nothing => &["pushed", "backfilled"],
            Self::List => &["rebuilt"],
            Self::AllButTheNewest => &["deep"],
        }
    }
}

#[tokio::test]
async fn a_repost_is_there_and_gone_with_the_answer_whatever_it_is_read_from() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let [author, reposter, reader] = given_reposter(&roost).await;
    let tweet = author.post("pass me on").await;
    let mut others = vec![own(&reposter.post("the first").await)];
    let since = others[0].0 - 1;

    for loss in Loss::ALL {
        let when = format!("after the loss of {loss:?}");
        reposter.repost(&tweet).await;
        // Before the next tweet, which does not wait for a stream: the newest entry has to be the head of the list.
        let reposted = [&[by(&tweet, &reposter)], others.as_slice()].concat();
        eventually_shows(&reader, &reposted).await;
        let newest = own(&reposter.post("and on").await);
        let everything = [&[newest, by(&tweet, &reposter)], others.as_slice()].concat();
        eventually_shows(&reader, &everything).await;

        loss.happen(&cache, &reader).await;
        let way = way(&reader, &tweet).await.expect("it is on the page");
        assert!(loss.ways().contains(&way.as_str()), "{way}, {when}");
        expect_everywhere(&reader, &everything, since, &when).await;

        reposter.unrepost(&tweet).await;
        others.insert(0, newest);
        expect_everywhere(&reader, &others, since, &when).await;
        loss.happen(&cache, &reader).await;
        expect_everywhere(&reader, &others, since, &when).await;
    }
}

#[tokio::test]
async fn what_a_celebrity_reposts_is_pulled_and_gone_with_the_answer() {
    let two_make_a_celebrity = [("CELEBRITY_THRESHOLD", "2"), ("TIER_DWELL_SECONDS", "0")];
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&two_make_a_celebrity).await else {
        return;
    };
    let roost = cloud.client();
    let [author, star, reader] = given_reposter(roost).await;
    roost.sign_up("other").await.follow(&star).await;
    // Until the flip has settled, a repost is pushed as well.
    expect_tier(&tables, &star, "celebrity", 1, PATIENCE).await;
    let first = star.post("the first").await;
    let tweet = author.post("pass me on").await;

    star.repost(&tweet).await;

    let everything = [by(&tweet, &star), own(&first)];
    eventually_shows(&reader, &everything).await;
    // While somebody else fills the feed, it is read from the table.
    eventually(PATIENCE, "it comes from the feed", || async {
        let way = way(&reader, &tweet).await;
        expect_equal("way", way.as_deref(), Some("pulled"))
    })
    .await;
    expect_everywhere(&reader, &everything, first.id - 1, "from the feed").await;
    cache.flush().await;
    expect_everywhere(&reader, &everything, first.id - 1, "after a flush").await;

    star.unrepost(&tweet).await;
    expect_everywhere(&reader, &[own(&first)], first.id - 1, "taken back").await;
    // A sandbox remembers a feed for a second, and counts by what it remembers and by tombstones, which the flush takes.
    sleep(Duration::from_millis(1_200)).await;
    cache.flush().await;
    expect_everywhere(&reader, &[own(&first)], first.id - 1, "after a flush").await;

    // And the other way round: a celebrity's tweet that somebody else passes on is pushed.
    let fan = roost.sign_up("fan").await;
    let follower = roost.sign_up("reade").await;
    follower.follow(&fan).await;
    follower.newest().await;
    fan.repost(&first).await;
    eventually_shows(&follower, &[by(&first, &fan)]).await;
}

#[tokio::test]
async fn a_new_follow_brings_reposts_and_an_unfollow_takes_them_away() {
    let roost = Client::shared().await;
    let [author, reposter, reader] = roost.sign_up_each(["autho", "repos", "reade"]).await;
    reader.newest().await;
    let tweet = author.post("pass me on").await;
    reposter.repost(&tweet).await;
    let newest = reposter.post("and on").await;
    let everything = [own(&newest), by(&tweet, &reposter)];

    for _ in 0..2 {
        reader.follow(&reposter).await;
        eventually_shows(&reader, &everything).await;
        expect_everywhere(&reader, &everything, tweet.id, "after the follow").await;
        reader.unfollow(&reposter).await;
        expect_everywhere(&reader, &[], tweet.id, "after the unfollow").await;
    }
    reader.follow(&reposter).await;
    eventually_shows(&reader, &everything).await;
    reposter.unrepost(&tweet).await;
    expect_everywhere(&reader, &[own(&newest)], tweet.id, "taken back").await;
}

#[tokio::test]
async fn a_repost_on_its_way_does_not_arrive_after_it_was_taken_back() {
    let roost = Client::shared().await;
    let [author, reposter, reader] = given_reposter(&roost).await;
    let tweet = author.post("pass me on").await;

    for _ in 0..6 {
        reposter.repost(&tweet).await;
        reposter.unrepost(&tweet).await;
        throughout(Duration::from_millis(400), "it stays away", || async {
            expect_equal("timeline", shown(&reader.newest().await.data), Vec::new())
        })
        .await;
    }
    reposter.repost(&tweet).await;
    eventually_shows(&reader, &[by(&tweet, &reposter)]).await;
    expect_reposts(&reader, &tweet, 1).await;
}

#[tokio::test]
async fn deleting_the_original_removes_its_reposts() {
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let ([author, reposter, reader], tweet) = given_repost(cloud.client()).await;

    author.delete(&tweet).await;

    expect_everywhere(&reader, &[], tweet.id - 1, "after the deletion").await;
    assert_eq!(shown(&reposter.newest().await.data), []);
    assert_eq!(reposter.tweets(100).await, []);
    Loss::List.happen(&cache, &reader).await;
    expect_everywhere(&reader, &[], tweet.id - 1, "from the tables").await;
    eventually(PATIENCE, "nothing of the repost is left", || async {
        let left = tables.tweets_of(reposter.id).await;
        expect_equal("items", left, Vec::new())?;
        let words = [tweet.id.to_string()];
        expect_equal("mentions", tables.mentions(&words).await, Vec::new())
    })
    .await;
    let path = format!("/v1/tweets/{}/repost", tweet.id);
    let again = reposter.call(Method::PUT, &path).send().await;
    again.expect_problem(404);
    reposter.unrepost(&tweet).await;
}

#[tokio::test]
async fn a_mute_of_the_author_or_of_the_reposter_hides_a_repost_and_its_end_brings_it_back() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let ([author, reposter, reader], tweet) = given_repost(&roost).await;
    let everything = [by(&tweet, &reposter)];

    for muted in [&author, &reposter] {
        for loss in Loss::ALL {
            let when = format!("{} muted, loss of {loss:?}", muted.handle);
            reader.mute(muted).await;
            expect_everywhere(&reader, &[], tweet.id - 1, &when).await;
            loss.happen(&cache, &reader).await;
            expect_everywhere(&reader, &[], tweet.id - 1, &when).await;
            reader.unmute(muted).await;
            expect_everywhere(&reader, &everything, tweet.id - 1, &when).await;
        }
    }
}

#[tokio::test]
async fn a_block_between_reader_and_author_hides_a_repost() {
    let roost = Client::shared().await;
    let ([author, reposter, reader], tweet) = given_repost(&roost).await;

    for (blocker, blocked) in [(&author, &reader), (&reader, &author)] {
        blocker.block(blocked).await;
        expect_everywhere(&reader, &[], tweet.id - 1, "while the block stands").await;
        blocker.unblock(blocked).await;
        // The reader follows the reposter as before.
        eventually_shows(&reader, &[by(&tweet, &reposter)]).await;
    }
    reposter.block(&reader).await;
    expect_everywhere(&reader, &[], tweet.id - 1, "blocked by the reposter").await;
}

#[tokio::test]
async fn a_block_between_author_and_reposter_keeps_the_tweet_from_being_passed_on() {
    let roost = Client::shared().await;
    let [author, reposter, reader] = given_reposter(&roost).await;
    let tweet = author.post("not for everybody").await;
    let path = format!("/v1/tweets/{}/repost", tweet.id);

    author.block(&reposter).await;

    let refused = reposter.call(Method::PUT, &path).send().await;
    refused.expect_problem(403);
    throughout(Duration::from_millis(400), "nothing arrives", || async {
        expect_equal("timeline", shown(&reader.newest().await.data), Vec::new())
    })
    .await;
    author.unblock(&reposter).await;
    reposter.repost(&tweet).await;
    eventually_shows(&reader, &[by(&tweet, &reposter)]).await;
}

#[tokio::test]
async fn a_hidden_tweet_is_hidden_also_where_others_repost_it() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let ([_, reposter, reader], tweet) = given_repost(&roost).await;
    let second = roost.sign_up("secon").await;
    reader.follow(&second).await;

    reader.hide(&tweet).await;

    expect_everywhere(&reader, &[], tweet.id - 1, "after the hide").await;
    second.repost(&tweet).await;
    throughout(Duration::from_secs(1), "it stays hidden", || async {
        expect_equal("timeline", shown(&reader.newest().await.data), Vec::new())
    })
    .await;
    Loss::List.happen(&cache, &reader).await;
    expect_everywhere(&reader, &[], tweet.id - 1, "from the tables").await;
    reader.unhide(&tweet).await;
    expect_everywhere(
        &reader,
        &[by(&tweet, &reposter)],
        tweet.id - 1,
        "not hidden any more",
    )
    .await;
}

#[tokio::test]
async fn a_tweet_that_five_people_repost_is_shown_once_and_the_next_oldest_takes_over() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let [author, reader] = roost.sign_up_each(["autho", "reade"]).await;
    let reposters = roost.sign_up_many("repos", 5).await;
    in_parallel(5, reposters.iter().map(|reposter| reader.follow(reposter))).await;
    reader.newest().await;
    let tweet = author.post("everybody likes it").await;
    for reposter in &reposters {
        reposter.repost(&tweet).await;
    }
    let newest = reposters[4].post("and on").await;
    let since = tweet.id - 1;

    let everything = [own(&newest), by(&tweet, &reposters[0])];
    eventually_shows(&reader, &everything).await;
    Loss::List.happen(&cache, &reader).await;
    expect_everywhere(&reader, &everything, since, "from the tables").await;
    expect_everywhere(&reader, &everything, since, "from the list").await;
    expect_reposts(&reader, &tweet, 5).await;

    // The list was made from the tables, so all five are in it.
    reposters[0].unrepost(&tweet).await;
    let second = [own(&newest), by(&tweet, &reposters[1])];
    expect_everywhere(&reader, &second, since, "without the oldest").await;
    reader.mute(&reposters[1]).await;
    let third = [own(&newest), by(&tweet, &reposters[2])];
    expect_everywhere(&reader, &third, since, "without the second").await;
    reader.unmute(&reposters[1]).await;

    // The tweet itself is older than all of them.
    reader.follow(&author).await;
    eventually_shows(&reader, &[own(&newest), own(&tweet)]).await;
    reader.unfollow(&author).await;
    expect_everywhere(&reader, &second, since, "without the author").await;
}

/// So many tweets of somebody else between two reposts of one tweet. Gives the reader, and what is expected to be shown.
async fn given_reposts_apart(
    roost: &Client,
    between: usize,
    both_are_shown: bool,
) -> (User, Vec<Shown>) {
    let [author, early, late, other] = roost
        .sign_up_each(["autho", "early", "late", "other"])
        .await;
    let reader = roost.sign_up("reade").await;
    for followee in [&early, &late, &other] {
        reader.follow(followee).await;
    }
    reader.newest().await;
    let tweet = author.post("pass me on").await;
    early.repost(&tweet).await;
    let posted = other.post_many(between, 4).await;
    let mut expected: Vec<Shown> = posted.iter().map(own).collect();
    late.repost(&tweet).await;
    if both_are_shown {
        expected.insert(0, by(&tweet, &late));
    }
    expected.push(by(&tweet, &early));
    (reader, expected)
}

#[tokio::test]
async fn of_reposts_that_are_near_each_other_the_oldest_is_shown_wherever_pages_are_cut() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    for (between, both_are_shown) in [(60, false), (95, true)] {
        let (reader, expected) = given_reposts_apart(&roost, between, both_are_shown).await;
        eventually_shows(&reader, &expected).await;
        for loss in Loss::ALL {
            loss.happen(&cache, &reader).await;
            let large = reader.walk(100).await;
            assert_eq!(shown(&large), expected, "{between} between, {loss:?}");
            let small = reader.walk(7).await;
            assert_eq!(shown(&small), expected, "{between} between, {loss:?}");
        }
    }
}

#[tokio::test]
async fn pages_go_on_upwards_from_the_position_of_a_repost() {
    let roost = Client::shared().await;
    let [author, reposter, reader] = given_reposter(&roost).await;
    let mut expected = Vec::new();
    for n in 0..6 {
        let tweet = author.post(&format!("number {n}")).await;
        reposter.repost(&tweet).await;
        expected.push(by(&tweet, &reposter));
    }
    let downwards: Vec<Shown> = expected.iter().rev().copied().collect();
    eventually_shows(&reader, &downwards).await;

    let (mut since, mut met) = (1_u64, Vec::new());
    for _ in 0..=expected.len() {
        let path = format!("/v1/home_timeline?limit=2&since_id={since}");
        let answer = reader.get(&path).await.expect(200);
        let page: Listing<Tweet> = answer.read();
        met.extend(shown(&page.data).into_iter().rev());
        match answer.json()["meta"]["next_since_id"].as_str() {
            Some(next) => since = next.parse().expect("an id"),
            None => break,
        }
    }
    assert_eq!(met, expected, "upwards, each once");
}

#[tokio::test]
async fn a_position_of_a_repost_is_as_good_as_a_tweets_for_markers_and_news() {
    let roost = Client::shared().await;
    let ([author, reposter, reader], tweet) = given_repost(&roost).await;
    let position = newest_position(&reader).await;
    let news = async |since: u64| -> Value {
        let path = format!("/v1/home_timeline/new?since={since}");
        reader.get(&path).await.expect(200).json()
    };

    // The tweet is older than its repost: whoever has seen up to the tweet has not seen the repost.
    let above = news(tweet.id).await;
    assert_eq!(above["count"], 1, "{above}");
    assert_eq!(above["newest_id"], position.to_string());
    assert_eq!(news(position).await["count"], 0);

    let marker = json!({ "last_read_id": position.to_string(), "version": 0 });
    let call = reader.call(Method::PUT, "/v1/home_timeline/marker");
    call.json(&marker).send().await.expect(200);
    let page = reader.get("/v1/home_timeline").await.expect(200).json();
    assert_eq!(page["meta"]["caught_up"], true, "{page}");

    let next = author.post("once more").await;
    reposter.repost(&next).await;
    eventually(PATIENCE, "the next one is new", || async {
        expect_equal("count", news(position).await["count"].as_u64(), Some(1))
    })
    .await;
}

#[tokio::test]
async fn reposting_a_repost_reposts_the_original() {
    let roost = Client::shared().await;
    let ([_, _, reader], tweet) = given_repost(&roost).await;
    let position = newest_position(&reader).await;
    let follower = roost.sign_up("follo").await;
    follower.follow(&reader).await;
    follower.newest().await;

    let path = format!("/v1/tweets/{position}/repost");
    reader.call(Method::PUT, &path).send().await.expect(204);

    eventually_shows(&follower, &[by(&tweet, &reader)]).await;
    assert!(reader.tweet(tweet.id).await.reposted);
    expect_reposts(&follower, &tweet, 2).await;
    reader.unrepost(&tweet).await;
    assert_eq!(shown(&follower.newest().await.data), []);
    expect_reposts(&follower, &tweet, 1).await;
}

#[tokio::test]
async fn a_repost_that_is_published_twice_shows_once() {
    let roost = Client::shared().await;
    let ([_, reposter, reader], tweet) = given_repost(&roost).await;
    let position = newest_position(&reader).await;

    let record = StreamRecord::tweeted(reposter.id, position);
    for function in ["publish-tweets", "settle-reactions"] {
        for _ in 0..2 {
            let batch = table_batch(&[&record]);
            let Some(()) = roost.invoke(function, &batch).await else {
                return;
            };
        }
    }

    // Events of one author keep their order: when this one has arrived, so have those before it.
    let marker = reposter.post("marker").await;
    let everything = [own(&marker), by(&tweet, &reposter)];
    eventually_shows(&reader, &everything).await;
    expect_everywhere(&reader, &everything, tweet.id - 1, "after repetition").await;
    expect_reposts(&reader, &tweet, 1).await;
}

#[tokio::test]
async fn reposts_are_counted_exactly_although_people_change_their_minds() {
    let roost = Client::shared().await;
    let Some(tables) = roost.tables().await else {
        return;
    };
    let author = roost.sign_up("autho").await;
    let people = roost.sign_up_many("repos", 6).await;
    let tweet = author.post("yes or no").await;

    // An odd number of changes leaves a repost.
    let changes = people.iter().zip(3..).map(|(user, changes)| {
        let tweet = &tweet;
        async move {
            for n in 0..changes {
                if n % 2 == 0 {
                    user.repost(tweet).await;
                } else {
                    user.unrepost(tweet).await;
                }
            }
        }
    });
    in_parallel(6, changes).await;

    expect_reposts(&author, &tweet, 3).await;
    for (n, user) in people.iter().enumerate() {
        let stands = n % 2 == 0;
        assert_eq!(user.tweet(tweet.id).await.reposted, stands);
        let items = tables.tweets_of(user.id).await.len();
        assert_eq!(items, usize::from(stands), "items of person {n}");
    }
}

#[tokio::test]
async fn the_same_repost_many_times_at_once_is_one() {
    let roost = Client::shared().await;
    let Some(tables) = roost.tables().await else {
        return;
    };
    let [author, reposter, reader] = given_reposter(&roost).await;
    let tweet = author.post("pass me on").await;

    in_parallel(8, (0..8).map(|_| reposter.repost(&tweet))).await;

    eventually_shows(&reader, &[by(&tweet, &reposter)]).await;
    assert_eq!(tables.tweets_of(reposter.id).await.len(), 1);
    expect_reposts(&reader, &tweet, 1).await;
    in_parallel(8, (0..8).map(|_| reposter.unrepost(&tweet))).await;
    expect_everywhere(&reader, &[], tweet.id - 1, "taken back").await;
    assert!(tables.tweets_of(reposter.id).await.is_empty());
    expect_reposts(&reader, &tweet, 0).await;
}

#[tokio::test]
async fn a_deleted_account_leaves_no_repost_and_no_count() {
    let roost = Client::shared().await;
    let Some(tables) = roost.tables().await else {
        return;
    };
    let ([author, reposter, reader], tweet) = given_repost(&roost).await;
    expect_reposts(&author, &tweet, 1).await;

    let call = reposter.call(Method::DELETE, "/v1/users/me");
    call.send().await.expect(204);

    assert_eq!(shown(&reader.newest().await.data), []);
    eventually(PATIENCE, "no repost is left", || async {
        expect_equal("items", tables.tweets_of(reposter.id).await, Vec::new())
    })
    .await;
    expect_reposts(&author, &tweet, 0).await;
    expect_everywhere(&reader, &[], tweet.id - 1, "after the erasure").await;
}

/// One place in a timeline: its id, and the tweet that it shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    id: u64,
    shows: u64,
}

impl Place {
    const fn is_repost(self) -> bool {
        self.id != self.shows
    }

    /// The rule, spelled out: of one tweet and its reposts, the oldest among neighbours is shown.
    fn without_repeats(places: &[Self]) -> Vec<Self> {
        let is_repeat = |n: usize, place: &Self| {
            let mut below = places[n + 1..].iter().take(79);
            place.is_repost() && below.any(|older| older.shows == place.shows)
        };
        let shown = places.iter().enumerate();
        let shown = shown.filter(|(n, place)| !is_repeat(*n, place));
        shown.map(|(_, place)| *place).collect()
    }
}

#[tokio::test]
async fn a_long_timeline_full_of_reposts_is_right_from_the_list_down_to_the_tables() {
    let Some(stack) = IsolatedStack::beside(Client::shared().await).await else {
        return;
    };
    let [me, celebrity, one, other, stranger] = [(); 5].map(|()| someone().get());
    let authors = [celebrity, one, other];
    let everybody = [me, celebrity, one, other, stranger];
    stack.tables.add_profiles(&everybody).await;
    stack.tables.add_following(me, &authors).await;
    stack.tables.make_celebrity(celebrity).await;
    // More than a list keeps. A third are reposts: of a few tweets of somebody who is not followed, or of one further down.
    let mut random = fastrand::Rng::new();
    println!("seed {}", random.get_seed());
    let newest = now_millis() - 60_000;
    let at = |n: u64| tweet_at(newest - n * 1_000, 0).get();
    let mut tweets: Vec<(u64, u64)> = (2_000..2_020).map(|n| (stranger, at(n))).collect();
    let (mut reposts, mut places) = (Vec::new(), Vec::new());
    for n in (0..1_300).rev() {
        let (author, id) = (authors[random.usize(..3)], at(n));
        let mut shows = id;
        if random.u8(..3) == 0 {
            let near = tweets.len().saturating_sub(60);
            let (from, to) = if random.bool() {
                (0, 20)
            } else {
                (near, tweets.len())
            };
            let (by, tweet) = tweets[random.usize(from..to)];
            reposts.push((author, id, by, tweet));
            shows = tweet;
        } else {
            tweets.push((author, id));
        }
        places.insert(0, Place { id, shows });
    }
    stack.tables.add_tweets(&tweets).await;
    stack.tables.add_reposts(&reposts).await;
    let expected = Place::without_repeats(&places);
    let from_tables = stack.tables.home_places_of(me).await.into_iter();
    let from_tables: Vec<Place> = from_tables.map(|(id, shows)| Place { id, shows }).collect();
    assert_eq!(from_tables, expected, "the oracle");

    let home = stack.home();
    // The first walk finds no list, the others do.
    for size in ["100", "7", "33", "100"] {
        let (mut met, mut below) = (Vec::new(), None);
        loop {
            let size = PageSize::parse(size).expect("a size");
            let page = home.page(UserId::new(me), below, size, None).await;
            assert!(page.troubles.is_empty(), "{:?}", page.troubles);
            met.extend(page.tweets.iter().map(|listed| Place {
                id: listed.place.tweet.get(),
                shows: listed.seen.tweet.id.get(),
            }));
            below = page.tweets.last().map(|listed| listed.place.tweet);
            if !page.more {
                break;
            }
        }
        assert_eq!(met, expected, "in pages of {size}");
    }

    // Upwards and by number from some places, also from one that is not shown.
    for n in [30, 31, 32, 90] {
        let since = places[n];
        let above = places[..n].iter().filter(|place| expected.contains(place));
        let above: Vec<u64> = above.map(|place| place.id).collect();
        let size = PageSize::parse("100").expect("a size");
        let since = TweetId::new(since.id);
        let page = home.page_above(UserId::new(me), since, size).await;
        let met: Vec<u64> = { page.tweets.iter() }
            .map(|listed| listed.place.tweet.get())
            .collect();
        assert_eq!(met, above, "upwards from {n}");
        let news = home.news(UserId::new(me), since).await;
        assert_eq!(news.count, above.len(), "by number from {n}");
    }
}

#[tokio::test]
async fn a_repost_whose_tombstone_is_lost_hides_no_newer_one() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let ([author, first, reader], tweet) = given_repost(&roost).await;
    let second = roost.sign_up("secon").await;
    reader.follow(&second).await;
    let lost = newest_position(&reader).await;
    first.unrepost(&tweet).await;
    eventually_shows(&reader, &[]).await;
    // The list still has it.
    let _: u64 = cache.ask(&["DEL", &format!("tweet:{{{lost}}}")]).await;

    second.repost(&tweet).await;

    let expected = [by(&tweet, &second)];
    eventually_shows(&reader, &expected).await;
    let page = reader.call(Method::GET, "/v1/home_timeline");
    let page = page.header("if-none-match", "W/\"of before\"").send().await;
    let page: Listing<Tweet> = page.expect(200).read();
    assert_eq!(shown(&page.data), expected, "to a reader with an old tag");
    let path = format!("/v1/home_timeline/new?since={lost}");
    let news = reader.get(&path).await.expect(200).json();
    assert_eq!(news["count"], 1, "{news}");
    drop(author);
}

#[tokio::test]
async fn a_repost_that_was_renewed_goes_with_its_original() {
    let roost = Client::shared().await;
    let Some(tables) = roost.tables().await else {
        return;
    };
    let ([author, reposter, _], tweet) = given_repost(&roost).await;
    eventually(PATIENCE, "the first one is counted", || async {
        expect_equal("count", author.tweet(tweet.id).await.repost_count, 1)
    })
    .await;
    // Faster than anybody counts.
    reposter.unrepost(&tweet).await;
    reposter.repost(&tweet).await;
    assert_eq!(tables.tweets_of(reposter.id).await.len(), 1);

    author.delete(&tweet).await;

    eventually(PATIENCE, "no repost is left", || async {
        expect_equal("rows", tables.tweets_of(reposter.id).await.len(), 0)
    })
    .await;
}

#[tokio::test]
async fn what_hangs_on_a_tweet_goes_with_it_on_a_deployment_too() {
    let roost = Client::shared().await;
    let Some(tables) = roost.tables().await else {
        return;
    };
    let ([author, reposter, _], tweet) = given_repost(&roost).await;
    reposter.like(&tweet).await;
    // Counted and at rest, so that nobody but the deletion finds them.
    eventually(PATIENCE, "reactions are counted", || async {
        let tweet = author.tweet(tweet.id).await;
        let counts = (tweet.like_count, tweet.repost_count);
        expect_equal("counts", counts, (1, 1))
    })
    .await;

    author.delete(&tweet).await;

    eventually(PATIENCE, "nothing is left", || async {
        let (reposts, likers) = (
            tables.tweets_of(reposter.id).await.len(),
            tables.likers_of(tweet.id).await,
        );
        expect_equal("reposts and likers", (reposts, likers), (0, 0))
    })
    .await;
}
