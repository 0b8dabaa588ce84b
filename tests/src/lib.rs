//! The harness of Roost's end-to-end suite: what a test needs to say *given*, *when* and *then*.
//!
//! - [`Target`] is the deployment under test: the one at `ROOST_URL`, or a local cloud that is started once per process.
//!   [`LocalCloud`] is such a local cloud; a test that breaks things starts one of its own.
//! - [`Client`] is one test's way into a target. It signs up [`User`]s, who follow, post and read. What must hold on every
//!   page (order, no duplicates, the meta block) is checked on every page that any test reads.
//! - [`Tables`] and [`Cache`] look behind the API: the oracle of the home timeline, fabricated followers, Redis lists.
//!   [`events`] makes the events that stream consumers get.
//! - An [`EventStream`] hears what happens inside a local cloud.
//! - [`Function`] is one function's binary run by the test itself; [`RedisProxy`] counts what it asks of Redis, and
//!   [`DynamoProxy`] what it asks of DynamoDB, and a [`DynamoGate`] holds some of that back. A [`Race`] runs several of them against each other, step by step.
//!   A [`Meter`] counts what all functions of a local cloud use of tables and streams, as it would be billed.
//!   [`RedisCluster`] is a real cluster with TLS.
//! - [`eventually`] and [`throughout`] say when something has to hold. [`given_reader`], [`expect_oracle`] and their
//!   neighbours are steps that several tests share.
//!
//! A test takes its turn with exactly one of [`Client::shared`], [`Client::alone`] and [`LocalCloud::for_test`]; taking two
//! would make it wait for itself.
//!
//! | variable | meaning |
//! |---|---|
//! | `ROOST_URL` | test this deployment instead of a local cloud |
//! | `ROOST_TOKEN_URL` | where it gives out tokens, default `$ROOST_URL/dev/token` |
//! | `ROOST_DYNAMODB_URL`, `ROOST_KINESIS_URL`, `ROOST_REDIS_URL` | its stores; tests that need one that is not named are skipped |
//! | `ROOST_LIVE_URL` | where its WebSocket API listens, if not where it says itself |
//! | `ROOST_REDIS_CLUSTER`, `ROOST_REDIS_CA_CERT` | as `REDIS_CLUSTER` and `REDIS_CA_CERT` of the functions |
//! | `ROOST_STACK` | what the names of its tables and streams begin with, default `roost` |
//! | `ROOST_CELEBRITY_THRESHOLD` | its `CelebrityThreshold`, if a test can reach it, with a dwell time of 0 |
//! | `ROOST_PATIENCE` | factor on every time limit, default 1 |

mod cache;
mod client;
mod dev;
pub mod events;
mod function;
mod http;
mod live;
mod local_cloud;
mod meter;
mod numbers;
mod openapi;
mod page;
mod patience;
mod proxy;
mod race;
mod redis_cluster;
mod steps;
mod tables;
mod target;
mod user;

pub use cache::{Cache, Dumped, SENTINEL, StoppedServer, entry, keys};
pub use client::{Call, Client};
pub use dev::EventStream;
pub use function::{Function, RedisProxy, body_of, page_ids};
pub use http::{Answer, Http};
pub use hyper::Method;
pub use live::{LiveSocket, Ticket};
pub use local_cloud::{
    Counted, Delivery, LocalCloud, Sandbox, beside_the_tests, field, fresh_folder, is_request,
    signal, workspace,
};
pub use meter::{Meter, Metered, StreamUse, TableUse};
pub use numbers::with_commas;
pub use openapi::{Document, Operation};
pub use page::{
    ComposedItem, ComposedPage, HomePage, Listing, Parent, Profile, RepostedBy, Tweet,
    expect_timeline, ids, newest_first, shown,
};
pub use patience::{
    PATIENCE, eventually, expect_equal, in_parallel, insist, now_seconds, stretched, throughout,
};
pub use proxy::{
    DynamoGate, DynamoProxy, dynamodb_by_heart, read_value, redis_ahead_by, redis_watched,
};
pub use race::{Contest, Interleavings, Party, Race, Stage, Step};
pub use redis_cluster::RedisCluster;
pub use steps::{expect_followers, expect_oracle, expect_tier, given_reader};
pub use tables::{Counts, TABLES, Tables, Tier};
pub use target::{Endpoints, Target, skip};
pub use user::{User, Walk};
