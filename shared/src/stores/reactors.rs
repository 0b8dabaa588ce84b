//! Who reacted to a tweet, by tweet: the `reactors` table, a row for each reaction that stands.
//!
//! The rows are written by the consumers that count ([`super::reaction_counters`]), never by a request. The likers of one
//! tweet are spread over [`SHARDS`] partitions, so that no partition limits how fast a viral tweet is counted.
//!
//! Of a reply, the row's sort key is the reply's id, not its author's. So the rows are also the list of a tweet's replies,
//! newest first. Another row, `parent#<reply>`, leads from a reply to the tweet above it: when a reply is deleted, the
//! stream says no more than its id.
//!
//! One more row, `tweet#<id>`, says that there may be such rows at all. So when a thousand tweets are deleted to which nobody
//! reacted, ten reads tell.

use std::collections::HashSet;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::Select;
use serde::{Deserialize, Serialize};

use super::dynamo::{self, failed, from_item, number, string, to_item};
use super::reactions::Change;
use super::tweets::TweetKey;
use crate::Result;
use crate::domain::{Entry, Reaction, TweetId, TweetRef, UserId};
use crate::platform::Roost;

/// Partitions for the likers of one tweet.
const SHARDS: u64 = 16;

/// Partitions for the replies to one tweet. Whoever reads them asks all.
const REPLY_SHARDS: u64 = 4;

#[derive(Clone)]
pub struct Reactors {
    client: Client,
    table: String,
}

/// One reaction to one tweet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reactor {
    #[serde(flatten)]
    key: ReactorKey,
    /// The repost, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repost_id: Option<u64>,
    /// The author of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    author_id: Option<u64>,
}

/// The key of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReactorKey {
    pk: String,
    /// Who reacted; for a reply, the reply.
    reactor: u64,
}

/// From a reply to the tweet above it.
#[derive(Serialize, Deserialize)]
struct ParentRow {
    #[serde(flatten)]
    key: ReactorKey,
    parent: TweetKey,
    author_id: u64,
}

impl Reactor {
    pub(super) fn new(change: &Change) -> Self {
        let is = |reaction| change.reaction == reaction;
        Self {
            key: ReactorKey::new(change),
            repost_id: change
                .item
                .filter(|_| is(Reaction::Repost))
                .map(TweetId::get),
            author_id: is(Reaction::Reply).then(|| change.user.get()),
        }
    }

    /// Whose reaction it is. Not for replies.
    pub const fn user(&self) -> UserId {
        UserId::new(self.key.reactor)
    }

    /// The reply, if it is one.
    pub const fn item(&self) -> TweetId {
        TweetId::new(self.key.reactor)
    }

    /// The repost, if it is one: the place in the timeline of the one who reposted.
    pub fn repost(&self) -> Option<Entry> {
        let id = TweetId::new(self.repost_id?);
        Some(Entry::new(id, self.user()))
    }

    /// The reply to a tweet of `parent_author`, if it is one.
    fn reply(&self, parent_author: UserId) -> Option<Entry> {
        let author = UserId::new(self.author_id?);
        let reply = TweetRef {
            tweet_id: TweetId::new(self.key.reactor),
            author_id: author,
            // A reply to oneself is a tweet like any other.
            is_reply: author != parent_author,
        };
        Some(reply.entry())
    }
}

impl ReactorKey {
    pub(super) fn new(change: &Change) -> Self {
        let (reaction, tweet) = (change.reaction, change.tweet.tweet);
        let reactor = match (reaction, change.item) {
            (Reaction::Reply, Some(reply)) => reply.get(),
            _ => change.user.get(),
        };
        Self {
            pk: partition(reaction, tweet, reactor % shards(reaction)),
            reactor,
        }
    }

    /// The row that says that there are others.
    fn noted(tweet: TweetId) -> Self {
        Self {
            pk: note(tweet),
            reactor: 0,
        }
    }

    /// The row that leads from a reply to its parent.
    fn parent(reply: TweetId) -> Self {
        Self {
            pk: format!("parent#{reply}"),
            reactor: 0,
        }
    }
}

fn note(tweet: TweetId) -> String {
    format!("tweet#{tweet}")
}

const fn shards(reaction: Reaction) -> u64 {
    match reaction {
        Reaction::Like | Reaction::Repost => SHARDS,
        Reaction::Reply => REPLY_SHARDS,
        // Nobody's hiding is viral.
        Reaction::Hide => 1,
    }
}

