//! Who reacted to what: the `reactions` table, a row for each user, kind of reaction and tweet.
//!
//! The sort key is `like#<tweet id>`, `repost#<tweet id>` or `hide#<tweet id>`, with the id in nineteen digits. So the newest
//! tweets that somebody liked are one query. A reaction that was taken back leaves its version for two days, so that what is cached of
//! it ([`super::reacted`]) can tell old from new; a time to live removes the row.
//!
//! The stream of this table feeds the counters ([`super::reaction_counters`]).

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    ReturnValue, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};
use serde::{Deserialize, Serialize};

use super::dynamo::{self, Item, failed, from_item, number, signed, string, to_item};
use super::tweets::{TweetKey, Tweets};
use crate::domain::{Entry, Interaction, Reaction, ReactionState, TweetId, UserId};
use crate::platform::{Roost, now_millis};
use crate::{Error, Result};

/// How long a reaction that was taken back is remembered: longer than anything is cached of it.
const TAKEN_BACK_SECONDS: u64 = 2 * 24 * 3600;

/// How often it is tried to take a repost back that somebody else changes at the same time.
const ATTEMPTS: usize = 5;

#[derive(Clone)]
pub struct Reactions {
    client: Client,
    table: String,
}

/// The key of a reaction, and of the stream's records.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReactionKey {
    user_id: u64,
    reaction: String,
}

/// What a record of the stream says of a row before its change: nothing, if there was none.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Before {
    author_id: Option<i64>,
    repost_id: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
struct Row {
    #[serde(flatten)]
    key: ReactionKey,
    /// The tweet's author, as in the tweet's key.
    author_id: i64,
    liked_at: Option<u64>,
    reposted_at: Option<u64>,
    hidden_at: Option<u64>,
    /// The last repost that this was.
    repost_id: Option<u64>,
    version: u64,
}

/// A reaction that changed, as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub user: UserId,
    pub reaction: Reaction,
    /// What somebody reacted to.
    pub tweet: Entry,
    pub stands: bool,
    /// What the reaction is, if it is an item of its own: the repost or the reply.
    pub item: Option<TweetId>,
}

/// A repost that was made or taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reposted {
    pub state: ReactionState,
    /// The item in the timeline of the one who reposted.
    pub repost: Entry,
}

/// A page of likes, newest like first.
pub struct Likes {
    pub tweets: Vec<Entry>,
    /// Where the next page starts; `None` at the end.
    pub next: Option<LikeCursor>,
}

/// Where a page of likes ended: when the last one was liked, in milliseconds, and which tweet it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LikeCursor {
    pub liked_at: u64,
    pub tweet: TweetId,
}

const fn prefix(reaction: Reaction) -> &'static str {
    match reaction {
        Reaction::Like => "like#",
        Reaction::Repost => "repost#",
        Reaction::Hide => "hide#",
        Reaction::Reply => "reply#",
    }
}

/// The attribute that is there while the reaction stands: when it was made, in milliseconds.
const fn since(reaction: Reaction) -> &'static str {
    match reaction {
        Reaction::Like => "liked_at",
        Reaction::Repost => "reposted_at",
        Reaction::Hide => "hidden_at",
        Reaction::Reply => "replied_at",
    }
}

impl Change {
    /// The repost, if it is one: the place in the timeline of the one who reposted.
    pub fn repost(&self) -> Option<Entry> {
        let item = self.item.filter(|_| self.reaction == Reaction::Repost);
        item.map(|id| Entry::new(id, self.user))
    }
}

impl ReactionKey {
    /// The row in which this reaction is remembered.
    pub fn of(change: &Change) -> Self {
        Self::new(change.user, change.reaction, change.tweet.tweet)
    }

    pub fn new(user: UserId, reaction: Reaction, tweet: TweetId) -> Self {
        Self {
            user_id: user.get(),
            reaction: format!("{}{:019}", prefix(reaction), tweet.get()),
        }
    }

    /// Of what kind it is, and to which tweet; `None` if that cannot be read.
    pub fn target(&self) -> Option<(Reaction, TweetId)> {
        let mut kinds = Reaction::MARKS.into_iter();
        kinds.find_map(|kind| {
            let id = self.reaction.strip_prefix(prefix(kind))?.parse().ok()?;
            Some((kind, TweetId::new(id)))
        })
    }
}

impl Row {
    fn state(&self) -> Option<ReactionState> {
        let (reaction, tweet) = self.key.target()?;
        Some(ReactionState {
            reaction,
            tweet,
            stands: [self.liked_at, self.reposted_at, self.hidden_at]
                .iter()
                .any(Option::is_some),
            version: self.version,
        })
    }

