//! A warm home page of a reader with 200 followed people and 20 celebrities.
//!
//! The handler is measured in this process: everything that `home-timeline` does between a request and the text of its
//! answer, on one thread as in Lambda, with the budget, the identity and the visit beside it. What it leaves out is the
//! Lambda runtime, which is measured by whole invocations of the release binary beside an empty function.
//!
//! A sandbox remembers celebrities' tweets for a second. Rows that have a goal are measured without that memory.

use std::fs;
use std::time::{Duration, Instant};

use roost_tests::{DynamoProxy, Function, RedisProxy, body_of, events, keys, page_ids};
use serde_json::json;
use shared::Roost;
use shared::domain::{KnownTags, PageSize, TweetId, UserId};
use shared::flows::home_timeline::{Activity, HomePage, HomeTimelines, Ranking};
use shared::flows::presence::Visits;
use shared::stores::rate_limits::Kind;
use shared::stores::{Identities, RateLimits};

use crate::crowd;
use crate::one_thread;
use crate::replay::{Recording, Wire};
use crate::report::{Goal, Pair, Row, Unit};
use crate::stack::{CELEBRITIES, FOLLOWED, Reader, Stack, made};

pub(crate) const PART: &str = "page";
/// Measurements in turn, as so many groups. A ratio is made of the medians of a group.
const GROUPS: usize = 40;
const GROUP: usize = 50;
/// Pages under way at once, to keep one core busy.
const AT_ONCE: usize = 16;
const BUSY_PAGES: usize = 3_000;
const COLD_PAGES: usize = 30;

pub(crate) fn measure() -> Vec<Row> {
    println!(
        "page: {FOLLOWED} followed people, {CELEBRITIES} celebrities, {GROUPS} groups of {GROUP} pages"
    );
    one_thread().block_on(async {
        let stack = Stack::start().await;
        let reader = stack.reader().await;
        let handler = Handler::new(&stack.roost(&[]), reader.me, &reader.subject);
        handler.warm_up().await;
        let mut rows = handler.against_a_round_trip(&stack).await;
        rows.extend(counted(&stack, &handler).await);
        rows.push(handler.per_core().await);
        rows.extend(handler.other_pages(&stack).await);
        rows.extend(handler.hydration(&stack).await);
        rows.push(invocations(&stack, &reader));
        rows.extend(crowd::rows(&stack, &reader).await);
        rows
    })
}

/// Which page is read.
#[derive(Clone, Copy)]
pub(crate) enum Read<'a> {
    /// In the latest order.
    Latest,
    /// The same, if the client has it already.
    Unchanged(&'a KnownTags),
    Ranked,
    WithActivity,
    New(TweetId),
}

/// What the function does with a request, apart from the runtime.
pub(crate) struct Handler {
    home: HomeTimelines,
    ranking: Ranking,
    activity: Activity,
    visits: Visits,
    limits: RateLimits,
    identities: Identities,
    roost: Roost,
    me: UserId,
    subject: String,
}

impl Handler {
    pub(crate) fn new(roost: &Roost, me: UserId, subject: &str) -> Self {
        Self {
            home: made(roost, HomeTimelines::new),
            ranking: made(roost, Ranking::new),
            activity: made(roost, Activity::new),
            visits: made(roost, Visits::new),
            limits: made(roost, RateLimits::new),
            identities: made(roost, Identities::new),
            roost: roost.clone(),
            me,
            subject: subject.to_owned(),
        }
    }

    /// Every kind of page once, so that whatever is cached is.
    pub(crate) async fn warm_up(&self) {
        self.answer(Read::Latest).await;
        self.answer(Read::Ranked).await;
        self.answer(Read::WithActivity).await;
    }

    /// The text of an answer.
    pub(crate) async fn answer(&self, read: Read<'_>) -> String {
        self.answer_with(&self.home, read).await
    }

    /// How long it takes a sandbox that remembers celebrities.
    pub(crate) async fn time(&self, read: Read<'_>) -> Duration {
        self.time_with(&self.home, read).await
    }

    /// How long it takes a sandbox that remembers no celebrity.
    pub(crate) async fn time_afresh(&self, read: Read<'_>) -> Duration {
        let home = made(&self.roost, HomeTimelines::new);
        self.time_with(&home, read).await
    }

    /// How long it takes a sandbox that remembers what this one does.
    pub(crate) async fn time_with(&self, home: &HomeTimelines, read: Read<'_>) -> Duration {
        time(self.answer_with(home, read)).await
    }

    async fn answer_with(&self, home: &HomeTimelines, read: Read<'_>) -> String {
        let handled = async {
            let me = self
                .identities
                .user(&self.subject)
                .await
                .expect("a profile");
            let text = Box::pin(self.text(home, me, read));
            let (text, ()) = tokio::join!(text, self.visits.note(me));
            text
        };
        let taken = self.limits.take(&self.subject, Kind::Read);
        let verified = self.identities.verify(&self.subject);
        let (text, verdict, same) = tokio::join!(handled, taken, verified);
        assert!(same && verdict.is_none_or(|it| it.allowed), "refused");
        text
    }

