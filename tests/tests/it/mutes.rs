//! Somebody who is muted is on no page once the answer is out, whatever the page is read from, and back with everything
//! once the opposite is answered (I3).

use std::time::Duration;

use redis::cmd;
use roost_tests::{
    Client, Function, PATIENCE, body_of, events, eventually, expect_timeline, ids, keys,
    newest_first, page_ids, throughout,
};
use serde_json::json;
use shared::domain::{Entry, PageSize, Relation, TweetId, UserId};
use shared::flows::home_timeline::HomeTimelines;
use shared::flows::relating::Relating;
use shared::platform::now_millis;

use crate::isolated_stack::IsolatedStack;
use crate::stores::{someone, tweet_at};

/// A reader and whom they follow: `friends` are pushed, the `celebrity` is pulled.
struct Scene {
    stack: IsolatedStack,
    me: UserId,
    friends: [UserId; 2],
    celebrity: UserId,
}

impl Scene {
    /// Of each author there are so many tweets, all older than a minute, and nothing is cached.
    async fn new(tweets_of_each: u64) -> Option<Self> {
        let stack = IsolatedStack::beside(Client::shared().await).await?;
        let [me, celebrity, one, other] = [(); 4].map(|()| someone());
        let authors = [celebrity, one, other].map(UserId::get);
        stack.tables.add_profiles(&authors).await;
        stack.tables.add_profiles(&[me.get()]).await;
        stack.tables.add_following(me.get(), &authors).await;
        stack.tables.make_celebrity(celebrity.get()).await;
        let newest = now_millis() - 60_000;
        let tweets: Vec<(u64, u64)> = (0..3 * tweets_of_each)
            .map(|n| {
                (
                    authors[n as usize % 3],
                    tweet_at(newest - n * 1_000, 0).get(),
                )
            })
            .collect();
        stack.tables.add_tweets(&tweets).await;
        Some(Self {
            stack,
            me,
            friends: [one, other],
            celebrity,
        })
    }

    async fn mute(&self, author: UserId) {
        let relating = self.stack.stores.make(Relating::new);
        let muted = relating.mute(self.me, author).await;
        muted.expect("a mute");
    }

    async fn unmute(&self, author: UserId) {
        let relating = self.stack.stores.make(Relating::new);
        let unmuted = relating.end(Relation::Mute, self.me, author).await;
        unmuted.expect("no mute");
    }

    async fn evict(&self, key: String) {
        let _: u64 = self.stack.stores.redis(cmd("DEL").arg(key)).await;
    }

    async fn expected(&self) -> Vec<u64> {
        self.stack.tables.home_timeline_of(self.me.get()).await
    }

    /// Downwards, upwards and by number, the timeline is what the tables say.
    async fn expect_right(&self, home: &HomeTimelines, when: &str) {
        let (expected, size) = (
            self.expected().await,
            PageSize::parse("40").expect("a size"),
        );
        let (mut met, mut below) = (Vec::new(), None);
        loop {
            let page = home.page(self.me, below, size, None).await;
            assert!(page.troubles.is_empty(), "{when}: {:?}", page.troubles);
            met.extend(page.tweets.iter().map(|listed| listed.seen.tweet.id.get()));
            below = page.tweets.last().map(|listed| listed.seen.tweet.id);
            if !page.more {
                break;
            }
        }
        assert_eq!(met, expected, "downwards, {when}");

        for place in [30, expected.len() - 1] {
            let since = TweetId::new(expected[place]);
            let page = home.page_above(self.me, since, size).await;
            assert!(page.troubles.is_empty(), "{when}: {:?}", page.troubles);
            let above = &expected[place.saturating_sub(40)..place];
            let met: Vec<u64> = page
                .tweets
                .iter()
                .map(|listed| listed.seen.tweet.id.get())
                .collect();
            assert_eq!(met, above, "upwards, {when}");
        }
        let news = home.news(self.me, TweetId::new(expected[30])).await;
        assert_eq!((news.count, news.troubles.is_empty()), (30, true), "{when}");
    }
}

#[tokio::test]
async fn a_muted_author_is_on_no_page_whatever_it_is_read_from() {
    let Some(scene) = Scene::new(110).await else {
        return;
    };
    let home = scene.stack.home();
    scene.mute(scene.friends[0]).await;
    scene.expect_right(&home, "while the list is made").await;
    scene.expect_right(&home, "from the list").await;
    for author in [scene.celebrity, scene.friends[1]] {
        scene.mute(author).await;
        scene.unmute(scene.friends[0]).await;
        scene.expect_right(&home, "after a mute").await;
        for key in [keys::excluded, keys::home_timeline, keys::hidden] {
            scene.evict(key(scene.me.get())).await;
            scene.expect_right(&home, "after a key was lost").await;
        }
        scene.unmute(author).await;
        scene.expect_right(&home, "after it was undone").await;
    }
}