    fn change(&self) -> Option<Change> {
        let state = self.state()?;
        Some(Change {
            user: UserId::new(self.key.user_id),
            reaction: state.reaction,
            tweet: TweetKey::new(self.author_id, state.tweet).entry(),
            stands: state.stands,
            item: self.repost_id.map(TweetId::new),
        })
    }
}

impl Reactions {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.reactions_table()?.to_owned(),
        })
    }

    /// Makes the reaction stand. Changes nothing if it does.
    pub async fn put(
        &self,
        user: UserId,
        reaction: Reaction,
        tweet: Entry,
    ) -> Result<Option<ReactionState>> {
        let update = self
            .client
            .update_item()
            .update_expression(
                "SET #since = :now, author_id = :author REMOVE expires_at ADD version :one",
            )
            .condition_expression("attribute_not_exists(#since)")
            .expression_attribute_values(":now", number(now_millis()))
            .expression_attribute_values(":author", signed(TweetKey::from(tweet).author_id()));
        self.update(
            update,
            ReactionKey::new(user, reaction, tweet.tweet),
            reaction,
        )
        .await
    }

    /// Takes the reaction back. Changes nothing if it does not stand; `None` if it never did.
    pub async fn remove(
        &self,
        user: UserId,
        reaction: Reaction,
        tweet: TweetId,
    ) -> Result<Option<ReactionState>> {
        let expires_at = now_millis() / 1_000 + TAKEN_BACK_SECONDS;
        let update = self
            .client
            .update_item()
            .update_expression("SET expires_at = :later REMOVE #since ADD version :one")
            .condition_expression("attribute_exists(#since)")
            .expression_attribute_values(":later", number(expires_at));
        self.update(update, ReactionKey::new(user, reaction, tweet), reaction)
            .await
    }

    /// Makes a repost: the row that remembers it, and the repost itself among the tweets of the one who reposts. Changes
    /// nothing if the user has reposted that tweet. `None` if the repost's id is in use.
    pub async fn repost(
        &self,
        tweets: &Tweets,
        repost: Entry,
        original: Entry,
    ) -> Result<Option<Reposted>> {
        let key = ReactionKey::new(repost.author, Reaction::Repost, original.tweet);
        let remember = Update::builder()
            .table_name(&self.table)
            .set_key(Some(to_item(&key)?))
            .update_expression(
                "SET reposted_at = :now, author_id = :author, repost_id = :id \
                 REMOVE expires_at ADD version :one",
            )
            .condition_expression("attribute_not_exists(reposted_at)")
            .expression_attribute_values(":now", number(now_millis()))
            .expression_attribute_values(":author", signed(TweetKey::from(original).author_id()))
            .expression_attribute_values(":id", number(repost.tweet.get()))
            .expression_attribute_values(":one", number(1))
            .build()
            .map_err(failed("TransactWriteItems"))?;
        let put = tweets.put_repost(repost)?;
        let remember = TransactWriteItem::builder().update(remember).build();
        let writes = vec![remember, put];
        let refusals = dynamo::write_or_refusals(&self.client, writes, "making a repost").await?;
        let stands = self.reposted(key).await?;
        Ok(match refusals.as_deref() {
            Some([remember, _]) if remember != dynamo::CONDITION_FAILED => None,
            _ => stands,
        })
    }

    /// Takes a repost back. Changes nothing if it does not stand; `None` if it never did.
    pub async fn end_repost(
        &self,
        tweets: &Tweets,
        user: UserId,
        tweet: TweetId,
    ) -> Result<Option<Reposted>> {
        let key = ReactionKey::new(user, Reaction::Repost, tweet);
        for _ in 0..ATTEMPTS {
            let Some(before) = self.reposted(key.clone()).await? else {
                return Ok(None);
            };
            if !before.state.stands {
                return Ok(Some(before));
            }
            let forget = Update::builder()
                .table_name(&self.table)
                .set_key(Some(to_item(&key)?))
                .update_expression("SET expires_at = :later REMOVE reposted_at ADD version :one")
                .condition_expression("attribute_exists(reposted_at) AND repost_id = :id")
                .expression_attribute_values(
                    ":later",
                    number(now_millis() / 1_000 + TAKEN_BACK_SECONDS),
                )
                .expression_attribute_values(":id", number(before.repost.tweet.get()))
                .expression_attribute_values(":one", number(1))
                .build()
                .map_err(failed("TransactWriteItems"))?;
            let forget = TransactWriteItem::builder().update(forget).build();
            let writes = vec![forget, tweets.delete_repost(before.repost)?];
            // Whether it was done now or by somebody else, the row says how it is.
            dynamo::write_once(&self.client, writes, "taking a repost back").await?;
        }
        Err(Error::GaveUp("taking a repost back"))
    }

    /// What the row of a repost says.
    async fn reposted(&self, key: ReactionKey) -> Result<Option<Reposted>> {
        let rows = self.rows([key]).await?;
        let row = rows.first();
        Ok(row.and_then(|row| {
            let repost = Entry::new(TweetId::new(row.repost_id?), UserId::new(row.key.user_id));
            let original = row.change()?.tweet;
            Some(Reposted {
                state: row.state()?,
                repost: repost.reposting(original.reference()),
            })
        }))
    }

    /// Carries out an update of one row. Gives what the row says then, whether or not it was changed now: if an answer was
    /// lost, the change was made by an earlier attempt.
    async fn update(
        &self,
        update: aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder,
        key: ReactionKey,
        reaction: Reaction,
    ) -> Result<Option<ReactionState>> {
        let answer = update
            .table_name(&self.table)
            .set_key(Some(to_item(&key)?))
            .expression_attribute_names("#since", since(reaction))
            .expression_attribute_values(":one", number(1))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        let item = match answer {
            Ok(answer) => answer.attributes,
            Err(error) => match error.into_service_error() {
                UpdateItemError::ConditionalCheckFailedException(refusal) => refusal.item,
                error => return Err(failed("UpdateItem")(error)),
            },
        };
        let row: Option<Row> = item.map(read).transpose()?;
        Ok(row.and_then(|row| row.state()))
    }

    /// The user's reactions of one kind to the newest tweets, newest tweet first. Includes those taken back lately.
    pub async fn newest(
        &self,
        user: UserId,
        reaction: Reaction,
        limit: usize,
    ) -> Result<Vec<ReactionState>> {
        let rows = self.newest_rows(user, reaction, limit).await?;
        Ok(rows.iter().filter_map(Row::state).collect())
    }

    async fn newest_rows(
        &self,
        user: UserId,
        reaction: Reaction,
        limit: usize,
    ) -> Result<Vec<Row>> {
        let mut found = Vec::new();
        let mut start = None;
        while found.len() < limit {
            let answer = self
                .client
                .query()
                .table_name(&self.table)
                .key_condition_expression("user_id = :user AND begins_with(reaction, :kind)")
                .expression_attribute_values(":user", number(user.get()))
                .expression_attribute_values(":kind", string(prefix(reaction)))
                .scan_index_forward(false)
                .consistent_read(true)
                .limit(i32::try_from(limit - found.len()).unwrap_or(i32::MAX))
                .set_exclusive_start_key(start)
                .send()
                .await
                .map_err(failed("Query"))?;
            for item in answer.items.unwrap_or_default() {
                found.push(read(item)?);
            }
            start = answer.last_evaluated_key;
            if start.is_none() {
                break;
            }
        }
        Ok(found)
    }

    /// What the user did with the newest tweets to which such a reaction stands.
    pub async fn interactions(
        &self,
        user: UserId,
        reaction: Reaction,
        limit: usize,
    ) -> Result<Vec<Interaction>> {
        let rows = self.newest_rows(user, reaction, limit).await?;
        let standing = rows.iter().filter_map(|row| {
            let at_millis = row.liked_at.or(row.reposted_at).or(row.hidden_at)?;
            Some(Interaction {
                author: row.change()?.tweet.author,
                reaction,
                at_millis,
            })
        });
        Ok(standing.collect())
    }

    /// The user's reactions to these tweets, of every kind, in no order.
    pub async fn to_tweets(&self, user: UserId, tweets: &[TweetId]) -> Result<Vec<ReactionState>> {
        let keys = tweets
            .iter()
            .flat_map(|tweet| Reaction::MARKS.map(|kind| ReactionKey::new(user, kind, *tweet)));
        let rows = self.rows(keys).await?;
        Ok(rows.iter().filter_map(Row::state).collect())
    }

    /// What these reactions are now. If a row is gone, what stood in it before tells whose tweet it was.
    pub async fn now(&self, changed: &HashMap<ReactionKey, Before>) -> Result<Vec<Change>> {
        let rows = self.rows(changed.keys().cloned()).await?;
        let mut changes: Vec<Change> = rows.iter().filter_map(Row::change).collect();
        let left: HashSet<&ReactionKey> = rows.iter().map(|row| &row.key).collect();
        let gone = changed.iter().filter(|(key, _)| !left.contains(key));
        changes.extend(gone.filter_map(|(key, before)| {
            let (reaction, tweet) = key.target()?;
            Some(Change {
                user: UserId::new(key.user_id),
                reaction,
                tweet: TweetKey::new(before.author_id?, tweet).entry(),
                stands: false,
                item: before.repost_id.map(TweetId::new),
            })
        }));
        Ok(changes)
    }

    async fn rows(&self, keys: impl IntoIterator<Item = ReactionKey>) -> Result<Vec<Row>> {
        let keys: Result<Vec<Item>> = keys.into_iter().map(|key| to_item(&key)).collect();
        let items = dynamo::get_many(&self.client, &self.table, keys?, true).await?;
        items.into_iter().map(read).collect()
    }

    /// The tweets that a user likes, the newest like first.
    pub async fn liked_by(
        &self,
        user: UserId,
        from: Option<LikeCursor>,
        limit: usize,
    ) -> Result<Likes> {
        let start = from.map(|from| self.start(user, from)).transpose()?;
        // One more than the page holds tells whether another page follows.
        let (mut rows, cut_short) = self.like_rows(user, start, limit + 1).await?;
        let more = cut_short || rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).and_then(|row| {
            let (_, tweet) = row.key.target()?;
            let liked_at = row.liked_at?;
            Some(LikeCursor { liked_at, tweet })
        });
        let tweets = rows.iter().filter_map(Row::change).map(|like| like.tweet);
        Ok(Likes {
            tweets: tweets.collect(),
            next,
        })
    }

    /// The tweets that a user liked last, and when, in milliseconds since 1970; the newest like first.
    pub async fn newest_likes(&self, user: UserId, limit: usize) -> Result<Vec<(Entry, u64)>> {
        let (rows, _) = self.like_rows(user, None, limit).await?;
        let likes = rows.iter();
        let likes = likes.filter_map(|row| Some((row.change()?.tweet, row.liked_at?)));
        Ok(likes.collect())
    }

    /// The newest likes behind a place in the index, and whether there are more. The index lags behind the table by a moment.
    async fn like_rows(
        &self,
        user: UserId,
        start: Option<Item>,
        limit: usize,
    ) -> Result<(Vec<Row>, bool)> {
        let answer = self
            .client
            .query()
            .table_name(&self.table)
            .index_name("by_like")
            .key_condition_expression("user_id = :user")
            .expression_attribute_values(":user", number(user.get()))
            .scan_index_forward(false)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .set_exclusive_start_key(start)
            .send()
            .await
            .map_err(failed("Query"))?;
        let more = answer.last_evaluated_key.is_some();
        let rows: Result<Vec<Row>> = answer
            .items
            .unwrap_or_default()
            .into_iter()
            .map(read)
            .collect();
        Ok((rows?, more))
    }

    fn start(&self, user: UserId, from: LikeCursor) -> Result<Item> {
        let mut start = to_item(&ReactionKey::new(user, Reaction::Like, from.tweet))?;
        start.insert("liked_at".to_owned(), number(from.liked_at));
        Ok(start)
    }

    /// Removes some of what a user has reacted to. `false` if nothing was left.
    pub async fn erase_some(&self, user: UserId, limit: usize) -> Result<bool> {
        let answer = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("user_id = :user")
            .expression_attribute_values(":user", number(user.get()))
            .projection_expression("user_id, reaction")
            .consistent_read(true)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(failed("Query"))?;
        let keys = answer.items.unwrap_or_default();
        let found = !keys.is_empty();
        let deletes = keys.into_iter().map(|key| (self.table.clone(), key));
        dynamo::delete_many(&self.client, deletes.collect()).await?;
        Ok(found)
    }

    /// Removes reactions to tweets that are gone.
    pub async fn erase(&self, keys: impl IntoIterator<Item = ReactionKey>) -> Result<()> {
        let mut deletes = Vec::new();
        for key in keys {
            deletes.push((self.table.clone(), to_item(&key)?));
        }
        dynamo::delete_many(&self.client, deletes).await
    }
}

fn read(item: HashMap<String, aws_sdk_dynamodb::types::AttributeValue>) -> Result<Row> {
    from_item("a reaction", item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_key_names_its_reaction_and_its_tweet(user: u64, tweet in 0..1_u64 << 63) {
            for kind in Reaction::MARKS {
                let key = ReactionKey::new(UserId::new(user), kind, TweetId::new(tweet));
                prop_assert_eq!(key.target(), Some((kind, TweetId::new(tweet))));
            }
        }

        #[test]
        fn keys_are_in_the_order_of_their_tweets(a in 0..1_u64 << 63, b in 0..1_u64 << 63) {
            let key = |id| ReactionKey::new(UserId::new(1), Reaction::Like, TweetId::new(id)).reaction;
            prop_assert_eq!(a.cmp(&b), key(a).cmp(&key(b)));
        }
    }
}
