//! The `tweets` table, keyed by author so that an author's newest tweets can be read consistently.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{Put, ReturnValue, TransactWriteItem};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::dynamo::{self, Item, failed, from_item, number, string, to_item};
use crate::domain::{Entry, Tweet, TweetId, TweetText, UserId};
use crate::runtime::aws::Aws;
use crate::runtime::config::Config;
use crate::{Result, runtime};

/// How long an idempotency key is remembered.
const IDEMPOTENCY_SECONDS: u64 = 24 * 3600;

#[derive(Clone)]
pub struct Tweets {
    client: Client,
    table: String,
    ledger: String,
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
    /// The item of the ledger that remembers this tweet's idempotency key, where it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ledger_pk: Option<String>,
}

/// `idem#<user>#<key>`: which tweet an idempotency key made, and a digest of its text. Not the text: a tweet that is
/// deleted must be gone.
#[derive(Serialize, Deserialize)]
struct IdempotencyRow {
    pk: String,
    tweet_id: u64,
    digest: String,
    expires_at: u64,
}

/// A tweet on its way out, with everything that remembers it.
#[derive(Clone, Debug, Deserialize)]
pub struct Remains {
    #[serde(flatten)]
    key: TweetKey,
    ledger_pk: Option<String>,
}

impl Remains {
    pub const fn entry(&self) -> Entry {
        self.key.entry()
    }
}

/// What came of storing a tweet.
pub enum Stored {
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
        Self::new(entry.tweet, entry.author, row.text)
    }
}

impl Tweets {
    pub fn new(aws: &Aws, config: &Config) -> Result<Self> {
        Ok(Self {
            client: aws.dynamodb(),
            table: config.tweets_table()?.to_owned(),
            ledger: config.ledger_table()?.to_owned(),
        })
    }

