//! The `tweets` table, keyed by author so that an author's newest tweets can be read consistently.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{ReturnValue, ReturnValuesOnConditionCheckFailure};
use serde::{Deserialize, Serialize};

use super::dynamo::{self, Item, failed, from_item, number, to_item};
use crate::domain::{Entry, Medium, ReactionCounts, Tweet, TweetId, TweetText, UserId};
use crate::platform::Roost;
use crate::{Error, Result};

/// How often a delete is tried while the tweet's reactions are being counted.
const ATTEMPTS: u32 = 6;

#[derive(Clone)]
pub struct Tweets {
    client: Client,
    table: String,
}

/// The key of a tweet, and of the stream's records.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TweetKey {
    author_id: u64,
    tweet_id: u64,
}

#[derive(Serialize, Deserialize)]
struct TweetRow {
    #[serde(flatten)]
    key: TweetKey,
    text: TweetText,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    media: Vec<Medium>,
    /// The item of the ledger that holds this tweet's idempotency key, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ledger_pk: Option<String>,
    /// Absent from a tweet that nobody ever liked.
    #[serde(flatten, skip_serializing)]
    counts: CountColumns,
}

/// The attributes that count reactions to a tweet. Only [`super::ReactionCounters`] writes them.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct CountColumns {
    /// Below zero for a moment if a failed batch is processed again.
    #[serde(default)]
    like_count: i64,
    #[serde(default)]
    count_version: u64,
}

impl From<CountColumns> for ReactionCounts {
    fn from(columns: CountColumns) -> Self {
        Self {
            like_count: u64::try_from(columns.like_count).unwrap_or(0),
            version: columns.count_version,
        }
    }
}

/// A tweet on its way out, with everything that remembers it.
#[derive(Clone, Debug, Deserialize)]
pub struct Remains {
    #[serde(flatten)]
    key: TweetKey,
    /// The idempotency key that made it.
    pub(super) ledger_pk: Option<String>,
}

impl Remains {
    pub const fn entry(&self) -> Entry {
        self.key.entry()
    }
}

/// What came of storing a tweet.
pub enum Stored {
    /// It was stored, perhaps by an earlier attempt of the same request whose answer was lost.
    New,
    /// The id is in use, or another request was in the way: try again with another id.
    Refused,
    /// The idempotency key was used before, with this result.
    Before(Tweet),
    /// The idempotency key was used before, with another text.
    KeyReused,
}

impl TweetKey {
    pub const fn entry(self) -> Entry {
        Entry::new(TweetId::new(self.tweet_id), UserId::new(self.author_id))
    }
}

impl From<Entry> for TweetKey {
    fn from(entry: Entry) -> Self {
        Self {
            author_id: entry.author.get(),
            tweet_id: entry.tweet.get(),
        }
    }
}

impl From<TweetRow> for Tweet {
    fn from(row: TweetRow) -> Self {
        let entry = row.key.entry();
        Self {
            counts: row.counts.into(),
            ..Self::new(entry.tweet, entry.author, row.text).with_media(row.media)
        }
    }
}

