//! What the table keeps of a tweet or a repost, and under which key.

use serde::{Deserialize, Serialize};

use super::super::dynamo::{Item, from_item, to_item};
use crate::domain::{
    Entry, Kind, Medium, ReactionCounts, Tweet, TweetId, TweetRef, TweetText, UserId,
};
use crate::{Error, Result};

/// The key of a tweet, and of the stream's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TweetKey {
    /// Below zero for a reply to somebody else.
    author_id: i64,
    tweet_id: u64,
}

/// What stands at a place in an author's timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Post {
    Tweet(Tweet),
    Repost(Entry),
}

#[derive(Serialize, Deserialize)]
struct TweetRow {
    #[serde(flatten)]
    key: TweetKey,
    /// Absent from a repost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<TweetText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<TweetKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repost_of: Option<TweetKey>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    media: Vec<Medium>,
    /// The item of the ledger that holds this tweet's idempotency key, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ledger_pk: Option<String>,
    /// Absent from a tweet that nobody ever liked.
    #[serde(flatten, skip_serializing)]
    counts: CountColumns,
}

/// What an entry of a timeline is made of.
#[derive(Deserialize)]
pub(super) struct EntryRow {
    #[serde(flatten)]
    key: TweetKey,
    repost_of: Option<TweetKey>,
}

/// The attributes that count reactions to a tweet. Only [`crate::stores::ReactionCounters`] and reconciliation change them. A count is below zero for
/// a moment if a failed batch is processed again.
#[derive(Clone, Copy, Default, Deserialize)]
struct CountColumns {
    #[serde(default)]
    like_count: i64,
    #[serde(default)]
    reply_count: i64,
    #[serde(default)]
    repost_count: i64,
    #[serde(default)]
    count_version: u64,
}

impl From<CountColumns> for ReactionCounts {
    fn from(columns: CountColumns) -> Self {
        let shown = |count: i64| u64::try_from(count).unwrap_or(0);
        Self {
            like_count: shown(columns.like_count),
            reply_count: shown(columns.reply_count),
            repost_count: shown(columns.repost_count),
            version: columns.count_version,
        }
    }
}

/// A tweet on its way out, with everything that remembers it.
#[derive(Clone, Debug, Deserialize)]
pub struct Remains {
    #[serde(flatten)]
    pub(super) key: TweetKey,
    /// The idempotency key that made it.
    pub(in crate::stores) ledger_pk: Option<String>,
}

impl EntryRow {
    pub(super) fn entry(self) -> Entry {
        let entry = self.key.entry();
        match self.repost_of {
            Some(original) => entry.reposting(original.reference()),
            None => entry,
        }
    }
}

impl Remains {
    pub const fn entry(&self) -> Entry {
        self.key.entry()
    }
}

impl TweetKey {
    pub(in crate::stores) const fn new(author_id: i64, tweet: TweetId) -> Self {
        Self {
            author_id,
            tweet_id: tweet.get(),
        }
    }

    pub const fn entry(self) -> Entry {
        self.reference().entry()
    }

    pub const fn reference(self) -> TweetRef {
        TweetRef {
            tweet_id: TweetId::new(self.tweet_id),
            author_id: UserId::new(self.author_id.unsigned_abs()),
            is_reply: self.author_id < 0,
        }
    }

    /// The author's id as it stands in the key.
    pub(in crate::stores) const fn author_id(self) -> i64 {
        self.author_id
    }
}

impl From<Entry> for TweetKey {
    fn from(entry: Entry) -> Self {
        Self {
            author_id: shelf(entry.author, entry.kind),
            tweet_id: entry.tweet.get(),
        }
    }
}

impl From<TweetRef> for TweetKey {
    fn from(tweet: TweetRef) -> Self {
        tweet.entry().into()
    }
}

/// The partition in which an author's tweets of one kind are kept. Ids leave the top bit free.
pub(super) fn shelf(author: UserId, kind: Kind) -> i64 {
    let author = author.get().cast_signed();
    match kind {
        Kind::Tweet | Kind::Repost(_) => author,
        Kind::Reply => -author,
    }
}

impl TweetRow {
    fn post(self) -> Result<Post> {
        let entry = self.key.entry();
        if let Some(original) = self.repost_of {
            return Ok(Post::Repost(entry.reposting(original.reference())));
        }
        let text = self
            .text
            .ok_or_else(|| Error::unreadable("a tweet")("it has no text".to_owned()))?;
        let tweet = Tweet::new(entry.tweet, entry.author, text)
            .with_media(self.media)
            .replying_to(self.in_reply_to.map(TweetKey::reference));
        Ok(Post::Tweet(Tweet {
            counts: self.counts.into(),
            ..tweet
        }))
    }
}

impl Post {
    pub(super) fn from_item(item: Item) -> Result<Self> {
        from_item::<TweetRow>("a tweet", item)?.post()
    }

    pub fn tweet(self) -> Option<Tweet> {
        match self {
            Self::Tweet(tweet) => Some(tweet),
            Self::Repost(_) => None,
        }
    }

    /// Where it stands.
    pub fn entry(&self) -> Entry {
        match self {
            Self::Tweet(tweet) => tweet.entry(),
            Self::Repost(entry) => *entry,
        }
    }
}

/// The tweet as the table keeps it.
pub(in crate::stores) fn item(tweet: &Tweet, ledger_pk: Option<String>) -> Result<Item> {
    to_item(&TweetRow {
        key: tweet.entry().into(),
        text: Some(tweet.text.clone()),
        in_reply_to: tweet.in_reply_to.map(TweetKey::from),
        repost_of: None,
        media: tweet.media.clone(),
        ledger_pk,
        counts: CountColumns::default(),
    })
}

/// The repost as the table keeps it.
pub(super) fn repost_item(repost: Entry) -> Result<Item> {
    to_item(&TweetRow {
        key: repost.into(),
        text: None,
        in_reply_to: None,
        repost_of: repost.repost_of().map(TweetKey::from),
        media: Vec::new(),
        ledger_pk: None,
        counts: CountColumns::default(),
    })
}
