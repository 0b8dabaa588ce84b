//! The `tweets` table, keyed by author so that an author's newest tweets can be read consistently.
//!
//! Reposts stand among the tweets of the one who reposts, because they go the same ways. Replies to others stand apart,
//! under the author's id with a minus sign: no home timeline wants them, and somebody may write any number of them. A query
//! that had to skip them would cost that author's followers more with each.

mod row;

use std::collections::BTreeSet;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{
    Delete, Put, ReturnValue, ReturnValuesOnConditionCheckFailure, TransactWriteItem,
};

pub(super) use self::row::item;
use self::row::{EntryRow, repost_item, shelf};
pub use self::row::{Post, Remains, TweetKey};
use super::dynamo::{self, Item, failed, from_item, number, signed, to_item};
use crate::domain::{Entry, Kind, ReactionCounts, Tweet, TweetId, UserId};
use crate::platform::Roost;
use crate::{Error, Result};

/// How often a delete is tried while the tweet's reactions are being counted.
const ATTEMPTS: u32 = 6;

#[derive(Clone)]
pub struct Tweets {
    client: Client,
    table: String,
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

    /// For the transaction that makes a repost.
    pub(super) fn put_repost(&self, repost: Entry) -> Result<TransactWriteItem> {
        let put = Put::builder()
            .table_name(&self.table)
            .set_item(Some(repost_item(repost)?))
            .condition_expression("attribute_not_exists(tweet_id)")
            .build()
            .map_err(failed("TransactWriteItems"))?;
        Ok(TransactWriteItem::builder().put(put).build())
    }

    /// For the transaction that takes a repost back.
    pub(super) fn delete_repost(&self, repost: Entry) -> Result<TransactWriteItem> {
        let delete = Delete::builder()
            .table_name(&self.table)
            .set_key(Some(to_item(&TweetKey::from(repost))?))
            .build()
            .map_err(failed("TransactWriteItems"))?;
        Ok(TransactWriteItem::builder().delete(delete).build())
    }

    /// The tweet with this id. A repost is none.
    pub async fn find(&self, entry: Entry) -> Result<Option<Tweet>> {
        Ok(self.find_post(entry).await?.and_then(Post::tweet))
    }

