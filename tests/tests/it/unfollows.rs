//! What an unfollow leaves behind, and what brings an unfollowed author back: nothing (I3, I11).

use std::time::Duration;

use redis::cmd;
use roost_tests::{Client, Function, Method, PATIENCE, events, eventually, expect_equal, keys};
use shared::domain::{Entry, PageSize, Tweet, TweetId, TweetText, UserId};
use shared::flows::edges::EdgeSettler;
use shared::flows::home_timeline::HomePage;
use shared::platform::now_millis;
use shared::stores::follows::Edge;
use shared::stores::hidden::{Doubt, ON_ITS_WAY_MS};
use shared::stores::timelines::Extent;
use shared::stores::tweets::Stored;
use shared::stores::users::SignUp;

use crate::isolated_stack::IsolatedStack;
use crate::stores::{name, tweet_at};

/// A reader who follows two authors and has a list. The tables have no streams, so nothing cleans up behind an unfollow.
struct Scene {
    stack: IsolatedStack,
    subject: String,
    reader: UserId,
    author: UserId,
    other: UserId,
}

impl Scene {
    async fn new() -> Option<Self> {
        let stack = IsolatedStack::beside(Client::shared().await).await?;
        let subject = format!("test|unfollows|{}", fastrand::u64(..));
        let mut people = Vec::new();
        for subject in [&subject, "", ""] {
            let (users, handle) = (stack.stores.users(), stack.stores.handle());
            let id = stack.stores.new_user_id().await;
            let subject = match subject {
                "" => &format!("test|unfollows|{id}"),
                subject => subject,
            };
            let signed_up = users.sign_up(id, subject, handle, name()).await;
            let Ok(SignUp::Created(user)) = signed_up else {
                panic!("a new subject had a profile already");
            };
            people.push(user.id);
        }
        let scene = Self {
            stack,
            subject,
            reader: people[0],
            author: people[1],
            other: people[2],
        };
        for author in [scene.author, scene.other] {
            let stores = &scene.stack.stores;
            let (follows, relations) = (stores.follows(), stores.relations());
            let edge = Edge::new(scene.reader, author);
            let followed = follows.follow(edge, &relations).await;
            followed.expect("the table answers");
            scene.tweet(author, 60_000).await;
        }
        let page = scene.read().await;
        assert!(scene.shows(&page, scene.author) && scene.shows(&page, scene.other));
        Some(scene)
    }

    /// A tweet in the table and nowhere else.
    async fn tweet(&self, author: UserId, age_ms: u64) -> Entry {
        let id = tweet_at(now_millis() - age_ms, author.get() % (1 << 22));
        let text = TweetText::parse("a tweet").expect("a text");
        let (tweets, tweet) = (self.stack.stores.tweets(), Tweet::new(id, author, text));
        assert!(matches!(tweets.store(&tweet).await, Ok(Stored::New)));
        Entry::new(id, author)
    }

    async fn read(&self) -> HomePage {
        let home = self.stack.home();
        let page = home.page(self.reader, None, PageSize::MAX_SIZE, None).await;
        assert!(page.troubles.is_empty());
        page
    }

    fn shows(&self, page: &HomePage, author: UserId) -> bool {
        page.tweets
            .iter()
            .any(|listed| listed.seen.tweet.author_id == author)
    }

    /// The page has the other author and not the one who was unfollowed.
    async fn expect_no_ghost(&self, when: &str) {
        let page = self.read().await;
        assert!(!self.shows(&page, self.author), "a ghost {when}");
        assert!(self.shows(&page, self.other), "too much hidden {when}");
        let news = self.stack.home().news(self.reader, TweetId::new(1)).await;
        assert_eq!(news.count, page.tweets.len(), "a ghost is counted {when}");
    }

