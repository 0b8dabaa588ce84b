//! Counting reactions: exact, although the stream delivers at least once, and cheap, although a tweet is viral.
//!
//! Every like that is counted has a row in the `reactors` table ([`super::reactors`]), written in the same transaction as
//! the counter on the tweet's row. A like that comes again finds its row and is left out. So the rows are what the counter
//! counts, and it can be checked against them. Replies and reposts are counted in the same way. Hidden tweets have rows,
//! too, but no counter.
//!
//! Many likes of one tweet share one change of its counter, so a viral tweet's row is written once for a hundred likes.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{ConditionCheck, Delete, Put, TransactWriteItem, Update};

use super::dynamo::{self, failed, number, signed, to_item};
use super::reactions::Change;
use super::reactors::{Reactor, ReactorKey};
use super::tweets::TweetKey;
use crate::domain::{Entry, Reaction};
use crate::platform::Roost;
use crate::{Error, Result};

/// Actions in one transaction, as DynamoDB limits them.
const ACTIONS: usize = 100;

/// Transactions meet others that count the same tweet.
const ATTEMPTS: u32 = 12;

#[derive(Clone)]
pub struct ReactionCounters {
    client: Client,
    tweets: String,
    reactors: String,
}

/// How much the counters of one tweet change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    likes: i64,
    replies: i64,
    reposts: i64,
}

impl ReactionCounters {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            tweets: roost.config.tweets_table()?.to_owned(),
            reactors: roost.config.reactors_table()?.to_owned(),
        })
    }

    /// Counts what has not been counted yet of these changes. Each reaction is there once. Gives the tweets concerned,
    /// without those that do not exist (any more).
    pub async fn apply(&self, changes: &[Change]) -> Result<BTreeSet<Entry>> {
        let mut counted = BTreeSet::new();
        for changes in packed(changes) {
            self.apply_some(changes, &mut counted).await?;
        }
        Ok(counted)
    }

    /// One transaction, repeated without what was done before.
    async fn apply_some(&self, mut open: Vec<Change>, counted: &mut BTreeSet<Entry>) -> Result<()> {
        counted.extend(open.iter().map(|change| change.tweet));
        let mut gone: BTreeSet<Entry> = BTreeSet::new();
        for attempt in 0..ATTEMPTS {
            if open.is_empty() {
                break;
            }
            let totals: Vec<(Entry, Totals)> = sum(&open)
                .into_iter()
                .filter(|(tweet, _)| !gone.contains(tweet))
                .collect();
            let mut writes = Vec::with_capacity(open.len() + totals.len());
            for change in &open {
                writes.push(self.mark(*change)?);
            }
            for (tweet, by) in &totals {
                writes.push(self.counter(*tweet, *by)?);
            }
            let answer = self
                .client
                .transact_write_items()
                .set_transact_items(Some(writes))
                .send()
                .await;
            let Err(error) = answer else {
                open.clear();
                break;
            };
            let Some(reasons) = dynamo::cancellation(&error) else {
                return Err(failed("TransactWriteItems")(error));
            };
            let refused = |index: usize| {
                reasons
                    .get(index)
                    .is_some_and(|why| why == dynamo::CONDITION_FAILED)
            };
            let marks = open.len();
            let missing = totals.iter().enumerate();
            let missing = missing.filter(|(n, _)| refused(marks + n));
            let missing: Vec<Entry> = missing.map(|(_, (tweet, _))| *tweet).collect();
            let mut index = 0..;
            open.retain(|_| !index.next().is_some_and(refused));
            if open.len() == marks && missing.is_empty() {
                // Nothing to leave out, so another transaction was in the way.
                dynamo::back_off(attempt + 1).await;
            }
            gone.extend(missing);
            let is_lost = |change: &Change| change.stands && gone.contains(&change.tweet);
            open.retain(|change| !is_lost(change));
        }
        counted.retain(|tweet| !gone.contains(tweet));
        if open.is_empty() {
            Ok(())
        } else {
            Err(Error::GaveUp("counting reactions"))
        }
    }

    fn mark(&self, change: Change) -> Result<TransactWriteItem> {
        let build = failed::<aws_sdk_dynamodb::error::BuildError>;
        if change.stands {
            let put = Put::builder()
                .table_name(&self.reactors)
                .set_item(Some(to_item(&Reactor::new(&change))?))
                .condition_expression("attribute_not_exists(pk)")
                .build()
                .map_err(build("TransactWriteItems"))?;
            return Ok(TransactWriteItem::builder().put(put).build());
        }
        let delete = Delete::builder()
            .table_name(&self.reactors)
            .set_key(Some(to_item(&ReactorKey::new(&change))?))
            .condition_expression("attribute_exists(pk)")
            .build()
            .map_err(build("TransactWriteItems"))?;
        Ok(TransactWriteItem::builder().delete(delete).build())
    }

    /// Changes the tweet's counters, or only makes sure that there is a tweet.
    fn counter(&self, tweet: Entry, by: Totals) -> Result<TransactWriteItem> {
        if by == Totals::default() {
            let check = ConditionCheck::builder()
                .table_name(&self.tweets)
                .set_key(Some(to_item(&TweetKey::from(tweet))?))
                .condition_expression("attribute_exists(tweet_id)")
                .build()
                .map_err(failed("TransactWriteItems"))?;
            return Ok(TransactWriteItem::builder().condition_check(check).build());
        }
        let update = Update::builder()
            .table_name(&self.tweets)
            .set_key(Some(to_item(&TweetKey::from(tweet))?))
            .update_expression(
                "ADD like_count :likes, reply_count :replies, repost_count :reposts, \
                 count_version :one",
            )
            .condition_expression("attribute_exists(tweet_id)")
            .expression_attribute_values(":likes", signed(by.likes))
            .expression_attribute_values(":replies", signed(by.replies))
            .expression_attribute_values(":reposts", signed(by.reposts))
            .expression_attribute_values(":one", number(1))
            .build()
            .map_err(failed("TransactWriteItems"))?;
        Ok(TransactWriteItem::builder().update(update).build())
    }
}

