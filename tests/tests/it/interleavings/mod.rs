//! Things that happen at the same time, in every order.
//!
//! The parties of a race are real functions behind gates, and every interleaving of their contested requests is driven,
//! each with people of its own (see [`roost_tests::Race`]). At the end the reader's timeline, read through the real flow,
//! must be what the tables say: nothing missing (I1), nothing twice (I2), nothing that should be hidden (I3).
//!
//! The tables have no streams here. With streams, the local cloud would deliver a tweet that a race lost once more, and
//! the test would not notice the loss.

mod blocks;
mod deletes;
mod fills;
mod follows;
mod mutes;
mod profiles;
mod rebuilds;
mod reposts;

use std::collections::BTreeMap;
use std::sync::Arc;

use redis::cmd;
use roost_tests::{
    Client, Contest, Function, Interleavings, Party, Race, Stage, Tables, body_of, events, page_ids,
};
use serde_json::{Value, json};
use shared::domain::timeline::ListEnd;
use shared::domain::{Entry, PageSize, Tweet, TweetId, TweetText, UserId};
use shared::flows::home_timeline::{HomePage, HomeTimelines};
use shared::platform::now_millis;
use shared::stores::follows::Edge;
use shared::stores::tweets::Stored;
use shared::stores::users::SignUp;

use crate::isolated_stack::IsolatedStack;
use crate::stores::{Stores, name, tweet_at};

/// The stores, and the stage that races are run on.
struct World {
    stores: Stores,
    tables: Tables,
    environment: BTreeMap<String, String>,
    /// Reads as the function does, past the gates.
    home: HomeTimelines,
    stage: Stage,
}

#[derive(Clone, Debug)]
struct Person {
    id: UserId,
    subject: String,
}

impl World {
    /// `None`, after saying that the test is skipped, if functions cannot be run beside the deployment.
    async fn new() -> Option<Self> {
        let stack = IsolatedStack::beside(Client::shared().await).await?;
        let home = stack.home();
        let IsolatedStack {
            stores,
            tables,
            environment,
        } = stack;
        Some(Self {
            stores,
            tables,
            environment,
            home,
            stage: Stage::default(),
        })
    }

    /// A function whose requests are steps of this party.
    fn function(&self, party: usize, name: &str) -> Arc<Function> {
        let (redis, dynamodb) = self.stage.gates(
            party,
            &self.environment["REDIS_URL"],
            &self.environment["AWS_ENDPOINT_URL_DYNAMODB"],
        );
        let changed = [
            ("REDIS_URL", redis.as_str()),
            ("AWS_ENDPOINT_URL_DYNAMODB", dynamodb.as_str()),
        ];
        Arc::new(Function::start_in(self.environment.clone(), name, &changed))
    }

    async fn sign_up(&self) -> Person {
        let subject = format!("test|race|{}", fastrand::u64(..));
        let (users, handle) = (self.stores.users(), self.stores.handle());
        let id = self.stores.new_user_id().await;
        let signed_up = users.sign_up(id, &subject, handle, name()).await;
        let SignUp::Created(user) = signed_up.expect("a sign-up") else {
            panic!("a new subject had a profile already");
        };
        Person {
            id: user.id,
            subject,
        }
    }

    async fn follow(&self, follower: &Person, followee: &Person) {
        let edge = Edge::new(follower.id, followee.id);
        let followed = self
            .stores
            .follows()
            .follow(edge, &self.stores.relations())
            .await;
        followed.expect("the table answers");
    }

    /// Gives the author tweets in the table and nowhere else, a second apart. The newest is `age_ms` old. Newest first.
    async fn tweets(&self, author: &Person, count: u64, age_ms: u64) -> Vec<Entry> {
        let newest = now_millis() - age_ms;
        let tweets = self.stores.tweets();
        let mut entries = Vec::new();
        for n in 0..count {
            // Ids of people differ in their last bits, so no two of them make the same one.
            let id = tweet_at(newest - n * 1_000, author.id.get() % (1 << 22));
            let text = TweetText::parse(&format!("number {n}")).expect("a text");
            let stored = tweets.store(&Tweet::new(id, author.id, text)).await;
            assert!(matches!(stored, Ok(Stored::New)));
            entries.push(Entry::new(id, author.id));
        }
        entries
    }