    /// Removes the edge as an attempt does that then fails.
    async fn lose_the_edge(&self) {
        let follows = self.stack.stores.follows();
        let edge = Edge::new(self.reader, self.author);
        assert!(follows.unfollow(edge).await.expect("the table answers"));
        assert!(!follows.unfollow(edge).await.expect("the table answers"));
    }

    async fn unfollow(&self) {
        self.lose_the_edge().await;
        let edges = self.stack.stores.make(EdgeSettler::new);
        let edge = Edge::new(self.reader, self.author);
        let followed = edges.settle(edge, false).await.expect("Redis answers");
        assert!(!followed);
    }

    /// An entry of the unfollowed author that was on its way arrives.
    async fn push_late(&self, age_ms: u64) {
        let entry = self.tweet(self.author, age_ms).await;
        let timelines = self.stack.stores.timelines();
        let (to, now) = ([self.reader], entry.tweet.millis());
        let delivered = timelines.deliver(entry, &to, now).await;
        assert_eq!(delivered.expect("a delivery"), 1);
    }

    async fn lose(&self, key: &str) {
        let key = format!("{key}:{{{}}}", self.reader);
        self.stack.stores.redis::<()>(cmd("DEL").arg(key)).await;
    }

    async fn doubt(&self) -> Doubt {
        let timelines = self.stack.stores.timelines();
        let opened = timelines.open(self.reader, Extent::Newest(1));
        opened.await.expect("Redis answers").hidden.doubt
    }

    /// Moves everything that is known of hidden authors so far back that nothing can be on its way any more.
    async fn wait_until_nothing_is_on_its_way(&self) {
        let key = format!("hidden:{{{}}}", self.reader);
        let mut read = cmd("ZRANGE");
        read.arg(&key).arg(0).arg(-1).arg("WITHSCORES");
        let members: Vec<(Vec<u8>, f64)> = self.stack.stores.redis(&read).await;
        for (member, score) in members {
            let by = -score.signum() * (ON_ITS_WAY_MS + 1_000) as f64;
            let mut add = cmd("ZINCRBY");
            let _: f64 = self
                .stack
                .stores
                .redis(add.arg(&key).arg(by).arg(member))
                .await;
        }
    }

    async fn listed(&self) -> bool {
        let list = self.stack.stores.list(self.reader).await;
        list.iter().any(|entry| entry.author == self.author)
    }
}

#[tokio::test]
async fn an_unfollow_takes_the_author_out_of_the_list_before_it_is_answered() {
    let Some(scene) = Scene::new().await else {
        return;
    };
    scene.unfollow().await;
    assert!(!scene.listed().await);
    scene.expect_no_ghost("right after the unfollow").await;
}

#[tokio::test]
async fn losing_the_hidden_authors_brings_no_unfollowed_author_back() {
    let Some(scene) = Scene::new().await else {
        return;
    };
    scene.unfollow().await;
    scene.push_late(900).await;
    scene.expect_no_ghost("after a late push").await;

    scene.lose("hidden").await;
    scene.expect_no_ghost("after the key was lost").await;
    scene.push_late(800).await;
    scene.expect_no_ghost("after another late push").await;
    assert_eq!(scene.doubt().await, Doubt::EachRead);

    scene.wait_until_nothing_is_on_its_way().await;
    scene
        .expect_no_ghost("when nothing is on its way any more")
        .await;
    assert_eq!(scene.doubt().await, Doubt::None);
    assert!(
        !scene.listed().await,
        "the late pushes are still in the list"
    );
    scene.expect_no_ghost("from then on").await;
}

#[tokio::test]
async fn losing_everything_brings_no_unfollowed_author_back_for_good() {
    let Some(scene) = Scene::new().await else {
        return;
    };
    scene.unfollow().await;
    for key in ["hidden", "home_timeline", "my_celebs"] {
        scene.lose(key).await;
    }
    scene.expect_no_ghost("after the loss").await;
    assert_eq!(scene.doubt().await, Doubt::Later);
    scene.push_late(900).await;

    scene.wait_until_nothing_is_on_its_way().await;

    scene
        .expect_no_ghost("when nothing is on its way any more")
        .await;
    assert_eq!(scene.doubt().await, Doubt::None);
}

