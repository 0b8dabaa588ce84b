//! What people read: tweets, profiles, pages, and what holds on every page.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    String::deserialize(deserializer)?
        .parse()
        .map_err(D::Error::custom)
}

fn optional_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Option::<String>::deserialize(deserializer)?
        .map(|text| text.parse().map_err(D::Error::custom))
        .transpose()
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Tweet {
    #[serde(deserialize_with = "id")]
    pub id: u64,
    #[serde(deserialize_with = "id")]
    pub author_id: u64,
    pub text: String,
    pub created_at: String,
    #[serde(default)]
    pub in_reply_to: Option<Parent>,
    pub like_count: u64,
    pub reply_count: u64,
    pub repost_count: u64,
    pub liked: bool,
    pub reposted: bool,
    /// Where it is shown because somebody passed it on.
    #[serde(default)]
    pub reposted_by: Option<RepostedBy>,
}

/// What a reply answers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Parent {
    #[serde(deserialize_with = "id")]
    pub tweet_id: u64,
    #[serde(deserialize_with = "id")]
    pub author_id: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RepostedBy {
    #[serde(deserialize_with = "id")]
    pub user_id: u64,
    pub at: String,
}

impl Tweet {
    /// Who passed it on, where it is shown for that.
    pub fn reposter(&self) -> Option<u64> {
        self.reposted_by.as_ref().map(|repost| repost.user_id)
    }

    /// Where it stands in time on the page that shows it. Times are written in one format, so their texts are in order.
    fn shown_at(&self) -> &str {
        let repost = self.reposted_by.as_ref();
        repost.map_or(&self.created_at, |repost| &repost.at)
    }