fn partition(reaction: Reaction, tweet: TweetId, shard: u64) -> String {
    let kind = match reaction {
        Reaction::Like => "like",
        Reaction::Repost => "repost",
        Reaction::Hide => "hide",
        Reaction::Reply => "reply",
    };
    format!("{kind}#{tweet}#{shard}")
}

/// All partitions that rows of this kind may be in.
fn partitions(reaction: Reaction, tweet: TweetId) -> impl Iterator<Item = String> {
    (0..shards(reaction)).map(move |shard| partition(reaction, tweet, shard))
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
        self.erase_keys([ReactorKey::noted(tweet)].iter()).await
    }

    /// Remembers what these replies reply to.
    pub async fn note_parents(&self, replies: &[Change]) -> Result<()> {
        let mut puts = Vec::new();
        for reply in replies {
            if let Some(id) = reply.item {
                let row = ParentRow {
                    key: ReactorKey::parent(id),
                    parent: reply.tweet.into(),
                    author_id: reply.user.get(),
                };
                puts.push((self.table.clone(), to_item(&row)?));
            }
        }
        dynamo::put_many(&self.client, puts).await
    }

    /// Those of these tweets that were replies, as replies that stand no more.
    pub async fn ended_replies(&self, tweets: &[TweetId]) -> Result<Vec<Change>> {
        let keys = tweets.iter().map(|id| to_item(&ReactorKey::parent(*id)));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let items = dynamo::get_many(&self.client, &self.table, keys, true).await?;
        let mut ended = Vec::with_capacity(items.len());
        for item in items {
            let row: ParentRow = from_item("a reply's parent", item)?;
            let id = row.key.pk.strip_prefix("parent#");
            let id = id.and_then(|id| id.parse().ok()).map(TweetId::new);
            ended.push(Change {
                user: UserId::new(row.author_id),
                reaction: Reaction::Reply,
                tweet: row.parent.entry(),
                stands: false,
                item: id,
            });
        }
        Ok(ended)
    }

    /// Takes [`Self::note_parents`] back.
    pub async fn forget_parents(&self, replies: impl Iterator<Item = TweetId>) -> Result<()> {
        let keys: Vec<ReactorKey> = replies.map(ReactorKey::parent).collect();
        self.erase_keys(keys.iter()).await
    }

    /// The newest replies to a tweet below an id, newest first. Asks every partition once.
    pub async fn replies(&self, parent: Entry, below: TweetId, limit: usize) -> Result<Vec<Entry>> {
        let queries = partitions(Reaction::Reply, parent.tweet).map(async |partition| {
            let answer = self
                .client
                .query()
                .table_name(&self.table)
                .key_condition_expression("pk = :pk AND reactor < :below")
                .expression_attribute_values(":pk", string(partition))
                .expression_attribute_values(":below", number(below.get()))
                .scan_index_forward(false)
                .limit(i32::try_from(limit).unwrap_or(i32::MAX))
                .send()
                .await
                .map_err(failed("Query"))?;
            let rows = answer.items.unwrap_or_default().into_iter();
            rows.map(|item| from_item::<Reactor>("a reply", item))
                .collect::<Result<Vec<_>>>()
        });
        let found = futures_util::future::try_join_all(queries).await?;
        let rows = found.iter().flatten();
        let mut replies: Vec<Entry> = rows.filter_map(|row| row.reply(parent.author)).collect();
        replies.sort_unstable_by(|a, b| b.cmp(a));
        replies.truncate(limit);
        Ok(replies)
    }

    /// Some of those who reacted to a tweet in this way; none if nobody did.
    pub async fn some(
        &self,
        reaction: Reaction,
        tweet: TweetId,
        limit: usize,
    ) -> Result<Vec<Reactor>> {
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
    pub async fn erase(&self, reactors: &[Reactor]) -> Result<()> {
        self.erase_keys(reactors.iter().map(|reactor| &reactor.key))
            .await
    }

    /// Removes the rows of these reactions, if there are any.
    pub async fn erase_of(&self, changes: &[Change]) -> Result<()> {
        let keys: Vec<ReactorKey> = changes.iter().map(ReactorKey::new).collect();
        self.erase_keys(keys.iter()).await
    }

    async fn erase_keys(&self, keys: impl Iterator<Item = &ReactorKey>) -> Result<()> {
        let mut deletes = Vec::new();
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
