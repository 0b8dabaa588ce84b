//! A timeline has no artificial end: 300 authors with 5 tweets each and 10 celebrities with 1,000 each are 11,500 tweets,
//! and a walk meets every one of them once, in order, even if caches are lost on the way.

use std::time::Instant;

use redis::cmd;
use roost_tests::Client;
use shared::domain::{PageSize, TweetId, UserId};
use shared::flows::home_timeline::{HomePage, HomeTimelines};
use shared::flows::rebuild::Rebuilds;
use shared::platform::now_millis;

use crate::isolated_stack::IsolatedStack;
use crate::stores::{someone, tweet_at};

const AUTHORS: usize = 300;
const CELEBRITIES: usize = 10;
const PAGE: usize = 50;
/// Once in so many pages, something is lost.
const PAGES_BETWEEN_LOSSES: usize = 17;

struct LongTimeline {
    stack: IsolatedStack,
    me: UserId,
    celebrities: Vec<UserId>,
    /// Newest first.
    expected: Vec<TweetId>,
}

/// The tweets of all authors mixed, half a minute apart.
async fn given_a_long_timeline() -> Option<LongTimeline> {
    let stack = IsolatedStack::beside(Client::shared().await).await?;
    let me = someone();
    let authors: Vec<UserId> = (0..AUTHORS + CELEBRITIES).map(|_| someone()).collect();
    let ids: Vec<u64> = authors.iter().map(|author| author.get()).collect();
    stack.tables.add_profiles(&ids).await;
    stack.tables.add_following(me.get(), &ids).await;
    let (celebrities, normal) = authors.split_at(CELEBRITIES);
    for celebrity in celebrities {
        stack.tables.make_celebrity(celebrity.get()).await;
    }
    // A list keeps 800 of the 1,500 tweets that are pushed, and a feed 800 of 1,000. What the list does not keep lies at
    // the far end, mixed with celebrities' tweets that feeds do not keep: every page there costs a query per author.
    let mut random = fastrand::Rng::with_seed(4);
    let (mut pushed, mut pulled) = (normal.repeat(5), celebrities.repeat(1_000));
    random.shuffle(&mut pushed);
    random.shuffle(&mut pulled);
    let mut near = [pushed.split_off(700), pulled.split_off(200)].concat();
    let mut far = [pushed, pulled].concat();
    random.shuffle(&mut near);
    random.shuffle(&mut far);
    let authors_of_tweets = [near, far].concat();
    let newest = now_millis() - 60_000;
    let tweets: Vec<(u64, u64)> = authors_of_tweets
        .iter()
        .zip(0..)
        .map(|(author, n)| (author.get(), tweet_at(newest - n * 30_000, 0).get()))
        .collect();
    stack.tables.add_tweets(&tweets).await;
    let expected: Vec<TweetId> = tweets.iter().map(|(_, id)| TweetId::new(*id)).collect();
    assert_eq!(expected.len(), 11_500);
    Some(LongTimeline {
        me,
        celebrities: celebrities.to_vec(),
        expected,
        stack,
    })
}

impl LongTimeline {
    /// Goes from the first page to the last. Before each page, `between` gets the number of tweets so far, and returns
    /// whether it removed something.
    async fn expect_walk(&self, mut between: impl AsyncFnMut(usize) -> bool) {
        let started = Instant::now();
        let size = PageSize::parse(&PAGE.to_string()).expect("a size");
        let (mut met, mut below) = (0, None);
        let mut home = self.stack.home();
        loop {
            if between(met).await {
                // Another sandbox: what is lost in Redis is not found in memory.
                home = self.stack.home();
            }
            let page = self.complete_page(&home, below, size).await;
            let shown: Vec<TweetId> = page
                .tweets
                .iter()
                .map(|listed| listed.seen.tweet.id)
                .collect();
            let expected = &self.expected[met..self.expected.len().min(met + PAGE)];
            assert_eq!(shown, expected, "the page behind {met} tweets");
            met += shown.len();
            below = shown.last().copied();
            if !page.more {
                break;
            }
        }
        assert_eq!(met, self.expected.len(), "the walk ends early");
        println!("{met} tweets in {:?}", started.elapsed());
    }

