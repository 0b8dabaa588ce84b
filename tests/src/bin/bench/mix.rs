//! The mix of DeathStarBench's social network: 60 % home timelines, 30 % user timelines, 10 % posts, by people of a graph with
//! a heavy tail, through HTTP. The rate is raised until answers come late.
//!
//! Requests are sent when they are due, whether or not earlier ones were answered, and count from when they were due. So a
//! system that falls behind cannot hide it. Everything runs on this machine, the program that asks included: the knee says
//! where this machine ends, and which process ends it.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use roost_tests::{Http, LocalCloud, Method, Tables, eventually, in_parallel};
use serde_json::json;
use shared::domain::{TweetId, UserId};
use shared::platform::now_millis;
use tokio::time::{Instant, sleep_until};

use crate::cores::{Cores, GROUPS};
use crate::graph::Graph;
use crate::one_thread;
use crate::page::percentile;
use crate::report::{Goal, Row, Unit};

const PART: &str = "mix";
/// Requests a second.
const RATES: [u32; 9] = [25, 50, 100, 200, 300, 400, 600, 800, 1_200];
const STEP: Duration = Duration::from_secs(4);
/// The knee is before the first rate at which answers take so many times as long as at the lowest, and longer than anybody
/// would call quick.
const BENT: u32 = 5;
const QUICK: Duration = Duration::from_millis(50);
/// Authors with this many followers are celebrities.
const THRESHOLD: &str = "100";
const TWEETS_EACH: usize = 5;
const COUNTED_WITHIN: Duration = Duration::from_secs(180);

pub(crate) fn measure() -> Vec<Row> {
    // Looked at before anything was measured.
    let graph = Graph::from_env().expect("a graph");
    let (people, edges) = (graph.people, graph.edges.len());
    println!("mix: {people} people, {edges} follows, {STEP:?} for each rate");
    one_thread().block_on(async {
        let mix = Mix::prepare(&graph).await;
        mix.warm_up().await;
        mix.raise().await
    })
}

struct Mix {
    cloud: LocalCloud,
    http: Http,
    people: Vec<Person>,
}

struct Person {
    id: UserId,
    /// The header that says who asks.
    headers: Vec<(String, String)>,
}

/// How often a rate at which answers come late is measured again.
const REPEATS: usize = 2;

/// What one rate has led to.
struct Step {
    rate: u32,
    p50: Duration,
    p99: Duration,
    failed: usize,
    cores: [f64; 4],
}

impl Mix {
    async fn prepare(graph: &Graph) -> Self {
        let parameters = [
            ("WARMING_RATE", "0"),
            ("CELEBRITY_THRESHOLD", THRESHOLD),
            ("TIER_DWELL_SECONDS", "0"),
        ];
        let cloud = LocalCloud::start(&parameters).await;
        let tables = cloud.client().tables().await.expect("tables");
        let someone = |_| UserId::new(fastrand::u64(1..1 << 62));
        let ids: Vec<UserId> = (0..graph.people).map(someone).collect();
        let numbers: Vec<u64> = ids.iter().map(|id| id.get()).collect();
        tables.add_profiles(&numbers).await;
        let subject = |id: &UserId| (format!("bench|{id}"), id.get());
        let subjects: Vec<(String, u64)> = ids.iter().map(subject).collect();
        tables.add_subjects(&subjects).await;
        follow(&cloud, &tables, graph, &numbers).await;
        let newest = now_millis() - 60_000;
        let tweets = (0..TWEETS_EACH * ids.len()).map(|n| {
            let tweet = TweetId::first_at(newest - 1_000 * n as u64);
            (numbers[n % ids.len()], tweet.get())
        });
        tables.add_tweets(&tweets.collect::<Vec<_>>()).await;
        let tokens = subjects.iter().map(|(it, _)| cloud.client().token(it));
        let tokens = in_parallel(8, tokens).await;
        let header = |token| vec![("authorization".to_owned(), format!("Bearer {token}"))];
        let people = ids.into_iter().zip(tokens);
        let people = people.map(|(id, token)| Person {
            id,
            headers: header(token),
        });
        Self {
            people: people.collect(),
            http: cloud.client().http().clone(),
            cloud,
        }
    }

    /// Everybody reads once, so that lists are there.
    async fn warm_up(&self) {
        println!("  everybody reads once");
        let path = "/v1/home_timeline";
        let reads = self.people.iter();
        let reads = reads.map(|it| self.ask(it, Method::GET, path.to_owned(), Vec::new()));
        let answered = in_parallel(8, reads).await;
        let failed = answered.iter().filter(|it| !**it).count();
        assert_eq!(failed, 0, "{failed} of the first reads failed");
    }

    async fn raise(&self) -> Vec<Row> {
        // Sandboxes of every function have started after this.
        self.step(RATES[1]).await;
        let mut steps: Vec<Step> = Vec::new();
        for rate in RATES {
            let step = self.calmest(rate, steps.first()).await;
            let (p50, p99, failed) = (step.p50, step.p99, step.failed);
            println!("  {rate} a second: p50 {p50:.1?}, p99 {p99:.1?}, {failed} failed");
            let bent = { steps.first() }.is_some_and(|first| step.bends(first));
            steps.push(step);
            if bent {
                break;
            }
        }
        rows(&steps)
    }