/// What the changes add up to, per tweet.
fn sum(changes: &[Change]) -> BTreeMap<Entry, Totals> {
    let mut totals: BTreeMap<Entry, Totals> = BTreeMap::new();
    for change in changes {
        let total = totals.entry(change.tweet).or_default();
        let by = if change.stands { 1 } else { -1 };
        match change.reaction {
            Reaction::Like => total.likes += by,
            Reaction::Reply => total.replies += by,
            Reaction::Repost => total.reposts += by,
            Reaction::Hide => {}
        }
    }
    totals
}

/// The likes in as few transactions as they fit in: a like is one action, and so is a tweet's counter. Likes of one tweet
/// stay together.
fn packed(changes: &[Change]) -> Vec<Vec<Change>> {
    let mut by_tweet: BTreeMap<Entry, Vec<Change>> = BTreeMap::new();
    for change in changes {
        by_tweet.entry(change.tweet).or_default().push(*change);
    }
    let mut packs: Vec<Vec<Change>> = Vec::new();
    let mut actions = ACTIONS;
    for likes in by_tweet.values() {
        for likes in likes.chunks(ACTIONS - 1) {
            let needed = likes.len() + 1;
            if actions + needed > ACTIONS {
                packs.push(Vec::new());
                actions = 0;
            }
            actions += needed;
            if let Some(pack) = packs.last_mut() {
                pack.extend(likes);
            }
        }
    }
    packs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{TweetId, UserId};
    use proptest::prelude::*;

    fn likes() -> impl Strategy<Value = Vec<Change>> {
        let like = (1..40_u64, 1..400_u64, any::<bool>());
        prop::collection::vec(like, 0..600).prop_map(|likes| {
            let unique: BTreeMap<_, _> = likes
                .into_iter()
                .map(|(t, u, stands)| ((t, u), stands))
                .collect();
            let like = |((tweet, user), stands): ((u64, u64), bool)| Change {
                user: UserId::new(user),
                reaction: Reaction::Like,
                tweet: Entry::new(TweetId::new(tweet), UserId::new(1)),
                stands,
                item: None,
            };
            unique.into_iter().map(like).collect()
        })
    }

    proptest! {
        #[test]
        fn transactions_stay_within_dynamodbs_limit_and_lose_no_like(likes in likes()) {
            let packs = packed(&likes);
            let mut all: Vec<Change> = packs.concat();
            for pack in &packs {
                prop_assert!(pack.len() + sum(pack).len() <= ACTIONS);
            }
            let key = |change: &Change| (change.tweet, change.user);
            all.sort_by_key(key);
            let mut expected = likes;
            expected.sort_by_key(key);
            prop_assert_eq!(all, expected);
        }

        #[test]
        fn likes_of_one_tweet_fill_transactions(count in 1..1_000_u64) {
            let likes: Vec<Change> = (0..count)
                .map(|n| Change { user: UserId::new(n), reaction: Reaction::Like, tweet: Entry::new(TweetId::new(1), UserId::new(1)), stands: true, item: None })
                .collect();
            prop_assert_eq!(packed(&likes).len() as u64, count.div_ceil(99));
        }
    }
}