#[tokio::test]
async fn what_is_delivered_meanwhile_is_there_when_a_mute_is_undone() {
    let Some(scene) = Scene::new(20).await else {
        return;
    };
    let (home, author) = (scene.stack.home(), scene.friends[0]);
    scene.expect_right(&home, "before the mute").await;
    scene.mute(author).await;
    let now = now_millis();
    let tweet = Entry::new(tweet_at(now, 1), author);
    let row = (author.get(), tweet.tweet.get());
    scene.stack.tables.add_tweets(&[row]).await;
    let timelines = scene.stack.stores.timelines();
    let delivered = timelines.deliver(tweet, &[scene.me], now).await;
    assert_eq!(delivered.expect("Redis answers"), 1);
    scene.expect_right(&home, "while they are muted").await;

    scene.unmute(author).await;

    assert_eq!(scene.expected().await[0], tweet.tweet.get());
    scene.expect_right(&home, "after it was undone").await;
}

#[tokio::test]
async fn a_mute_whose_sandbox_died_half_way_is_no_surprise() {
    let Some(scene) = Scene::new(20).await else {
        return;
    };
    let (home, author) = (scene.stack.home(), scene.friends[0]);
    let stores = &scene.stack.stores;
    scene.expect_right(&home, "before the mute").await;

    let change = stores.excluded().begin_change(&[scene.me]).await;
    drop(change.expect("Redis answers"));
    scene.expect_right(&home, "before the table changes").await;
    let relations = stores.relations();
    let added = relations
        .add(Relation::Mute, scene.me, author, 1, None)
        .await;
    added.expect("the table answers");
    scene
        .expect_right(&home, "after the table has changed")
        .await;
    scene.evict(keys::excluded_fill(scene.me.get())).await;
    scene
        .expect_right(&home, "when the change is forgotten")
        .await;
}

#[tokio::test]
async fn nobody_is_shown_if_nobody_knows_who_is_muted() {
    let Some(scene) = Scene::new(20).await else {
        return;
    };
    let subject = format!("test|mutes|{}", scene.me);
    let subjects = [(subject.clone(), scene.me.get())];
    scene.stack.tables.add_subjects(&subjects).await;
    scene.mute(scene.friends[0]).await;
    let expected = scene.expected().await;
    let reading = events::http_request("GET", "/v1/home_timeline?limit=100", &subject);
    let upwards = events::http_request("GET", "/v1/home_timeline?since_id=1", &subject);
    let start = |changed: &[(&str, &str)]| {
        let environment = scene.stack.environment.clone();
        Function::start_in(environment, "home-timeline", changed)
    };
    let without_table = [("RELATIONS_TABLE", "there-is-no-such-table")];

    // The cache knows, so nobody asks the table.
    let page = body_of(&start(&[]).invoke(reading.clone()), 200);
    assert_eq!(page_ids(&page), expected);
    let broken = start(&without_table);
    let page = body_of(&broken.invoke(reading.clone()), 200);
    assert_eq!(page_ids(&page), expected);
    assert_eq!(page["meta"]["complete"], true, "{page}");

    // The cache does not know, and the table does not answer.
    scene.evict(keys::excluded(scene.me.get())).await;
    for event in [&reading, &upwards] {
        let page = body_of(&broken.invoke(event.clone()), 200);
        assert_eq!(page["data"], json!([]));
        assert_eq!(page["meta"]["complete"], false, "{page}");
        assert_eq!(page["meta"]["reasons"], json!(["tables_unavailable"]));
    }

    // The cache does not answer, and the table does.
    let without_cache = start(&[("REDIS_URL", "redis://127.0.0.1:1")]);
    let page = body_of(&without_cache.invoke(reading), 200);
    assert_eq!(page_ids(&page), expected);
    assert_eq!(page["meta"]["reasons"], json!(["cache_unavailable"]));
}

#[tokio::test]
async fn a_muted_author_is_gone_with_the_answer_and_back_with_the_answer_to_the_opposite() {
    let roost = Client::shared().await;
    let [ada, bob, eve] = roost.sign_up_each(["ada", "bob", "eve"]).await;
    bob.follow(&ada).await;
    bob.follow(&eve).await;
    let of_eve = eve.post_many(3, 1).await;
    let of_ada = ada.post_many(3, 1).await;
    let everything = newest_first([of_eve.clone(), of_ada].concat());
    bob.eventually_sees(&ids(&everything)).await;

    for round in 0..5 {
        bob.mute(&ada).await;
        expect_timeline(&bob.newest().await.data, &ids(&of_eve)).expect("nothing of ada");
        bob.unmute(&ada).await;
        let page = bob.newest().await;
        expect_timeline(&page.data, &ids(&everything)).expect("all of ada");
        assert!(page.meta.complete, "round {round}");
    }

    // What is on its way when they are muted never shows up, and is not lost.
    let mut on_its_way = vec![ada.post("on its way").await];
    bob.mute(&ada).await;
    on_its_way.insert(0, ada.post("not for bob").await);
    throughout(Duration::from_secs(1), "ada stays muted", || async {
        expect_timeline(&bob.newest().await.data, &ids(&of_eve))
    })
    .await;
    bob.unmute(&ada).await;
    let everything = [on_its_way, everything].concat();
    // It may be on its way still.
    bob.eventually_sees(&ids(&everything)).await;

    // Others see what they saw before.
    eve.follow(&ada).await;
    bob.mute(&ada).await;
    let seen = eve.newest().await;
    eventually(PATIENCE, "eve sees everything", || async {
        expect_timeline(&eve.newest().await.data, &ids(&everything))
            .map_err(|complaint| format!("{complaint}, first {:?}", ids(&seen.data)))
    })
    .await;
}