    /// A place in time for somebody's repost.
    fn place(&self, author: &Person, age_ms: u64) -> Entry {
        let id = tweet_at(now_millis() - age_ms, author.id.get() % (1 << 22));
        Entry::new(id, author.id)
    }

    async fn read(&self, reader: &Person) -> HomePage {
        let size = PageSize::MAX_SIZE;
        self.home.page(reader.id, None, size, None).await
    }

    /// What the reader would be shown right now. `None` while a reader has to wait: the list is missing or being rebuilt.
    async fn read_at_once(&self, reader: &Person) -> Option<Vec<u64>> {
        let end = self.stores.list(reader.id).await.pop()?;
        if matches!(ListEnd::from_entry(end), Some(ListEnd::Building(_))) {
            return None;
        }
        let page = self.read(reader).await;
        Some(
            page.tweets
                .iter()
                .map(|listed| listed.seen.tweet.id.get())
                .collect(),
        )
    }

    /// Runs one race to its end. Then the reader's timeline must be what the tables say.
    async fn race<C: Into<Contest>>(
        &self,
        reader: &Person,
        interleavings: &mut Interleavings,
        contested: impl Fn(usize, &str, usize) -> C + Send + Sync + 'static,
        parties: Vec<Party<Value>>,
    ) -> Outcome {
        let unwatched = async |_: &Race<'_, Value>| {};
        self.watched_race(reader, interleavings, contested, parties, unwatched)
            .await
    }

    /// The same, and `watch` is called after every step.
    async fn watched_race<C: Into<Contest>>(
        &self,
        reader: &Person,
        interleavings: &mut Interleavings,
        contested: impl Fn(usize, &str, usize) -> C + Send + Sync + 'static,
        parties: Vec<Party<Value>>,
        watch: impl AsyncFn(&Race<'_, Value>),
    ) -> Outcome {
        let mut race = Race::start(&self.stage, interleavings, contested, parties);
        while race.step().is_some() {
            watch(&race).await;
        }
        let trace = race.trace();
        let (answers, in_time) = race.finish();
        self.expect_right(reader, &trace).await;
        Outcome {
            trace,
            answers: if in_time { answers } else { Vec::new() },
        }
    }

    /// A party that begins with the loss of a key, as one step, and then does what `then` does.
    fn after_loss_of(&self, key: String, party: usize, then: Party<Value>) -> Party<Value> {
        let (stage, redis) = (self.stage.clone(), self.environment["REDIS_URL"].clone());
        Box::new(move || {
            stage.step(party, &format!("is lost: {key}"), || {
                let redis = redis::Client::open(redis).and_then(|redis| redis.get_connection());
                let mut redis = redis.expect("Redis answers");
                cmd("DEL").arg(key).exec(&mut redis).expect("DEL");
            });
            then()
        })
    }

    /// The reader's timeline is what the tables say, and stays so when it is read again.
    async fn expect_right(&self, reader: &Person, trace: &str) {
        let expected = self.tables.home_timeline_of(reader.id.get()).await;
        for time in ["first", "second"] {
            let page = self.read(reader).await;
            let shown: Vec<u64> = page
                .tweets
                .iter()
                .map(|listed| listed.seen.tweet.id.get())
                .collect();
            assert_eq!(shown, expected, "the {time} reading after{trace}");
            assert!(
                page.troubles.is_empty(),
                "the {time} reading is incomplete after{trace}"
            );
        }
    }
}

fn shows(page: &HomePage, author: &Person) -> bool {
    page.tweets
        .iter()
        .any(|listed| listed.seen.tweet.author_id == author.id)
}

/// How one race ended.
struct Outcome {
    /// The steps, in their order.
    trace: String,
    /// What the parties answered. Empty if the race took so long that a function may have given up on Redis.
    answers: Vec<Value>,
}

#[track_caller]
fn expect_status(answer: &Value, status: u16) {
    assert_eq!(answer["statusCode"], status, "{answer}");
}

/// A consumer lists the records that it could not process: none.
#[track_caller]
fn expect_processed(answer: &Value) {
    assert_eq!(answer["batchItemFailures"], json!([]), "{answer}");
}

/// The ids on the page that `home-timeline` answered.
#[track_caller]
fn shown_ids(answer: &Value) -> Vec<u64> {
    page_ids(&body_of(answer, 200))
}

/// The party that reads the newest page.
fn reading(home_timeline: &Arc<Function>, reader: &Person) -> Party<Value> {
    let home_timeline = Arc::clone(home_timeline);
    let event = events::http_request("GET", "/v1/home_timeline?limit=100", &reader.subject);
    Box::new(move || home_timeline.invoke(event))
}

/// The party that delivers a tweet which is in the table already.
fn delivering(fan_out: &Arc<Function>, tweet: Entry) -> Party<Value> {
    let fan_out = Arc::clone(fan_out);
    let event = events::tweet_created(tweet.author.get(), tweet.tweet.get());
    Box::new(move || {
        let answer = fan_out.invoke(event);
        expect_processed(&answer);
        answer
    })
}

/// The functions that post a tweet and fan it out.
#[derive(Clone)]
struct Posting {
    post_tweet: Arc<Function>,
    fan_out: Arc<Function>,
}

impl Posting {
    fn of_party(world: &World, party: usize) -> Self {
        Self {
            post_tweet: world.function(party, "post-tweet"),
            fan_out: world.function(party, "fan-out-tweets"),
        }
    }

