//! Whom somebody has muted or blocked: the table `relations`.
//!
//! Each relation is two items, in the partitions of the two people: `mute#<other>` of the one who muted, and
//! `muted-by#<owner>` of the other; `block#<other>` and `blocked-by#<owner>`. Another item, `counts`, says how many relations
//! somebody has made. One transaction writes all three, so the two sides always mirror each other, and nobody gets past the
//! limit, however many requests come at once.
//!
//! A block takes the edges between the two along in its transaction, and [`super::Follows::follow`] checks in its own that
//! there is no block. So there is never a block and an edge.
//!
//! The other side is read when an account goes, and to keep blockers from those whom they block. It is an item of its own
//! and not an index, because it spreads: a partition key with many sort keys is split when it gets hot, as that of
//! `followers` is. An index that lags would hold back the whole table.
//!
//! A list is short enough ([`Relation::MOST`]) to be read in one query and sorted by time here.

use std::collections::{BTreeSet, HashSet};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::builders::{TransactWriteItemBuilder, UpdateBuilder};
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, Put, TransactWriteItem, Update,
};
use serde::{Deserialize, Serialize};

use super::Follows;
use super::dynamo::{self, CONDITION_FAILED, Item, failed, from_item, number, string, to_item};
use super::follows::Edge;
use crate::domain::UserId;
use crate::domain::relation::{Related, Relation, RelationCursor};
use crate::platform::Roost;
use crate::{Error, Result};

/// What a client reads who is blocked.
pub const BLOCKED: &str = "this user has blocked you";

/// The item that counts the relations that somebody has made.
const COUNTS: &str = "counts";

#[derive(Clone)]
pub struct Relations {
    client: Client,
    table: String,
}

/// What became of a wish to have a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    New,
    Existing,
    /// There are [`Relation::MOST`] already.
    TooMany,
}

/// One page of people, newest first.
#[derive(Debug, PartialEq, Eq)]
pub struct RelatedPage {
    pub ids: Vec<UserId>,
    /// `None` at the end of the list.
    pub next: Option<RelationCursor>,
}

/// One side of a relation.
#[derive(Serialize, Deserialize)]
struct Row {
    owner_id: u64,
    relation: String,
    other_id: u64,
    /// When the relation was made.
    at_ms: u64,
}

impl Row {
    fn key(&self) -> Item {
        key(self.owner_id, &self.relation)
    }
}

/// Which of the two people an item belongs to.
#[derive(Clone, Copy)]
enum Side {
    /// The one who made the relation.
    Owner,
    Other,
}

const fn prefix(relation: Relation, side: Side) -> &'static str {
    match (relation, side) {
        (Relation::Mute, Side::Owner) => "mute#",
        (Relation::Mute, Side::Other) => "muted-by#",
        (Relation::Block, Side::Owner) => "block#",
        (Relation::Block, Side::Other) => "blocked-by#",
    }
}

/// The attribute of [`COUNTS`].
const fn count_of(relation: Relation) -> &'static str {
    match relation {
        Relation::Mute => "mutes",
        Relation::Block => "blocks",
    }
}