impl Tweets {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.tweets_table()?.to_owned(),
        })
    }

    pub async fn store(&self, tweet: &Tweet) -> Result<Stored> {
        let item = item(tweet, None)?;
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item.clone()))
            .condition_expression("attribute_not_exists(tweet_id)")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let Err(error) = put.send().await else {
            return Ok(Stored::New);
        };
        match error.as_service_error() {
            // The SDK asks again if an answer is lost. If it is this very tweet that stands in the way, the first
            // attempt has stored it.
            Some(PutItemError::ConditionalCheckFailedException(refusal)) => {
                let same = |stored: &Item| {
                    item.iter()
                        .all(|(name, value)| stored.get(name) == Some(value))
                };
                Ok(if refusal.item().is_some_and(same) {
                    Stored::New
                } else {
                    Stored::Refused
                })
            }
            _ => Err(failed("PutItem")(error)),
        }
    }

    /// The author's tweet with this id.
    pub async fn find(&self, entry: Entry) -> Result<Option<Tweet>> {
        let key = to_item(&TweetKey::from(entry))?;
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(key))
            .consistent_read(true);
        let item = request.send().await.map_err(failed("GetItem"))?.item;
        item.map(|item| from_item::<TweetRow>("a tweet", item).map(Tweet::from))
            .transpose()
    }

    /// Whose tweet this is. The index lags behind the table by a moment.
    pub async fn author_of(&self, tweet: TweetId) -> Result<Option<UserId>> {
        let answer = self
            .client
            .query()
            .table_name(&self.table)
            .index_name("by_id")
            .key_condition_expression("tweet_id = :id")
            .expression_attribute_values(":id", number(tweet.get()))
            .limit(1)
            .send()
            .await
            .map_err(failed("Query"))?;
        let key: Option<TweetKey> = answer
            .items
            .unwrap_or_default()
            .pop()
            .map(|item| from_item("a tweet key", item))
            .transpose()?;
        Ok(key.map(|key| key.entry().author))
    }

    /// The tweets behind these entries, in no order; deleted ones are left out.
    pub async fn get_many(&self, entries: &[Entry]) -> Result<Vec<Tweet>> {
        let keys: Result<Vec<Item>> = entries
            .iter()
            .map(|entry| to_item(&TweetKey::from(*entry)))
            .collect();
        let items = dynamo::get_many(&self.client, &self.table, keys?, true).await?;
        items
            .into_iter()
            .map(|item| from_item::<TweetRow>("a tweet", item).map(Tweet::from))
            .collect()
    }

    /// The author's tweets with ids in `(above, below)`, newest first.
    pub async fn newest(
        &self,
        author: UserId,
        above: TweetId,
        below: TweetId,
        limit: usize,
    ) -> Result<Vec<Tweet>> {
        let range = Range::new(author, above, below);
        let attributes = "author_id, tweet_id, #text, media, like_count, count_version";
        let items = self.query(range.newest_first(), limit, attributes).await?;
        items
            .into_iter()
            .map(|item| from_item::<TweetRow>("a tweet", item).map(Tweet::from))
            .collect()
    }

    /// Like [`Self::newest`], but only which tweets there are.
    pub async fn newest_entries(
        &self,
        author: UserId,
        above: TweetId,
        below: TweetId,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let range = Range::new(author, above, below);
        self.entries(range.newest_first(), limit).await
    }

    /// The author's oldest tweets above an id, oldest first.
    pub async fn oldest_entries(
        &self,
        author: UserId,
        above: TweetId,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        self.entries(Range::new(author, above, NEWEST), limit).await
    }

    async fn entries(&self, range: Range, limit: usize) -> Result<Vec<Entry>> {
        let items = self.query(range, limit, "author_id, tweet_id").await?;
        items
            .into_iter()
            .map(|item| from_item::<TweetKey>("a tweet key", item).map(TweetKey::entry))
            .collect()
    }

    async fn query(&self, range: Range, limit: usize, attributes: &str) -> Result<Vec<Item>> {
        if range.first > range.last {
            return Ok(Vec::new());
        }
        let mut found: Vec<Item> = Vec::new();
        let mut start = None;
        // A page ends after 1 MB, even if the limit is not reached.
        while found.len() < limit {
            let mut query = self
                .client
                .query()
                .table_name(&self.table)
                .key_condition_expression(
                    "author_id = :author AND tweet_id BETWEEN :first AND :last",
                )
                .expression_attribute_values(":author", number(range.author.get()))
                .expression_attribute_values(":first", number(range.first))
                .expression_attribute_values(":last", number(range.last))
                .projection_expression(attributes)
                .scan_index_forward(range.oldest_first)
                .consistent_read(true)
                .limit(i32::try_from(limit - found.len()).unwrap_or(i32::MAX))
                .set_exclusive_start_key(start);
            if attributes.contains("#text") {
                query = query.expression_attribute_names("#text", "text");
            }
            let answer = query.send().await.map_err(failed("Query"))?;
            found.extend(answer.items.unwrap_or_default());
            start = answer.last_evaluated_key;
            if start.is_none() {
                break;
            }
        }
        Ok(found)
    }

    /// Some of an author's tweets, on their way out.
    pub async fn remains(&self, author: UserId, limit: usize) -> Result<Vec<Remains>> {
        let (range, attributes) = (
            Range::new(author, OLDEST, NEWEST),
            "author_id, tweet_id, ledger_pk",
        );
        let items = self.query(range.newest_first(), limit, attributes).await?;
        items
            .into_iter()
            .map(|item| from_item("a tweet's key", item))
            .collect()
    }

    pub async fn erase(&self, tweets: &[Remains]) -> Result<()> {
        let mut deletes = Vec::with_capacity(tweets.len());
        for tweet in tweets {
            deletes.push((self.table.clone(), to_item(&tweet.key)?));
        }
        dynamo::delete_many(&self.client, deletes).await
    }

    /// Deletes the author's tweet with this id, and says whether there was one.
    pub async fn delete(&self, entry: Entry) -> Result<bool> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.table)
            .set_key(Some(to_item(&TweetKey::from(entry))?))
            .return_values(ReturnValue::AllOld);
        for attempt in 0..ATTEMPTS {
            dynamo::back_off(attempt).await;
            match delete.clone().send().await {
                Ok(answer) => return Ok(answer.attributes.is_some()),
                // Its reactions are being counted.
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(DeleteItemError::is_transaction_conflict_exception) => {}
                Err(error) => return Err(failed("DeleteItem")(error)),
            }
        }
        Err(Error::GaveUp("deleting a tweet"))
    }

    /// How often others reacted to these tweets; deleted ones are left out.
    pub async fn counts(&self, entries: &[Entry]) -> Result<Vec<(TweetId, ReactionCounts)>> {
        let tweets = self.get_many(entries).await?;
        let counts = tweets.into_iter().map(|tweet| (tweet.id, tweet.counts));
        Ok(counts.collect())
    }
}

/// Tweets of one author, and from which end they are read.
#[derive(Clone, Copy)]
struct Range {
    author: UserId,
    first: u64,
    last: u64,
    oldest_first: bool,
}

impl Range {
    /// Ids in `(above, below)`, oldest first.
    const fn new(author: UserId, above: TweetId, below: TweetId) -> Self {
        Self {
            author,
            first: above.get().saturating_add(1),
            last: below.get().saturating_sub(1),
            oldest_first: true,
        }
    }

    const fn newest_first(self) -> Self {
        Self {
            oldest_first: false,
            ..self
        }
    }
}

/// The tweet as the table keeps it.
pub(super) fn item(tweet: &Tweet, ledger_pk: Option<String>) -> Result<Item> {
    to_item(&TweetRow {
        key: Entry::new(tweet.id, tweet.author_id).into(),
        text: tweet.text.clone(),
        media: tweet.media.clone(),
        ledger_pk,
        counts: CountColumns {
            like_count: 0,
            count_version: 0,
        },
    })
}

/// For callers that read from the newest or down to the oldest.
pub const NEWEST: TweetId = TweetId::new((1 << 63) - 1);
pub const OLDEST: TweetId = TweetId::new(0);