    /// The party that posts a tweet and then fans it out.
    fn party(&self, author: &Person) -> Party<Value> {
        let (posting, author) = (self.clone(), author.clone());
        Box::new(move || {
            posting.post(&author);
            Value::Null
        })
    }

    /// Posts a tweet and fans it out, one after the other. Gives the tweet.
    fn post(&self, author: &Person) -> TweetId {
        let body = json!({ "text": "in a race" });
        let request = events::http("POST", "/v1/tweets", &author.subject, Some(&body));
        let tweet = body_of(&self.post_tweet.invoke(request), 201);
        let id = tweet["id"].as_str().and_then(|id| id.parse().ok());
        let id: u64 = id.expect("an id");
        expect_processed(
            &self
                .fan_out
                .invoke(events::tweet_created(author.id.get(), id)),
        );
        TweetId::new(id)
    }
}

/// Is this request that command on that key? `EXPIRE` is not contested: it changes nothing that others see.
fn asks(text: &str, command: &str, key: &str) -> bool {
    text.starts_with(command) && !text.starts_with("EXPIRE") && text.contains(key)
}

/// Is this request about one of these keys of this user?
fn asks_key(text: &str, names: &[&str], user: UserId) -> bool {
    names
        .iter()
        .any(|name| asks(text, "", &format!("{name}:{{{user}}}")))
}

/// Is this request one of these operations on a table, with this person's id in it?
fn asks_table(text: &str, operations: &[&str], table: &str, person: UserId) -> bool {
    operations
        .iter()
        .any(|operation| text.starts_with(operation))
        && text.contains(&format!("-{table}\""))
        && text.contains(&format!("\"{person}\""))
}

/// Prints how many interleavings there were, and fails if there were too few to prove anything.
fn report(what: &str, interleavings: &Interleavings, at_least: usize) {
    println!("{what}: {} interleavings", interleavings.runs);
    assert!(
        interleavings.runs >= at_least,
        "only {} interleavings of {what}: the requests are no longer contested as this test thinks",
        interleavings.runs
    );
}