impl Relations {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.relations_table()?.to_owned(),
        })
    }

    /// Does nothing if there is such a relation already. With `ending`, the edges between the two go in the same
    /// transaction.
    pub async fn add(
        &self,
        relation: Relation,
        owner: UserId,
        other: UserId,
        at_ms: u64,
        ending: Option<&Follows>,
    ) -> Result<Added> {
        let put = |row: &Row| -> Result<_> {
            let item = Some(to_item(row)?);
            Ok(Put::builder().table_name(&self.table).set_item(item))
        };
        let [mine, theirs] = sides(relation, owner, other, at_ms);
        let mine = put(&mine)?.condition_expression("attribute_not_exists(owner_id)");
        let count = self
            .count(relation, owner, 1)
            .condition_expression("attribute_not_exists(#count) OR #count < :most")
            .expression_attribute_values(":most", number(Relation::MOST));
        let writes = [
            mine.build()
                .map(|put| TransactWriteItem::builder().put(put)),
            put(&theirs)?
                .build()
                .map(|put| TransactWriteItem::builder().put(put)),
            count
                .build()
                .map(|update| TransactWriteItem::builder().update(update)),
        ];
        let mut writes = built(writes)?;
        if let Some(follows) = ending {
            writes.extend(follows.removals(&[Edge::new(owner, other), Edge::new(other, owner)])?);
        }
        let refusals =
            dynamo::write_or_refusals(&self.client, writes, "writing a relation").await?;
        Ok(match refusals.as_deref() {
            None => Added::New,
            Some([mine, ..]) if mine == CONDITION_FAILED => Added::Existing,
            Some(_) => Added::TooMany,
        })
    }

    /// Does nothing if there is no such relation. Says whether there was one.
    pub async fn remove(&self, relation: Relation, owner: UserId, other: UserId) -> Result<bool> {
        let delete = |row: &Row| {
            Delete::builder()
                .table_name(&self.table)
                .set_key(Some(row.key()))
        };
        let [mine, theirs] = sides(relation, owner, other, 0);
        let mine = delete(&mine).condition_expression("attribute_exists(owner_id)");
        let writes = [
            mine.build()
                .map(|delete| TransactWriteItem::builder().delete(delete)),
            delete(&theirs)
                .build()
                .map(|delete| TransactWriteItem::builder().delete(delete)),
            self.count(relation, owner, -1)
                .build()
                .map(|update| TransactWriteItem::builder().update(update)),
        ];
        dynamo::write_once(&self.client, built(writes)?, "removing a relation").await
    }

    /// The people with whom somebody has made this relation, behind a cursor. All of them are read.
    pub async fn page(
        &self,
        relation: Relation,
        owner: UserId,
        after: Option<RelationCursor>,
        limit: usize,
    ) -> Result<RelatedPage> {
        let mut all = self.rows(relation, Side::Owner, owner, usize::MAX).await?;
        all.retain(|related| after.is_none_or(|after| *related < after.last));
        all.sort_unstable_by(|a, b| b.cmp(a));
        let more = all.len() > limit;
        all.truncate(limit);
        let last = all.last().filter(|_| more);
        Ok(RelatedPage {
            next: last.map(|last| RelationCursor::new(relation, *last)),
            ids: all.into_iter().map(|related| related.other).collect(),
        })
    }

    /// The authors whom this user must not be shown: those whom they muted or blocked, and those who blocked them. Any
    /// number of people may have done that, so only [`Relation::MOST`] of them are read. Nothing of the others comes into
    /// a home timeline by an edge, because there is none.
    pub async fn excluded(&self, user: UserId) -> Result<HashSet<UserId>> {
        let most = usize::try_from(Relation::MOST).unwrap_or(usize::MAX);
        let (muted, blocked, blockers) = tokio::try_join!(
            self.rows(Relation::Mute, Side::Owner, user, most),
            self.rows(Relation::Block, Side::Owner, user, most),
            self.rows(Relation::Block, Side::Other, user, most)
        )?;
        let all = [muted, blocked, blockers].into_iter().flatten();
        Ok(all.map(|related| related.other).collect())
    }

    /// Has `owner` blocked `other`? One item is read.
    pub async fn blocks(&self, owner: UserId, other: UserId) -> Result<bool> {
        let [mine, _] = sides(Relation::Block, owner, other, 0);
        let get = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(mine.key()))
            .consistent_read(true);
        let answer = get.send().await.map_err(failed("GetItem"))?;
        Ok(answer.item.is_some())
    }

    /// Which of these people `owner` has in this relation. Reads an item for each, and must agree with what they did last.
    pub async fn standing(
        &self,
        relation: Relation,
        owner: UserId,
        others: &[UserId],
    ) -> Result<HashSet<UserId>> {
        let keys = others.iter().map(|other| {
            let [mine, _] = sides(relation, owner, *other, 0);
            mine.key()
        });
        self.others(keys.collect()).await
    }

    /// Which of these people are on either side of a block with `me`. Reads two items for each.
    pub async fn apart(&self, me: UserId, others: &BTreeSet<UserId>) -> Result<HashSet<UserId>> {
        let keys = others
            .iter()
            .filter(|other| **other != me)
            .flat_map(|other| {
                let [mine, _] = sides(Relation::Block, me, *other, 0);
                let [_, theirs] = sides(Relation::Block, *other, me, 0);
                [mine.key(), theirs.key()]
            });
        self.others(keys.collect()).await
    }

    /// The other people of the items with these keys.
    async fn others(&self, keys: Vec<Item>) -> Result<HashSet<UserId>> {
        let items = dynamo::get_many(&self.client, &self.table, keys, true).await?;
        let rows = items
            .into_iter()
            .map(|item| from_item::<Row>("a relation", item));
        rows.map(|row| row.map(|row| UserId::new(row.other_id)))
            .collect()
    }

    /// The 403 that clients read if `owner` has blocked them.
    pub async fn refuse_blocked(&self, owner: UserId, me: UserId) -> Result<()> {
        if owner != me && self.blocks(owner, me).await? {
            return Err(Error::Blocked(BLOCKED));
        }
        Ok(())
    }

    /// For a transaction that must not happen if `owner` has blocked `other`.
    pub(super) fn unless_blocks(&self, owner: UserId, other: UserId) -> Result<TransactWriteItem> {
        let [mine, _] = sides(Relation::Block, owner, other, 0);
        let check = ConditionCheck::builder()
            .table_name(&self.table)
            .set_key(Some(mine.key()))
            .condition_expression("attribute_not_exists(owner_id)")
            .build()
            .map_err(failed("TransactWriteItems"))?;
        Ok(TransactWriteItem::builder().condition_check(check).build())
    }

    /// Some of the people with whom somebody has made this relation.
    pub async fn some_others(
        &self,
        relation: Relation,
        owner: UserId,
        count: usize,
    ) -> Result<Vec<UserId>> {
        let rows = self.rows(relation, Side::Owner, owner, count).await?;
        Ok(rows.into_iter().map(|related| related.other).collect())
    }

    /// Some of the people who have made this relation with somebody.
    pub async fn some_owners(
        &self,
        relation: Relation,
        other: UserId,
        count: usize,
    ) -> Result<Vec<UserId>> {
        let rows = self.rows(relation, Side::Other, other, count).await?;
        Ok(rows.into_iter().map(|related| related.other).collect())
    }

    /// For an account that has gone, with all its relations.
    pub async fn forget_counts(&self, owner: UserId) -> Result<()> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.table)
            .set_key(Some(key(owner.get(), COUNTS)));
        delete.send().await.map_err(failed("DeleteItem")).map(drop)
    }

    /// Up to `count` items of one side, in no order that means anything.
    async fn rows(
        &self,
        relation: Relation,
        side: Side,
        of: UserId,
        count: usize,
    ) -> Result<Vec<Related>> {
        let (mut rows, mut start) = (Vec::new(), None);
        loop {
            let left = i32::try_from(count - rows.len()).ok();
            let query = self
                .client
                .query()
                .table_name(&self.table)
                .key_condition_expression("owner_id = :of AND begins_with(relation, :relation)")
                .expression_attribute_values(":of", number(of.get()))
                .expression_attribute_values(":relation", string(prefix(relation, side)))
                .projection_expression("owner_id, relation, other_id, at_ms")
                .consistent_read(true)
                .set_limit(left)
                .set_exclusive_start_key(start);
            let answer = query.send().await.map_err(failed("Query"))?;
            for item in answer.items.unwrap_or_default() {
                let row: Row = from_item("a relation", item)?;
                rows.push(Related {
                    at_ms: row.at_ms,
                    other: UserId::new(row.other_id),
                });
            }
            start = answer.last_evaluated_key;
            if start.is_none() || rows.len() >= count {
                return Ok(rows);
            }
        }
    }

    fn count(&self, relation: Relation, owner: UserId, by: i8) -> UpdateBuilder {
        Update::builder()
            .table_name(&self.table)
            .set_key(Some(key(owner.get(), COUNTS)))
            .update_expression("ADD #count :by")
            .expression_attribute_names("#count", count_of(relation))
            .expression_attribute_values(":by", AttributeValue::N(by.to_string()))
    }
}

fn key(owner: u64, relation: &str) -> Item {
    Item::from([
        ("owner_id".to_owned(), number(owner)),
        ("relation".to_owned(), string(relation)),
    ])
}

/// The owner's item and the other person's.
fn sides(relation: Relation, owner: UserId, other: UserId, at_ms: u64) -> [Row; 2] {
    let row = |side, of: UserId, other: UserId| Row {
        owner_id: of.get(),
        relation: format!("{}{other}", prefix(relation, side)),
        other_id: other.get(),
        at_ms,
    };
    [
        row(Side::Owner, owner, other),
        row(Side::Other, other, owner),
    ]
}

fn built<const N: usize>(
    writes: [Result<TransactWriteItemBuilder, BuildError>; N],
) -> Result<Vec<TransactWriteItem>> {
    let writes = writes.into_iter().map(|write| Ok(write?.build()));
    let writes: Result<_, BuildError> = writes.collect();
    writes.map_err(failed("TransactWriteItems"))
}
