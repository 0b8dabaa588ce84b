//! Who reacted to a tweet, by tweet: the `reactors` table, a row for each reaction that stands.
//!
//! The rows are written by the consumer that counts ([`super::reaction_counters`]), never by a request. The likers of one
//! tweet are spread over [`SHARDS`] partitions, so that no partition limits how fast a viral tweet is counted.
//!
//! One more row, `tweet#<id>`, says that there may be such rows at all. So when a thousand tweets are deleted to which nobody
//! reacted, ten reads tell.

use std::collections::HashSet;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::Select;
use serde::{Deserialize, Serialize};

use super::dynamo::{self, failed, from_item, string, to_item};
use crate::Result;
use crate::domain::{Reaction, TweetId, UserId};
use crate::platform::Roost;

/// Partitions for the likers of one tweet.
const SHARDS: u64 = 16;

#[derive(Clone)]
pub struct Reactors {
    client: Client,
    table: String,
}

/// The key of a row: one reader who reacted to one tweet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReactorKey {
    pk: String,
    user_id: u64,
}

impl ReactorKey {
    pub(super) fn new(reaction: Reaction, tweet: TweetId, user: UserId) -> Self {
        let shard = match reaction {
            Reaction::Like => user.get() % SHARDS,
            // Nobody's hiding is viral.
            Reaction::Hide => 0,
        };
        Self {
            pk: partition(reaction, tweet, shard),
            user_id: user.get(),
        }
    }

    /// The row that says that there are others.
    fn noted(tweet: TweetId) -> Self {
        Self {
            pk: note(tweet),
            user_id: 0,
        }
    }

    pub const fn user(&self) -> UserId {
        UserId::new(self.user_id)
    }
}

fn note(tweet: TweetId) -> String {
    format!("tweet#{tweet}")
}

fn partition(reaction: Reaction, tweet: TweetId, shard: u64) -> String {
    let kind = match reaction {
        Reaction::Like => "like",
        Reaction::Hide => "hide",
    };
    format!("{kind}#{tweet}#{shard}")
}

/// All partitions that rows of this kind may be in.
fn partitions(reaction: Reaction, tweet: TweetId) -> impl Iterator<Item = String> {
    let shards = match reaction {
        Reaction::Like => SHARDS,
        Reaction::Hide => 1,
    };
    (0..shards).map(move |shard| partition(reaction, tweet, shard))
}

impl Reactors {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.reactors_table()?.to_owned(),
        })
    }

    /// Says that somebody may have reacted to these tweets.
    pub async fn note(&self, tweets: impl IntoIterator<Item = TweetId>) -> Result<()> {
        let mut puts = Vec::new();
        for tweet in tweets {
            puts.push((self.table.clone(), to_item(&ReactorKey::noted(tweet))?));
        }
        dynamo::put_many(&self.client, puts).await
    }

    /// Which of these tweets somebody may have reacted to.
    pub async fn noted(&self, tweets: &[TweetId]) -> Result<HashSet<TweetId>> {
        let keys = tweets
            .iter()
            .map(|tweet| to_item(&ReactorKey::noted(*tweet)));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let items = dynamo::get_many(&self.client, &self.table, keys, true).await?;
        let found: Result<Vec<ReactorKey>> = items
            .into_iter()
            .map(|item| from_item("a noted tweet", item))
            .collect();
        let found: HashSet<String> = found?.into_iter().map(|key| key.pk).collect();
        let noted = tweets.iter().filter(|tweet| found.contains(&note(**tweet)));
        Ok(noted.copied().collect())
    }

    /// Takes [`Self::note`] back.
    pub async fn forget(&self, tweet: TweetId) -> Result<()> {
        self.erase(&[ReactorKey::noted(tweet)]).await
    }

    /// Some of those who reacted to a tweet in this way; none if nobody did.
    pub async fn some(
        &self,
        reaction: Reaction,
        tweet: TweetId,
        limit: usize,
    ) -> Result<Vec<ReactorKey>> {
        for partition in partitions(reaction, tweet) {
            let answer = self
                .client
                .query()
                .table_name(&self.table)
                .key_condition_expression("pk = :pk")
                .expression_attribute_values(":pk", string(partition))
                .consistent_read(true)
                .limit(i32::try_from(limit).unwrap_or(i32::MAX))
                .send()
                .await
                .map_err(failed("Query"))?;
            let items = answer.items.unwrap_or_default();
            if !items.is_empty() {
                let keys = items.into_iter();
                return keys.map(|item| from_item("a reactor", item)).collect();
            }
        }
        Ok(Vec::new())
    }

    /// Removes rows of a tweet that is gone.
    pub async fn erase(&self, keys: &[ReactorKey]) -> Result<()> {
        let mut deletes = Vec::with_capacity(keys.len());
        for key in keys {
            deletes.push((self.table.clone(), to_item(key)?));
        }
        dynamo::delete_many(&self.client, deletes).await
    }

    /// How many people reacted to a tweet in this way: what its counter should say.
    pub async fn count(&self, reaction: Reaction, tweet: TweetId) -> Result<u64> {
        let mut total = 0;
        for partition in partitions(reaction, tweet) {
            let mut start = None;
            loop {
                let answer = self
                    .client
                    .query()
                    .table_name(&self.table)
                    .key_condition_expression("pk = :pk")
                    .expression_attribute_values(":pk", string(&partition))
                    .select(Select::Count)
                    .consistent_read(true)
                    .set_exclusive_start_key(start)
                    .send()
                    .await
                    .map_err(failed("Query"))?;
                total += u64::try_from(answer.count).unwrap_or(0);
                start = answer.last_evaluated_key;
                if start.is_none() {
                    break;
                }
            }
        }
        Ok(total)
    }
}