    async fn text(&self, home: &HomeTimelines, me: UserId, read: Read<'_>) -> String {
        let size = PageSize::DEFAULT;
        let page = match read {
            Read::Latest => home.page(me, None, size, None).await,
            Read::Unchanged(known) => home.page(me, None, size, Some(known)).await,
            Read::Ranked => home.ranked_page(&self.ranking, me, None, size, None).await,
            Read::WithActivity => {
                let page = home.page_with_activity(&self.activity, me, None, size);
                page.await
            }
            Read::New(since) => {
                let news = home.news(me, since).await;
                return json!({ "count": news.count, "newest_id": news.newest }).to_string();
            }
        };
        self.check(&page, read);
        let tweets = serde_json::to_string(&page.tweets).expect("JSON");
        let users = serde_json::to_string(&page.users).expect("JSON");
        format!("{{\"data\":{tweets},\"includes\":{{\"users\":{users}}}}}")
    }

    /// A page that lacks something would be quick for the wrong reason.
    fn check(&self, page: &HomePage, read: Read<'_>) {
        assert!(page.troubles.is_empty(), "{:?}", page.troubles);
        match read {
            Read::Unchanged(_) => assert!(page.unchanged, "the page has changed"),
            _ => assert!(page.tweets.len() >= PageSize::DEFAULT.get(), "a short page"),
        }
    }

    async fn against_a_round_trip(&self, stack: &Stack) -> Vec<Row> {
        let mut wire = Wire::connect(stack.redis_port());
        let proxies = (stack.redis_proxy(), stack.dynamodb_proxy());
        let recording = record(stack, self, &proxies.0, &proxies.1).await;
        let mut measured: [Vec<Vec<Duration>>; 4] = Default::default();
        for _ in 0..GROUPS {
            let mut group: [Vec<Duration>; 4] = Default::default();
            for _ in 0..GROUP {
                group[0].push(wire.round_trip());
                group[1].push(wire.replay(&recording));
                group[2].push(self.time_afresh(Read::Latest).await);
                group[3].push(self.time(Read::Latest).await);
            }
            for (all, group) in measured.iter_mut().zip(group) {
                all.push(group);
            }
        }
        let [round_trip, replayed, afresh, remembering] = measured;
        let (one, same) = ("one raw round trip", "the same requests, sent raw");
        let middles = |ours: &[Vec<Duration>], limit: &[Vec<Duration>]| {
            let both = ours.iter().zip(limit);
            let pairs = both.map(|(ours, limit)| Pair {
                ours: percentile(ours, 50),
                limit: percentile(limit, 50),
            });
            pairs.collect::<Vec<_>>()
        };
        let late = |what: &str, ours: &[Vec<Duration>], goal| {
            let ours = percentile(&ours.concat(), 99).as_secs_f64();
            let limit = percentile(&round_trip.concat(), 50).as_secs_f64();
            Row::beside(PART, what, Unit::Time, ours, (one, limit), goal)
        };
        vec![
            Row::times(
                PART,
                "home page, p50",
                one,
                Goal::AtMost(6.0),
                &middles(&afresh, &round_trip),
            ),
            late("home page, p99", &afresh, Goal::AtMost(20.0)),
            Row::times(
                PART,
                "home page, p50 again",
                same,
                Goal::Told,
                &middles(&afresh, &replayed),
            ),
            Row::times(
                PART,
                "home page that remembers celebrities, p50",
                one,
                Goal::Told,
                &middles(&remembering, &round_trip),
            ),
            late(
                "home page that remembers celebrities, p99",
                &remembering,
                Goal::Told,
            ),
        ]
    }

    /// Pages for each second that this thread computes; Redis has the other core.
    async fn per_core(&self) -> Row {
        let mut took = Duration::ZERO;
        for _ in 0..BUSY_PAGES / AT_ONCE {
            let homes = (0..AT_ONCE).map(|_| made(&self.roost, HomeTimelines::new));
            let homes: Vec<HomeTimelines> = homes.collect();
            let started = on_cpu();
            let pages = { homes.iter() }.map(|home| self.answer_with(home, Read::Latest));
            futures_util::future::join_all(pages).await;
            took += on_cpu() - started;
        }
        let pages = (BUSY_PAGES / AT_ONCE * AT_ONCE) as f64;
        let took = took.as_secs_f64();
        let what = "home pages per second of one core, Redis apart";
        Row::figure(PART, what, Unit::Rate, pages / took, Goal::Told)
    }

    async fn other_pages(&self, stack: &Stack) -> Vec<Row> {
        let mut wire = Wire::connect(stack.redis_port());
        let page = self.home.page(self.me, None, PageSize::DEFAULT, None).await;
        let known = KnownTags::parse(&page.tag);
        let since = page.tweets[PageSize::DEFAULT.get() / 2].place.tweet;
        let reads = [
            ("the best first, p50", Read::Ranked),
            ("with activity, p50", Read::WithActivity),
            ("how much is new, p50", Read::New(since)),
            ("not modified (304), p50", Read::Unchanged(&known)),
        ];
        let mut rows = Vec::new();
        for (what, read) in reads {
            let mut pairs = Vec::new();
            for _ in 0..GROUPS / 2 {
                let (mut ours, mut limit) = (Vec::new(), Vec::new());
                for _ in 0..GROUP / 2 {
                    limit.push(wire.round_trip());
                    ours.push(self.time_afresh(read).await);
                }
                let (ours, limit) = (percentile(&ours, 50), percentile(&limit, 50));
                pairs.push(Pair { ours, limit });
            }
            rows.push(Row::times(
                PART,
                what,
                "one raw round trip",
                Goal::Told,
                &pairs,
            ));
        }
        rows
    }