#[tokio::test]
async fn a_hidden_author_is_forgotten_when_nothing_is_on_its_way() {
    let Some(scene) = Scene::new().await else {
        return;
    };
    scene.unfollow().await;
    scene.push_late(900).await;
    scene.wait_until_nothing_is_on_its_way().await;

    scene.expect_no_ghost("in the read that forgets").await;

    assert!(!scene.listed().await, "what came late is still in the list");
    let timelines = scene.stack.stores.timelines();
    let opened = timelines.open(scene.reader, Extent::Newest(1));
    let hidden = opened.await.expect("Redis answers").hidden;
    assert!(hidden.authors.is_empty(), "{hidden:?}");
    scene.expect_no_ghost("from then on").await;
}

#[tokio::test]
async fn an_unfollow_that_is_repeated_finishes_what_the_first_attempt_began() {
    let Some(scene) = Scene::new().await else {
        return;
    };
    scene.lose_the_edge().await;
    let environment = scene.stack.environment.clone();
    let unfollow = Function::start_in(environment, "unfollow-user", &[]);
    let path = format!("/v1/users/{}/follow", scene.author);

    let answer = unfollow.invoke(events::http_request("DELETE", &path, &scene.subject));

    assert_eq!(answer["statusCode"], 204, "{answer}");
    scene.expect_no_ghost("after the second attempt").await;
    scene.push_late(900).await;
    scene.expect_no_ghost("after a late push").await;
}

#[tokio::test]
async fn unfollowing_strangers_leaves_nothing_behind() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    ada.follow(&bob).await;
    ada.newest().await;
    for _ in 0..8 {
        let stranger = fastrand::u64(1..1 << 62);
        ada.call(Method::DELETE, &format!("/v1/users/{stranger}/follow"))
            .send()
            .await
            .expect(204);
    }
    let mut members = 0;
    for key in cache
        .ask::<Vec<String>>(&["KEYS", &format!("*{{{}}}", ada.id)])
        .await
    {
        let count = match cache.ask::<String>(&["TYPE", &key]).await.as_str() {
            "set" => "SCARD",
            "zset" => "ZCARD",
            _ => continue,
        };
        members += cache.ask::<usize>(&[count, &key]).await;
    }
    // Each set has one member that says that it is there: one for celebrities, one for hidden authors.
    assert!(members <= 2, "{members} members");

    let key = keys::hidden(ada.id);
    ada.unfollow(&bob).await;
    assert_eq!(cache.ask::<usize>(&["ZCARD", &key]).await, 2);
    tokio::time::sleep(Duration::from_millis(500)).await;
    ada.follow(&bob).await;
    eventually(PATIENCE, "bob is not hidden any more", || async {
        expect_equal("members", cache.ask::<usize>(&["ZCARD", &key]).await, 1)
    })
    .await;
}

#[tokio::test]
async fn the_set_of_an_older_version_does_not_disturb_a_reader() {
    let roost = Client::shared().await;
    let Some(cache) = roost.cache().await else {
        return;
    };
    let [ada, bob] = roost.sign_up_each(["ada", "bob"]).await;
    ada.follow(&bob).await;
    let tweet = bob.post("hello").await;
    ada.eventually_sees(&[tweet.id]).await;
    // As an older version leaves it: a plain set under another name, and a list without the new one.
    let old = format!("unfollowed:{{{}}}", ada.id);
    cache.ask::<usize>(&["SADD", &old, "7"]).await;
    cache.ask::<usize>(&["DEL", &keys::hidden(ada.id)]).await;

    assert!(ada.newest().await.has(&tweet));
    ada.unfollow(&bob).await;
    assert_eq!(ada.newest().await.data, []);
}