    /// If answers come late, the same again: a moment in which the machine was busy elsewhere is no limit.
    async fn calmest(&self, rate: u32, first: Option<&Step>) -> Step {
        let mut calmest = self.step(rate).await;
        for _ in 0..REPEATS {
            if !first.is_some_and(|first| calmest.bends(first)) {
                break;
            }
            let again = self.step(rate).await;
            if again.p99 < calmest.p99 {
                calmest = again;
            }
        }
        calmest
    }

    async fn step(&self, rate: u32) -> Step {
        let before = Cores::now();
        let start = Instant::now() + Duration::from_millis(50);
        let count = rate * u32::try_from(STEP.as_secs()).unwrap_or(1);
        let answers = (0..count).map(|n| async move {
            let due = start + Duration::from_secs(1) * n / rate;
            sleep_until(due).await;
            let well = self.one().await;
            (due.elapsed(), well)
        });
        let answers = join_all(answers).await;
        let cores = before.since(&self.cloud).await;
        let times: Vec<Duration> = answers.iter().map(|answer| answer.0).collect();
        Step {
            rate,
            p50: percentile(&times, 50),
            p99: percentile(&times, 99),
            failed: answers.iter().filter(|answer| !answer.1).count(),
            cores,
        }
    }

    /// One request of the mix. `false` if it failed.
    async fn one(&self) -> bool {
        let someone = || &self.people[fastrand::usize(..self.people.len())];
        let who = someone();
        match fastrand::u32(..10) {
            0..6 => {
                let path = "/v1/home_timeline".to_owned();
                self.ask(who, Method::GET, path, Vec::new()).await
            }
            6..9 => {
                let path = format!("/v1/users/{}/tweets", someone().id);
                self.ask(who, Method::GET, path, Vec::new()).await
            }
            _ => {
                let body = json!({ "text": "one of many, about as long as tweets are" });
                let body = body.to_string().into_bytes();
                let path = "/v1/tweets".to_owned();
                self.ask(who, Method::POST, path, body).await
            }
        }
    }

    async fn ask(&self, who: &Person, method: Method, path: String, body: Vec<u8>) -> bool {
        let url = format!("{}{path}", self.cloud.client().target().endpoints.http);
        let mut headers = who.headers.clone();
        if !body.is_empty() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        let answer = self.http.send(method, &url, &headers, body).await;
        answer.is_ok_and(|answer| matches!(answer.status, 200 | 201))
    }
}

/// Writes all edges and waits until they are counted, so that celebrities are known and nothing is left to do.
async fn follow(cloud: &LocalCloud, tables: &Tables, graph: &Graph, ids: &[u64]) {
    let mut followers: HashMap<usize, u64> = HashMap::new();
    for (_, followed) in &graph.edges {
        *followers.entry(*followed).or_default() += 1;
    }
    for (number, id) in ids.iter().enumerate() {
        let followed = graph.followed_by(number);
        let followed: Vec<u64> = followed.into_iter().map(|it| ids[it]).collect();
        tables.add_following(*id, &followed).await;
    }
    println!("  waiting until {} follows are counted", graph.edges.len());
    eventually(COUNTED_WITHIN, "all follows are counted", || async {
        let counted: u64 = cloud.counted().iter().map(|it| it.edges).sum();
        if counted < graph.edges.len() as u64 {
            return Err(format!("{counted} are"));
        }
        Ok(())
    })
    .await;
    let most = followers.values().max().copied().unwrap_or_default();
    println!("  the most followed person has {most} followers");
}

impl Step {
    fn bends(&self, first: &Self) -> bool {
        self.p99 > (first.p99 * BENT).max(QUICK) || self.failed > 0
    }
}

fn rows(steps: &[Step]) -> Vec<Row> {
    let mut rows = Vec::new();
    for step in steps {
        let rate = f64::from(step.rate);
        let curves = [("p50", step.p50), ("p99", step.p99)];
        for (curve, time) in curves {
            let what = format!("{} requests a second, {curve}", step.rate);
            let row = Row::figure(PART, what, Unit::Time, time.as_secs_f64(), Goal::Told);
            rows.push(row.at(curve, rate));
        }
    }
    let Some(first) = steps.first() else {
        return rows;
    };
    let knee = { steps.iter().take_while(|step| !step.bends(first)) }.last();
    if let Some(knee) = knee {
        let what = "the knee: the highest rate before p99 is five times that of the lowest";
        let rate = f64::from(knee.rate);
        rows.push(Row::figure(PART, what, Unit::Rate, rate, Goal::Told));
        for (group, cores) in GROUPS.iter().zip(knee.cores) {
            let what = format!("cores busy there: {group}");
            rows.push(Row::figure(PART, what, Unit::Count, cores, Goal::Told));
        }
    }
    rows
}