    /// The page when Redis knows its tweets and authors, and when it knows neither.
    async fn hydration(&self, stack: &Stack) -> Vec<Row> {
        let page = self.home.page(self.me, None, PageSize::DEFAULT, None).await;
        let tweets = page.tweets.iter().map(|it| it.place.tweet.get());
        let tweets: Vec<u64> = tweets.collect();
        let mut forgotten: Vec<String> = vec!["DEL".to_owned()];
        forgotten.extend(tweets.iter().map(|it| format!("tweet:{{{it}}}")));
        forgotten.extend(tweets.iter().map(|it| keys::stats(*it)));
        let people = page.users.iter().map(|it| it.id.get());
        forgotten.extend(people.map(|it| format!("profile:{{{it}}}")));
        let words: Vec<&str> = forgotten.iter().map(String::as_str).collect();
        let mut pairs = Vec::new();
        for _ in 0..COLD_PAGES {
            stack.cache.ask::<usize>(&words).await;
            let ours = self.time(Read::Latest).await;
            let limit = self.time(Read::Latest).await;
            pairs.push(Pair { ours, limit });
        }
        let what = "home page whose tweets and authors are not cached";
        vec![Row::times(
            PART,
            what,
            "the same, cached",
            Goal::Told,
            &pairs,
        )]
    }
}

/// Round trips, bytes and table reads, seen from between the handler and its stores.
async fn counted(stack: &Stack, handler: &Handler) -> Vec<Row> {
    let (redis, dynamodb) = (stack.redis_proxy(), stack.dynamodb_proxy());
    let recording = record(stack, handler, &redis, &dynamodb).await;
    let asked = dynamodb.take();
    let bytes = Wire::connect(stack.redis_port()).weigh(&recording);
    let figure = |what, unit, ours: usize, goal| Row::figure(PART, what, unit, ours as f64, goal);
    vec![
        figure(
            "sequential round trips to Redis for a first page",
            Unit::Count,
            recording.round_trips(),
            Goal::AtMost(3.0),
        ),
        figure(
            "requests to tables for a first page",
            Unit::Count,
            asked.len(),
            Goal::AtMost(0.0),
        ),
        figure(
            "bytes from Redis for a first page, beside the tweets",
            Unit::Bytes,
            bytes.rest,
            Goal::AtMost(8_000.0),
        ),
        figure(
            "bytes of the tweets themselves",
            Unit::Bytes,
            bytes.tweets,
            Goal::Told,
        ),
    ]
}

/// What one warm page without remembered celebrities asks of Redis.
pub(crate) async fn record(
    stack: &Stack,
    handler: &Handler,
    redis: &RedisProxy,
    dynamodb: &DynamoProxy,
) -> Recording {
    let roost = stack.roost(&[
        ("REDIS_URL", &redis.url),
        ("AWS_ENDPOINT_URL_DYNAMODB", &dynamodb.url),
    ]);
    let watched = Handler::new(&roost, handler.me, &handler.subject);
    // The first page connects.
    watched.answer(Read::Latest).await;
    redis.take_requests();
    dynamodb.take();
    watched.time_afresh(Read::Latest).await;
    Recording::take(redis)
}

/// Whole invocations, with the Lambda runtime around the handler.
fn invocations(stack: &Stack, reader: &Reader) -> Row {
    let (ours, empty) = (stack.function("home-timeline"), stack.function("empty"));
    let event = events::http_request("GET", "/v1/home_timeline", &reader.subject);
    let shown = page_ids(&body_of(&ours.invoke(event.clone()), 200));
    assert_eq!(shown.len(), PageSize::DEFAULT.get(), "a short page");
    let time = |function: &Function| {
        let started = Instant::now();
        function.invoke(event.clone());
        started.elapsed()
    };
    let pairs: Vec<Pair> = (0..GROUPS * GROUP / 4)
        .map(|_| Pair {
            limit: time(&empty),
            ours: time(&ours),
        })
        .collect();
    let what = "invocation for a home page, p50";
    Row::times(PART, what, "one of an empty function", Goal::Told, &pairs)
}

async fn time<T>(work: impl Future<Output = T>) -> Duration {
    let started = Instant::now();
    work.await;
    started.elapsed()
}

/// Of 100 measurements, the one that this many are not above.
pub(crate) fn percentile(times: &[Duration], percent: usize) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

/// How long this thread has computed so far.
fn on_cpu() -> Duration {
    let counted = fs::read_to_string("/proc/thread-self/schedstat").expect("a Linux");
    let nanoseconds = counted.split(' ').next().and_then(|it| it.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number of nanoseconds"))
}