    pub async fn store(&self, tweet: &Tweet) -> Result<Stored> {
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(to_item(&row(tweet, None))?))
            .condition_expression("attribute_not_exists(tweet_id)");
        match put.send().await {
            Ok(_) => Ok(Stored::New),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(PutItemError::is_conditional_check_failed_exception) =>
            {
                Ok(Stored::Refused)
            }
            Err(error) => Err(failed("PutItem")(error)),
        }
    }

    /// Stores the tweet together with its idempotency key, or says what the key stored before.
    pub async fn store_once(&self, tweet: &Tweet, key: &str) -> Result<Stored> {
        let idempotency = IdempotencyRow {
            pk: format!("idem#{}#{key}", tweet.author_id),
            tweet_id: tweet.id.get(),
            digest: digest(&tweet.text),
            expires_at: runtime::now_millis() / 1_000 + IDEMPOTENCY_SECONDS,
        };
        // DynamoDB forgets expired items late, so expiry is part of the condition.
        let remember = Put::builder()
            .table_name(&self.ledger)
            .set_item(Some(to_item(&idempotency)?))
            .condition_expression("attribute_not_exists(pk) OR expires_at < :now")
            .expression_attribute_values(":now", number(runtime::now_millis() / 1_000))
            .build()
            .map_err(failed("TransactWriteItems"))?;
        let put = Put::builder()
            .table_name(&self.table)
            .set_item(Some(to_item(&row(tweet, Some(idempotency.pk.clone())))?))
            .condition_expression("attribute_not_exists(tweet_id)")
            .build()
            .map_err(failed("TransactWriteItems"))?;
        let writes = [remember, put].map(|put| TransactWriteItem::builder().put(put).build());
        let answer = self
            .client
            .transact_write_items()
            .set_transact_items(Some(writes.to_vec()))
            .send()
            .await;
        let Err(error) = answer else {
            return Ok(Stored::New);
        };
        if dynamo::cancellation(&error).is_none() {
            return Err(failed("TransactWriteItems")(error));
        }
        // Where the key is not known, the id was taken, or two requests met and both were refused.
        Ok(match self.stored_before(idempotency.pk).await? {
            None => Stored::Refused,
            Some(before) if before.digest == idempotency.digest => {
                let id = TweetId::new(before.tweet_id);
                Stored::Before(Tweet::new(id, tweet.author_id, tweet.text.clone()))
            }
            Some(_) => Stored::KeyReused,
        })
    }

    async fn stored_before(&self, pk: String) -> Result<Option<IdempotencyRow>> {
        let request = self
            .client
            .get_item()
            .table_name(&self.ledger)
            .key("pk", string(pk))
            .consistent_read(true);
        let item = request.send().await.map_err(failed("GetItem"))?.item;
        item.map(|item| from_item("an idempotency key", item))
            .transpose()
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
        let items = self
            .query(author, above, below, limit, "author_id, tweet_id, #text")
            .await?;
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
        let items = self
            .query(author, above, below, limit, "author_id, tweet_id")
            .await?;
        items
            .into_iter()
            .map(|item| from_item::<TweetKey>("a tweet key", item).map(TweetKey::entry))
            .collect()
    }

    async fn query(
        &self,
        author: UserId,
        above: TweetId,
        below: TweetId,
        limit: usize,
        attributes: &str,
    ) -> Result<Vec<Item>> {
        let Some(last) = below
            .get()
            .checked_sub(1)
            .filter(|last| *last > above.get())
        else {
            return Ok(Vec::new());
        };
        let mut found: Vec<Item> = Vec::new();
        let mut start = None;
        // A page ends after 1 MB even where the limit is not reached.
        while found.len() < limit {
            let mut query = self
                .client
                .query()
                .table_name(&self.table)
                .key_condition_expression(
                    "author_id = :author AND tweet_id BETWEEN :first AND :last",
                )
                .expression_attribute_values(":author", number(author.get()))
                .expression_attribute_values(":first", number(above.get() + 1))
                .expression_attribute_values(":last", number(last))
                .projection_expression(attributes)
                .scan_index_forward(false)
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

    /// The author's oldest tweets above an id, oldest first.
    pub async fn oldest_entries(
        &self,
        author: UserId,
        above: TweetId,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let answer = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("author_id = :author AND tweet_id > :above")
            .expression_attribute_values(":author", number(author.get()))
            .expression_attribute_values(":above", number(above.get()))
            .projection_expression("author_id, tweet_id")
            .consistent_read(true)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(failed("Query"))?;
        let items = answer.items.unwrap_or_default();
        items
            .into_iter()
            .map(|item| from_item::<TweetKey>("a tweet key", item).map(TweetKey::entry))
            .collect()
    }

    /// Some of an author's tweets, for [`Self::erase`].
    pub async fn remains(&self, author: UserId, limit: usize) -> Result<Vec<Remains>> {
        let attributes = "author_id, tweet_id, ledger_pk";
        let items = self
            .query(author, OLDEST, NEWEST, limit, attributes)
            .await?;
        items
            .into_iter()
            .map(|item| from_item("a tweet's key", item))
            .collect()
    }

    /// Deletes tweets and what the ledger remembers of them.
    pub async fn erase(&self, tweets: &[Remains]) -> Result<()> {
        let mut deletes = Vec::new();
        for tweet in tweets {
            deletes.push((self.table.clone(), to_item(&tweet.key)?));
            if let Some(pk) = &tweet.ledger_pk {
                let key = Item::from([("pk".to_owned(), string(pk))]);
                deletes.push((self.ledger.clone(), key));
            }
        }
        dynamo::delete_many(&self.client, deletes).await
    }

    /// Deletes the author's tweet with this id, and says whether there was one.
    pub async fn delete(&self, entry: Entry) -> Result<bool> {
        let answer = self
            .client
            .delete_item()
            .table_name(&self.table)
            .set_key(Some(to_item(&TweetKey::from(entry))?))
            .return_values(ReturnValue::AllOld)
            .send()
            .await
            .map_err(failed("DeleteItem"))?;
        Ok(answer.attributes.is_some())
    }
}

fn row(tweet: &Tweet, ledger_pk: Option<String>) -> TweetRow {
    TweetRow {
        key: Entry::new(tweet.id, tweet.author_id).into(),
        text: tweet.text.clone(),
        ledger_pk,
    }
}

fn digest(text: &TweetText) -> String {
    let digest = Sha256::digest(text.as_str().as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// For callers that read from the newest or down to the oldest.
pub const NEWEST: TweetId = TweetId::new((1 << 63) - 1);
pub const OLDEST: TweetId = TweetId::new(0);
