//! What clients may rely on: every endpoint, and every way in which a request is refused.

mod conventions;
mod document;
mod follows;
mod lists;
mod lookups;
mod pages;
mod profiles;
mod reactions;
mod relations;
mod relationships;
mod replies;
pub(crate) mod requests;
mod search;
mod tweets;
mod users;

use roost_tests::{Answer, Client, Method};
use serde_json::Value;

/// Texts that are not ids, in a path.
const BAD_IDS: [&str; 6] = ["abc", "-1", "18446744073709551616", "+5", "1.5", "%20"];

/// A well-formed id that nobody has: the first of all, long before any was made.
pub(crate) const UNKNOWN_ID: &str = "1";

/// The answer to a request for the profile of the bearer of this token.
async fn get_me(roost: &Client, token: &str) -> Answer {
    let call = roost.call(Method::GET, "/v1/users/me");
    call.token(token).send().await
}

/// `2026-01-02T03:04:05.678Z`, with or without the fraction.
#[track_caller]
fn assert_utc_time(value: &Value) {
    let text = value
        .as_str()
        .unwrap_or_else(|| panic!("a time that is no string: {value}"));
    let digits = |part: &str, widths: &[usize], separator: char| {
        let numbers: Vec<_> = part.split(separator).collect();
        numbers.len() == widths.len()
            && numbers.iter().zip(widths).all(|(number, width)| {
                number.len() == *width && number.bytes().all(|b| b.is_ascii_digit())
            })
    };
    let fits = text
        .strip_suffix('Z')
        .and_then(|text| text.split_once('T'))
        .is_some_and(|(date, time)| {
            let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
            digits(date, &[4, 2, 2], '-')
                && digits(time, &[2, 2, 2], ':')
                && !fraction.is_empty()
                && digits(fraction, &[fraction.len()], '.')
        });
    assert!(fits, "{text} is no RFC 3339 time in UTC");
}

#[track_caller]
fn assert_id(value: &Value) {
    assert!(
        value
            .as_str()
            .is_some_and(|text| text.parse::<u64>().is_ok()),
        "{value} is no id in a string"
    );
}

#[track_caller]
fn assert_user(user: &Value) {
    assert_id(&user["id"]);
    assert_utc_time(&user["created_at"]);
    for field in ["handle", "name"] {
        assert!(user[field].is_string(), "{field} of {user}");
    }
    for field in ["follower_count", "following_count"] {
        assert!(user[field].is_u64(), "{field} of {user}");
    }
    assert!(user["is_celebrity"].is_boolean(), "is_celebrity of {user}");
}

#[track_caller]
fn assert_tweet(tweet: &Value) {
    assert_id(&tweet["id"]);
    assert_id(&tweet["author_id"]);
    assert_utc_time(&tweet["created_at"]);
    assert!(tweet["text"].is_string(), "text of {tweet}");
    for field in ["like_count", "reply_count", "repost_count"] {
        assert!(tweet[field].is_u64(), "{field} of {tweet}");
    }
    for field in ["liked", "reposted"] {
        assert!(tweet[field].is_boolean(), "{field} of {tweet}");
    }
    if let Some(parent) = tweet.get("in_reply_to") {
        assert_id(&parent["tweet_id"]);
        assert_id(&parent["author_id"]);
    }
    if let Some(repost) = tweet.get("reposted_by") {
        assert_id(&repost["user_id"]);
        assert_utc_time(&repost["at"]);
    }
}
