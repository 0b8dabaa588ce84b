//! Followers by the million, for a local cloud only.
//!
//! Two things are left out because of the time they take: what happens when somebody is followed, which is more than eight
//! minutes for a million, and the AWS SDK.

use std::fmt::Write as _;

use aws_sdk_dynamodb::types::StreamSpecification;
use hyper::Method;

use super::{TRANSACTION, Tables, number};
use crate::http::Http;
use crate::patience::in_parallel;

/// A local cloud looks at the form of a signature, and at nothing else.
const HEADERS: [(&str, &str); 4] = [
    ("content-type", "application/x-amz-json-1.0"),
    ("x-amz-target", "DynamoDB_20120810.TransactWriteItems"),
    ("x-amz-date", "20260101T000000Z"),
    (
        "authorization",
        "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
    ),
];

impl Tables {
    /// From now on nothing happens when somebody is followed: no count changes, no list is filled.
    pub async fn stop_stream_of_followers(&self) {
        let none = StreamSpecification::builder().stream_enabled(false);
        let stopped = self
            .dynamo
            .update_table()
            .table_name(self.table("followers"))
            .stream_specification(none.build().expect("a specification"))
            .send()
            .await;
        stopped.unwrap_or_else(|e| panic!("the stream cannot be stopped: {e:?}"));
    }

    /// Makes all of these follow `followee` as far as a fan-out is concerned, and says how many they are in the row of
    /// `followee`. Call [`Self::stop_stream_of_followers`] first.
    pub async fn load_followers(&self, followee: u64, followers: &[u64]) {
        let http = Http::new();
        let headers = HEADERS.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let transactions = followers.chunks(TRANSACTION).map(|followers| {
            let edges = self.edges(followee, followers);
            http.send(Method::POST, &self.endpoint, &headers, edges)
        });
        for answer in in_parallel(2, transactions).await {
            answer.expect("an answer of the tables").expect(200);
        }
        let count = number(followers.len() as u64);
        self.change_row(followee, "follower_count", count).await;
    }

    /// The body of one transaction.
    fn edges(&self, followee: u64, followers: &[u64]) -> Vec<u8> {
        let table = self.table("followers");
        let mut items = String::new();
        for follower in followers {
            let comma = if items.is_empty() { "" } else { "," };
            let _ = write!(
                items,
                r#"{comma}{{"Put":{{"TableName":"{table}","Item":{{"followee_id":{{"N":"{followee}"}},"follower_id":{{"N":"{follower}"}}}}}}}}"#
            );
        }
        format!(r#"{{"TransactItems":[{items}]}}"#).into_bytes()
    }
}