    /// A page that is complete. If a busy machine lets the tables answer too late, the page says so, and a client asks again.
    async fn complete_page(
        &self,
        home: &HomeTimelines,
        below: Option<TweetId>,
        size: PageSize,
    ) -> HomePage {
        for _ in 0..5 {
            let page = home.page(self.me, below, size, None).await;
            if page.troubles.is_empty() {
                return page;
            }
            println!("the page below {below:?} says {:?}", page.troubles);
        }
        panic!("the page below {below:?} is never complete");
    }

    async fn lose(&self, keys: &[String]) {
        let _: u64 = self.stack.stores.redis(cmd("DEL").arg(keys)).await;
    }

    fn key(&self, name: &str) -> String {
        format!("{name}:{{{}}}", self.me)
    }

    fn feeds(&self, authors: &[UserId]) -> Vec<String> {
        let key = |author| format!("user:{{{author}}}:tweets");
        authors.iter().map(key).collect()
    }

    async fn fill(&self) {
        let rebuilds = self.stack.stores.make(Rebuilds::new);
        rebuilds.fill(self.me).await.expect("a list that is filled");
    }
}

#[tokio::test]
async fn a_walk_meets_each_of_11_500_tweets_once_whatever_is_lost_on_the_way() {
    let Some(long) = given_a_long_timeline().await else {
        return;
    };
    let mut losses = 0;
    let timelines = long.stack.stores.timelines();
    let list = long.key("home_timeline");
    long.expect_walk(async |met| {
        let page = met / PAGE;
        if page % PAGES_BETWEEN_LOSSES == 1 {
            // The rebuild of the list has ended or was given up, and the rest of the list is filled in.
            // A list that was trimmed stays trimmed until it is lost.
            let trimmed = [5, 13].contains(&losses).then(|| list.clone());
            let keys: Vec<String> = [long.key("rebuild")].into_iter().chain(trimmed).collect();
            long.lose(&keys).await;
            long.fill().await;
        }
        if !page.is_multiple_of(PAGES_BETWEEN_LOSSES) {
            return false;
        }
        losses += 1;
        match losses {
            // Evicted, one by one. At first, nothing is there at all.
            1 | 12 => long.lose(std::slice::from_ref(&list)).await,
            2 | 10 => long.lose(&long.feeds(&long.celebrities[..5])).await,
            3 | 11 => long.lose(&[long.key("my_celebs")]).await,
            4 | 6 => {
                let next = long.expected[met..].iter().take(3 * PAGE);
                let cards: Vec<String> = next.map(|tweet| format!("tweet:{{{tweet}}}")).collect();
                long.lose(&cards).await;
            }
            // Trimmed: what is left ends above this page.
            5 | 13 => {
                let mut trim = cmd("LTRIM");
                trim.arg(&list).arg(0).arg(199);
                let _: String = long.stack.stores.redis(&trim).await;
            }
            // Half rebuilt: at 7 the rebuild goes on, at 8 it was given up.
            7 | 8 => {
                long.lose(&[list.clone(), long.key("rebuild")]).await;
                let begun = timelines.begin_rebuild(long.me).await;
                assert!(begun.expect("Redis answers").is_some());
                if losses == 8 {
                    long.lose(&[long.key("rebuild")]).await;
                }
            }
            // All of it.
            _ => {
                let names = ["home_timeline", "my_celebs", "hidden", "marker"];
                let mut keys = names.map(|name| long.key(name)).to_vec();
                keys.extend(long.feeds(&long.celebrities));
                long.lose(&keys).await;
            }
        }
        true
    })
    .await;
    println!("{losses} losses");
    assert!(losses > 12, "only {losses} losses");
}
