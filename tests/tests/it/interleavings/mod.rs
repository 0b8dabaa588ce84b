//! What can get in each other's way, in every order.
//!
//! Two parties are real functions behind gates, and every interleaving of their contested requests is driven, each on
//! people of its own (see [`roost_tests::Race`]). At the end the reader's timeline, read through the real flow, must be
//! what the tables say: nothing lost, nothing twice, no ghost.
//!
//! The tables have no streams here. Else a tweet that a race lost would be delivered once more, by the local cloud
//! behind the test's back.

mod deletes;
mod fills;
mod follows;
mod rebuilds;

use std::collections::BTreeMap;
use std::sync::Arc;

use roost_tests::{Client, Function, Interleavings, Stage, Tables, events};
use serde_json::{Value, json};
use shared::domain::timeline::ListEnd;
use shared::domain::{Entry, PageSize, Tweet, TweetId, TweetText, UserId};
use shared::flows::home_timeline::{HomePage, HomeTimelines};
use shared::runtime::now_millis;
use shared::stores::follows::Edge;
use shared::stores::tweets::Stored;
use shared::stores::users::SignUp;

use crate::isolated_stack::IsolatedStack;
use crate::stores::{Stores, name, tweet_at};

/// A stage to race on, and whom to race.
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
    /// `None`, and the word that the test is skipped, where functions cannot be run beside the deployment.
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
        let signed_up = users.sign_up(&subject, handle, name()).await;
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
        let followed = self.stores.follows().follow(edge).await;
        followed.expect("the table answers");
    }

    /// Tweets of this author in the table and nowhere else, a second apart; the newest is so old. Newest first.
    async fn tweets(&self, author: &Person, count: u64, age_ms: u64) -> Vec<Entry> {
        let newest = now_millis() - age_ms;
        let tweets = self.stores.tweets();
        let mut entries = Vec::new();
        for n in 0..count {
            // Ids of people differ in their last bits, so no two of them make the same one.
            let id = tweet_at(newest - n * 1_000, author.id.get() % (1 << 22));
            let text = TweetText::parse(format!("number {n}")).expect("a text");
            let stored = tweets.store(&Tweet::new(id, author.id, text)).await;
            assert!(matches!(stored, Ok(Stored::New)));
            entries.push(Entry::new(id, author.id));
        }
        entries
    }

    async fn read(&self, reader: &Person) -> HomePage {
        let size = PageSize::MAX_SIZE;
        let page = self.home.page(reader.id, None, size, None).await;
        page.expect("a page, where no tag is known")
    }

    /// What the reader would be shown right now; `None` while the list is missing or being rebuilt, when a reader waits.
    async fn read_at_once(&self, reader: &Person) -> Option<Vec<u64>> {
        let end = self.stores.list(reader.id).await.pop()?;
        if matches!(ListEnd::from_entry(end), Some(ListEnd::Building(_))) {
            return None;
        }
        let page = self.read(reader).await;
        Some(page.tweets.iter().map(|tweet| tweet.id.get()).collect())
    }

    /// The reader's timeline is what the tables say, and stays so when it is read again.
    async fn expect_right(&self, reader: &Person, trace: &str) {
        let expected = self.tables.home_timeline_of(reader.id.get()).await;
        for time in ["first", "second"] {
            let page = self.read(reader).await;
            let shown: Vec<u64> = page.tweets.iter().map(|tweet| tweet.id.get()).collect();
            assert_eq!(shown, expected, "the {time} reading after{trace}");
            assert!(
                page.troubles.is_empty(),
                "the {time} reading is incomplete after{trace}"
            );
        }
    }
}

fn shows(page: &HomePage, author: &Person) -> bool {
    page.tweets.iter().any(|tweet| tweet.author_id == author.id)
}

/// What a function answered, by its status.
#[track_caller]
fn expect_status(answer: &Value, status: u16) {
    assert_eq!(answer["statusCode"], status, "{answer}");
}

/// Consumers say which records they could not process.
#[track_caller]
fn expect_processed(answer: &Value) {
    assert_eq!(answer["batchItemFailures"], json!([]), "{answer}");
}

/// The ids on a page that a function answered.
fn page_ids(answer: &Value) -> Vec<u64> {
    expect_status(answer, 200);
    let body: Value =
        serde_json::from_str(answer["body"].as_str().unwrap_or_default()).expect("a page is JSON");
    let tweets = body["data"].as_array().expect("tweets");
    tweets
        .iter()
        .map(|tweet| tweet["id"].as_str().and_then(|id| id.parse().ok()))
        .map(|id| id.expect("an id"))
        .collect()
}

fn reading(reader: &Person) -> Value {
    events::http_request("GET", "/v1/home_timeline?limit=100", &reader.subject)
}

/// Posts a tweet and fans it out, as the functions do it one after the other. Gives the tweet.
fn post_and_fan_out(post_tweet: &Function, fan_out: &Function, author: &Person) -> TweetId {
    let mut request = events::http_request("POST", "/v1/tweets", &author.subject);
    request["body"] = json!(json!({ "text": "in a race" }).to_string());
    let answer = post_tweet.invoke(request);
    expect_status(&answer, 201);
    let tweet: Value =
        serde_json::from_str(answer["body"].as_str().unwrap_or_default()).expect("a tweet is JSON");
    let id = tweet["id"].as_str().and_then(|id| id.parse().ok());
    let id: u64 = id.expect("an id");
    expect_processed(&fan_out.invoke(events::tweet_created(author.id.get(), id)));
    TweetId::new(id)
}

/// What a request asks for. Renewing a life gets in nobody's way.
fn asks(text: &str, command: &str, key: &str) -> bool {
    text.starts_with(command) && !text.starts_with("EXPIRE") && text.contains(key)
}

/// A key of this user, whichever it is of those named.
fn asks_key(text: &str, names: &[&str], user: UserId) -> bool {
    names
        .iter()
        .any(|name| asks(text, "", &format!("{name}:{{{user}}}")))
}

/// An operation on a table with this person's id in it.
fn asks_table(text: &str, operations: &[&str], table: &str, person: UserId) -> bool {
    operations
        .iter()
        .any(|operation| text.starts_with(operation))
        && text.contains(&format!("-{table}\""))
        && text.contains(&format!("\"{person}\""))
}

/// Says how many interleavings there were, so that a test that drives none is seen.
fn report(what: &str, interleavings: &Interleavings, at_least: usize) {
    println!("{what}: {} interleavings", interleavings.runs);
    assert!(
        interleavings.runs >= at_least,
        "only {} interleavings of {what}: the requests are no longer contested as this test thinks",
        interleavings.runs
    );
}