    /// What the author has posted under this id.
    pub async fn find_post(&self, entry: Entry) -> Result<Option<Post>> {
        let key = to_item(&TweetKey::from(entry))?;
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(key))
            .consistent_read(true);
        let item = request.send().await.map_err(failed("GetItem"))?.item;
        item.map(Post::from_item).transpose()
    }

    /// The places at which the tweet or repost with this id may stand: the one that the index knows, or else, because the
    /// index lags behind the table by a moment, those at which `me` may just have posted it.
    pub async fn places_of(&self, tweet: TweetId, me: UserId) -> Result<Vec<Entry>> {
        let known = self.place_of(tweet).await?;
        let own = Entry::new(tweet, me);
        let reply = Entry {
            kind: Kind::Reply,
            ..own
        };
        Ok(known.map_or_else(|| vec![own, reply], |place| vec![place]))
    }

    /// Whose this is, and on which shelf. The index lags behind the table by a moment.
    pub async fn place_of(&self, tweet: TweetId) -> Result<Option<Entry>> {
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
        Ok(key.map(TweetKey::entry))
    }

    /// The tweets behind these entries, in no order; deleted ones and reposts are left out.
    pub async fn get_many(&self, entries: &[Entry]) -> Result<Vec<Tweet>> {
        let posts = self.posts(entries).await?.into_iter();
        Ok(posts.filter_map(Post::tweet).collect())
    }

    /// What stands at these places, in no order; what is not there is left out.
    pub async fn posts(&self, places: &[Entry]) -> Result<Vec<Post>> {
        // A batch must not name an item twice.
        let keys: BTreeSet<TweetKey> = places.iter().copied().map(TweetKey::from).collect();
        let keys: Result<Vec<Item>> = keys.iter().map(to_item).collect();
        let items = dynamo::get_many(&self.client, &self.table, keys?, true).await?;
        items.into_iter().map(Post::from_item).collect()
    }

    /// What the author posted with ids below `below`, newest first: tweets and reposts. Replies to others are a kind of
    /// their own.
    pub async fn newest(
        &self,
        author: UserId,
        replies: bool,
        below: TweetId,
        limit: usize,
    ) -> Result<Vec<Post>> {
        let range = Range {
            partition: shelf(author, if replies { Kind::Reply } else { Kind::Tweet }),
            ..Range::new(author, OLDEST, below)
        };
        let attributes = "author_id, tweet_id, #text, media, in_reply_to, repost_of, like_count, \
             reply_count, repost_count, count_version";
        let items = self.query(range.newest_first(), limit, attributes).await?;
        items.into_iter().map(Post::from_item).collect()
    }

    /// The author's tweets and reposts with ids in `(above, below)`, newest first.
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

    /// The author's oldest tweets and reposts above an id, oldest first.
    pub async fn oldest_entries(
        &self,
        author: UserId,
        above: TweetId,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        self.entries(Range::new(author, above, NEWEST), limit).await
    }

    async fn entries(&self, range: Range, limit: usize) -> Result<Vec<Entry>> {
        let attributes = "author_id, tweet_id, repost_of";
        let items = self.query(range, limit, attributes).await?;
        let rows = items
            .into_iter()
            .map(|item| from_item::<EntryRow>("an entry", item));
        rows.map(|row| row.map(EntryRow::entry)).collect()
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
                .expression_attribute_values(":author", signed(range.partition))
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

    /// Some of what an author has posted, on its way out. None if nothing is left.
    pub async fn remains(&self, author: UserId, limit: usize) -> Result<Vec<Remains>> {
        let attributes = "author_id, tweet_id, ledger_pk";
        for kind in [Kind::Tweet, Kind::Reply] {
            let range = Range {
                partition: shelf(author, kind),
                ..Range::new(author, OLDEST, NEWEST)
            };
            let items = self.query(range.newest_first(), limit, attributes).await?;
            if !items.is_empty() {
                let items = items.into_iter();
                return items.map(|item| from_item("a tweet's key", item)).collect();
            }
        }
        Ok(Vec::new())
    }

    /// Removes reposts whose original is gone.
    pub async fn erase_reposts(&self, reposts: &[Entry]) -> Result<()> {
        let mut deletes = Vec::with_capacity(reposts.len());
        for repost in reposts {
            deletes.push((self.table.clone(), to_item(&TweetKey::from(*repost))?));
        }
        dynamo::delete_many(&self.client, deletes).await
    }

    pub async fn erase(&self, tweets: &[Remains]) -> Result<()> {
        let mut deletes = Vec::with_capacity(tweets.len());
        for tweet in tweets {
            deletes.push((self.table.clone(), to_item(&tweet.key)?));
        }
        dynamo::delete_many(&self.client, deletes).await
    }

    /// Deletes the tweet at this place, and says whether there was one. A repost is no tweet, and stays.
    pub async fn delete(&self, entry: Entry) -> Result<bool> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.table)
            .set_key(Some(to_item(&TweetKey::from(entry))?))
            .condition_expression("attribute_not_exists(repost_of)")
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
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(DeleteItemError::is_conditional_check_failed_exception) =>
                {
                    return Ok(false);
                }
                Err(error) => return Err(failed("DeleteItem")(error)),
            }
        }
        Err(Error::GaveUp("deleting a tweet"))
    }

    /// Puts a tweet's counts right, if they are wrong and have not changed since the version that `right` names. Says
    /// whether it did.
    pub async fn set_counts(&self, tweet: Entry, right: ReactionCounts) -> Result<bool> {
        let update = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(to_item(&TweetKey::from(tweet))?))
            .update_expression(
                "SET like_count = :likes, reply_count = :replies, repost_count = :reposts \
                 ADD count_version :one",
            )
            .condition_expression(
                "count_version = :version AND \
                 (like_count <> :likes OR reply_count <> :replies OR repost_count <> :reposts)",
            )
            .expression_attribute_values(":likes", number(right.like_count))
            .expression_attribute_values(":replies", number(right.reply_count))
            .expression_attribute_values(":reposts", number(right.repost_count))
            .expression_attribute_values(":version", number(right.version))
            .expression_attribute_values(":one", number(1));
        match update.send().await {
            Ok(_) => Ok(true),
            Err(error)
                if error.as_service_error().is_some_and(|error| {
                    error.is_conditional_check_failed_exception()
                        || error.is_transaction_conflict_exception()
                }) =>
            {
                Ok(false)
            }
            Err(error) => Err(failed("UpdateItem")(error)),
        }
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
    partition: i64,
    first: u64,
    last: u64,
    oldest_first: bool,
}

impl Range {
    /// Ids in `(above, below)`, oldest first.
    fn new(author: UserId, above: TweetId, below: TweetId) -> Self {
        Self {
            partition: shelf(author, Kind::Tweet),
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

/// For callers that read from the newest or down to the oldest.
pub const NEWEST: TweetId = TweetId::new((1 << 63) - 1);
pub const OLDEST: TweetId = TweetId::new(0);
