//! Redis is a cache, also of authors' tiers: any key may be evicted at any moment (I6, I8).

use std::time::{Duration, Instant};

use roost_tests::{
    Cache, PATIENCE, Tables, User, eventually, expect_oracle, expect_timeline, in_parallel, keys,
};

use super::{VISIBLE_WITHIN, cloud, expect_settled};

/// Sandboxes keep a feed in memory for about a second.
const REMEMBERED: Duration = Duration::from_millis(1_200);

struct Scene {
    tables: Tables,
    cache: Cache,
    star: User,
    normal: User,
    /// Followed by the reader, who has muted them.
    muted: User,
    reader: User,
}

impl Scene {
    /// Every key of the scene, except the cards of tweets and profiles.
    fn keys(&self) -> Vec<String> {
        let Self {
            star,
            normal,
            reader,
            ..
        } = self;
        let of_everybody = [star, normal, reader].map(|user| {
            [
                keys::user_counts(user.id),
                keys::excluded(user.id),
                keys::my_celebs(user.id),
                keys::home_timeline(user.id),
            ]
        });
        let mut all = of_everybody.concat();
        all.push(keys::feed(star.id));
        all
    }

    async fn evict(&self, key: &str) {
        self.cache.ask::<usize>(&["DEL", key]).await;
    }

    /// For each key: it is evicted, and the very next read has everything. Then it is evicted again, a tweet is posted, and
    /// soon the tweet is there, too.
    async fn lose_each_key(&self, step: &str) {
        let Self {
            tables,
            star,
            normal,
            reader,
            ..
        } = self;
        let mut newest: Option<(u64, Instant)> = None;
        for (n, key) in self.keys().iter().enumerate() {
            let expected = tables.home_timeline_of(reader.id).await;
            self.evict(key).await;
            let page = reader.walk(50).await;
            // Another sandbox may remember a feed from before the last tweet.
            let excused = newest
                .filter(|(_, posted)| posted.elapsed() < REMEMBERED)
                .map(|(id, _)| id)
                .filter(|id| page.iter().all(|tweet| tweet.id != *id));
            let expected: Vec<_> = expected
                .into_iter()
                .filter(|id| Some(*id) != excused)
                .collect();
            if let Err(complaint) = expect_timeline(&page, &expected) {
                panic!("{step}, right after {key} was lost: {complaint}");
            }

            self.evict(key).await;
            let author = if n % 3 == 2 { normal } else { star };
            let tweet = author.post(&format!("{step}, {n}")).await;
            newest = Some((tweet.id, Instant::now()));
            let expected = tables.home_timeline_of(reader.id).await;
            eventually(
                VISIBLE_WITHIN,
                &format!("{step}, {key} was lost, and a tweet shows up"),
                || async { expect_timeline(&reader.try_walk(50).await?, &expected) },
            )
            .await;
        }
        expect_oracle(tables, [star, normal], 50, VISIBLE_WITHIN).await;
    }

    /// While a flip is under way, keys are evicted one after the other. In the end nothing is missing.
    async fn lose_keys_during(&self, flip: &str, tier: &str, epoch: u64) {
        let mut rounds = 0;
        let started = Instant::now();
        loop {
            for key in self.keys() {
                self.evict(&key).await;
                self.star.post(flip).await;
                self.reader.newest().await;
            }
            rounds += 1;
            let now = self.tables.tier_of(self.star.id).await;
            if now.is_some_and(|now| now.name == tier && now.epoch == epoch) {
                break;
            }
            assert!(
                started.elapsed() < PATIENCE,
                "{flip}: the tier has not settled"
            );
        }
        println!("{flip}: every key lost {rounds} times");
        let everybody = [&self.reader, &self.star, &self.normal];
        expect_oracle(&self.tables, everybody, 50, VISIBLE_WITHIN).await;
    }
}

#[tokio::test]
async fn evicting_any_single_key_changes_nothing_a_reader_sees() {
    let Some((cloud, tables, cache)) = cloud("5", "2").await else {
        return;
    };
    let roost = cloud.client();
    let scene = Scene {
        tables,
        cache,
        star: roost.sign_up("star").await,
        normal: roost.sign_up("plain").await,
        muted: roost.sign_up("muted").await,
        reader: roost.sign_up("reader").await,
    };
    let Scene {
        star,
        normal,
        reader,
        ..
    } = &scene;
    let fans = roost.sign_up_many("fan", 5).await;
    for author in [star, normal] {
        reader.newest().await;
        reader.follow(author).await;
        author.post_many(3, 1).await;
    }
    reader.follow(&scene.muted).await;
    reader.mute(&scene.muted).await;
    scene.muted.post_many(3, 1).await;
    // The normal author, whom the reader follows, follows the star, too.
    normal.follow(star).await;
    expect_oracle(&scene.tables, [reader, normal], 50, PATIENCE).await;

    scene.lose_each_key("before the promotion").await;
    in_parallel(5, fans.iter().map(|fan| fan.follow(star))).await;
    scene.lose_keys_during("promotion", "celebrity", 1).await;
    expect_settled(&scene.tables, star, "celebrity", 1).await;
    scene.lose_each_key("as a celebrity").await;
    in_parallel(5, fans.iter().map(|fan| fan.unfollow(star))).await;
    scene.lose_keys_during("demotion", "normal", 2).await;
    expect_settled(&scene.tables, star, "normal", 2).await;
    scene.lose_each_key("after the demotion").await;
}

#[tokio::test]
async fn a_feed_that_an_older_version_made_is_made_anew() {
    let Some((cloud, tables, cache)) = cloud("1", "100").await else {
        return;
    };
    let [star, reader] = cloud.client().sign_up_each(["star", "reader"]).await;
    reader.follow(&star).await;
    expect_settled(&tables, &star, "celebrity", 1).await;
    star.post_many(3, 1).await;
    expect_oracle(&tables, [&reader], 50, VISIBLE_WITHIN).await;

    // It had no mark at its top.
    let feed = keys::feed(star.id);
    assert_eq!(cache.ask::<usize>(&["ZREM", &feed, "top"]).await, 1);
    tokio::time::sleep(REMEMBERED).await;
    expect_oracle(&tables, [&reader], 50, VISIBLE_WITHIN).await;
    let top: Option<String> = cache.ask(&["ZSCORE", &feed, "top"]).await;
    assert_eq!(top.as_deref(), Some("inf"));
}
