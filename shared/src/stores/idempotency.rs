//! Idempotency keys: items `idem#<user>#<key>` of the `ledger` table.
//!
//! A tweet and its key are stored in one transaction, so a key leads to exactly one tweet. The item holds a digest of
//! the body and not the text: if a tweet is deleted, nothing of it may stay.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::dynamo::{self, Item, failed, from_item, number, string, to_item};
use super::tweets::{self, Remains, Stored};
use crate::Result;
use crate::domain::{Tweet, TweetId};
use crate::platform::{Roost, now_millis};

/// How long a key is remembered.
const SECONDS: u64 = 24 * 3600;

#[derive(Clone)]
pub struct IdempotencyKeys {
    client: Client,
    ledger: String,
    tweets: String,
}

#[derive(Serialize, Deserialize)]
struct KeyRow {
    pk: String,
    /// The tweet that this key made.
    tweet_id: u64,
    /// Of its text, its media and what it replies to.
    digest: String,
    expires_at: u64,
}

impl IdempotencyKeys {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            ledger: roost.config.ledger_table()?.to_owned(),
            tweets: roost.config.tweets_table()?.to_owned(),
        })
    }

    /// Stores the tweet together with its key, or says what the key stored before.
    pub async fn store_once(&self, tweet: &Tweet, key: &str) -> Result<Stored> {
        let now = now_millis() / 1_000;
        let row = KeyRow {
            pk: key_of(tweet, key),
            tweet_id: tweet.id.get(),
            digest: digest(tweet),
            expires_at: now + SECONDS,
        };
        // DynamoDB removes expired items late, so expiry is part of the condition.
        let remember = Put::builder()
            .table_name(&self.ledger)
            .set_item(Some(to_item(&row)?))
            .condition_expression("attribute_not_exists(pk) OR expires_at < :now")
            .expression_attribute_values(":now", number(now))
            .build()
            .map_err(failed("TransactWriteItems"))?;
        let store = Put::builder()
            .table_name(&self.tweets)
            .set_item(Some(tweets::item(tweet, Some(row.pk.clone()))?))
            .condition_expression("attribute_not_exists(tweet_id)")
            .build()
            .map_err(failed("TransactWriteItems"))?;
        let writes = [remember, store].map(|put| TransactWriteItem::builder().put(put).build());
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
        // If the key is not known, the id was taken, or two requests met and both were refused. The same goes for a key
        // that has expired: it is in nobody's way.
        let before = self.find(row.pk).await?;
        Ok(match before.filter(|before| before.expires_at >= now) {
            None => Stored::Refused,
            // An earlier attempt of this very request has stored it, and its answer was lost. DynamoDB knows a repeated
            // attempt by its token and answers it like the first, but not forever.
            Some(before) if before.tweet_id == row.tweet_id => Stored::New,
            Some(before) if before.digest == row.digest => {
                let id = TweetId::new(before.tweet_id);
                let before = Tweet::new(id, tweet.author_id, tweet.text.clone());
                let before = before.with_media(tweet.media.clone());
                Stored::Before(before.replying_to(tweet.in_reply_to))
            }
            Some(_) => Stored::KeyReused,
        })
    }

    /// The tweet that this key has stored with this body, if any.
    pub async fn stored_before(&self, tweet: &Tweet, key: &str) -> Result<Option<TweetId>> {
        let before = self.find(key_of(tweet, key)).await?;
        let now = now_millis() / 1_000;
        let before = before.filter(|it| it.expires_at >= now && it.digest == digest(tweet));
        Ok(before.map(|before| TweetId::new(before.tweet_id)))
    }

    async fn find(&self, pk: String) -> Result<Option<KeyRow>> {
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

    /// Forgets the keys that made these tweets.
    pub async fn erase(&self, tweets: &[Remains]) -> Result<()> {
        let keys = tweets.iter().filter_map(|tweet| tweet.ledger_pk.as_ref());
        let deletes = keys.map(|pk| {
            let key = Item::from([("pk".to_owned(), string(pk))]);
            (self.ledger.clone(), key)
        });
        dynamo::delete_many(&self.client, deletes.collect()).await
    }
}

fn key_of(tweet: &Tweet, key: &str) -> String {
    format!("idem#{}#{key}", tweet.author_id)
}

fn digest(tweet: &Tweet) -> String {
    let mut digest = Sha256::new_with_prefix(tweet.text.as_str());
    for medium in &tweet.media {
        // No text has this byte or the next one, so no text can look like another one with media or a parent.
        digest.update([0xff]);
        digest.update(serde_json::to_vec(medium).unwrap_or_default());
    }
    if let Some(parent) = tweet.in_reply_to {
        digest.update([0xfe]);
        digest.update(parent.tweet_id.get().to_be_bytes());
    }
    let digest = digest.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