    /// Whether this can be its position on a page. A repost has an id of its own, which is younger than the tweet.
    fn fits(&self, position: u64) -> bool {
        if self.reposted_by.is_some() {
            position > self.id
        } else {
            position == self.id
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Profile {
    #[serde(deserialize_with = "id")]
    pub id: u64,
    pub handle: String,
    pub name: String,
    pub created_at: String,
    pub follower_count: i64,
    pub following_count: i64,
    pub is_celebrity: bool,
}

/// A page of followers, followed people or one author's tweets.
#[derive(Clone, Debug, Deserialize)]
pub struct Listing<T> {
    pub data: Vec<T>,
    pub meta: ListingMeta,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ListingMeta {
    pub result_count: usize,
    pub next_cursor: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct HomePage {
    pub data: Vec<Tweet>,
    pub includes: Includes,
    pub meta: HomeMeta,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Includes {
    pub users: Vec<Profile>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct HomeMeta {
    pub result_count: usize,
    #[serde(default, deserialize_with = "optional_id")]
    pub newest_id: Option<u64>,
    #[serde(default, deserialize_with = "optional_id")]
    pub oldest_id: Option<u64>,
    pub next_cursor: Option<String>,
    pub complete: bool,
}

/// A page that is more than the next tweets: ranked, or with activity.
#[derive(Clone, Debug, Deserialize)]
pub struct ComposedPage {
    pub data: Vec<ComposedItem>,
    pub includes: Value,
    pub meta: ComposedMeta,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ComposedItem {
    #[serde(flatten)]
    pub tweet: Tweet,
    pub reason: Option<Value>,
    pub explain: Option<Value>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ComposedMeta {
    pub result_count: usize,
    pub next_cursor: Option<String>,
    pub complete: bool,
}

impl ComposedItem {
    /// Is it there because of what somebody did with it? Only pages that explain themselves tell.
    pub fn is_guest(&self) -> bool {
        let via = self.explain.as_ref().map(|explain| &explain["via"]);
        via.is_some_and(|via| via == "activity")
    }
}

impl ComposedPage {
    pub fn tweets(&self) -> Vec<Tweet> {
        self.data.iter().map(|item| item.tweet.clone()).collect()
    }

    pub fn has(&self, tweet: &Tweet) -> bool {
        self.data.iter().any(|item| item.tweet.id == tweet.id)
    }

    /// Why this tweet is there, if the page says so.
    pub fn reason(&self, tweet: &Tweet) -> Option<Value> {
        let item = self.data.iter().find(|item| item.tweet.id == tweet.id);
        item.and_then(|item| item.reason.clone())
    }

    /// The tweets that the page says were missed.
    pub fn missed(&self) -> Vec<u64> {
        let missed = json!({ "type": "missed" });
        let items = self.data.iter();
        let items = items.filter(|item| item.reason.as_ref() == Some(&missed));
        items.map(|item| item.tweet.id).collect()
    }
}

impl HomePage {
    /// What holds on every page at any moment.
    pub(crate) fn check(&self, limit: usize) {
        assert!(
            self.data.len() <= limit,
            "a page of {} tweets, but {limit} were asked for",
            self.data.len()
        );
        let mut pairs = self.data.windows(2);
        assert!(
            pairs.all(|pair| pair[0].shown_at() >= pair[1].shown_at()),
            "a page is not newest first: {:?}",
            self.data
        );
        let own = self.data.iter().filter(|tweet| tweet.reposted_by.is_none());
        let own: Vec<u64> = own.map(|tweet| tweet.id).collect();
        assert!(
            own.is_sorted_by(|a, b| a > b),
            "a page is not newest first, or has a duplicate: {own:?}"
        );
        let different: BTreeSet<_> = shown(&self.data).into_iter().collect();
        assert_eq!(different.len(), self.data.len(), "a repost is shown twice");
        assert_eq!(self.meta.result_count, self.data.len(), "result_count");
        for (name, position, tweet) in [
            ("newest_id", self.meta.newest_id, self.data.first()),
            ("oldest_id", self.meta.oldest_id, self.data.last()),
        ] {
            let fits = match (position, tweet) {
                (Some(position), Some(tweet)) => tweet.fits(position),
                (None, None) => true,
                _ => false,
            };
            assert!(fits, "{name} {position:?} of {tweet:?}");
        }
        let authors = self.data.iter().map(|tweet| tweet.author_id);
        let reposters = self.data.iter().filter_map(Tweet::reposter);
        let people: BTreeSet<_> = authors.chain(reposters).collect();
        let included: BTreeSet<_> = self.includes.users.iter().map(|user| user.id).collect();
        assert_eq!(
            included, people,
            "includes.users are not the authors and reposters on the page"
        );
        assert_eq!(
            included.len(),
            self.includes.users.len(),
            "somebody is included twice"
        );
    }

    pub fn has(&self, tweet: &Tweet) -> bool {
        self.data.iter().any(|other| other.id == tweet.id)
    }
}

pub fn newest_first(mut tweets: Vec<Tweet>) -> Vec<Tweet> {
    tweets.sort_by_key(|tweet| std::cmp::Reverse(tweet.id));
    tweets
}

/// What a page shows: the tweets, and by whom they were passed on if that is why they are there.
pub fn shown(tweets: &[Tweet]) -> Vec<(u64, Option<u64>)> {
    let shown = tweets.iter().map(|tweet| (tweet.id, tweet.reposter()));
    shown.collect()
}

pub fn ids(tweets: &[Tweet]) -> Vec<u64> {
    tweets.iter().map(|tweet| tweet.id).collect()
}

/// Compares a timeline with what it should be, and says what is wrong in a line.
pub fn expect_timeline(actual: &[Tweet], expected: &[u64]) -> Result<(), String> {
    let actual = ids(actual);
    if actual == expected {
        return Ok(());
    }
    let mut seen = BTreeMap::new();
    for id in &actual {
        *seen.entry(*id).or_insert(0) += 1;
    }
    let some = |all: Vec<u64>| format!("{} {:?}", all.len(), &all[..all.len().min(5)]);
    Err(format!(
        "{} tweets, but {} were expected; missing: {}; not expected: {}; twice: {}{}",
        actual.len(),
        expected.len(),
        some(
            expected
                .iter()
                .copied()
                .filter(|id| !seen.contains_key(id))
                .collect()
        ),
        some(
            seen.keys()
                .copied()
                .filter(|id| !expected.contains(id))
                .collect()
        ),
        some(
            seen.iter()
                .filter(|(_, times)| **times > 1)
                .map(|(id, _)| *id)
                .collect()
        ),
        // Reposts are not in the order of the tweets.
        if actual.is_sorted_by(|a, b| a > b) || !expected.is_sorted_by(|a, b| a > b) {
            ""
        } else {
            "; out of order"
        },
    ))
}
