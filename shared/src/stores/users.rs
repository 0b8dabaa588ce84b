//! The `users` table: profiles, and which profile a token or a handle belongs to.
//!
//! One item each: `user#<id>`, `sub#<sub>`, `handle#<handle>`. They are written in one transaction, and removed in one
//! ([`super::erasures`]), so a handle and a token always lead to a whole profile.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, Put, ReturnValue, TransactWriteItem};
use serde::{Deserialize, Serialize};

use super::dynamo::{self, failed, from_item, string, to_item};
use crate::domain::tier::{Policy, PostingRate, Standing, Tier, TierAndEpoch, Weight};
use crate::domain::{
    AvatarUrl, Bio, DisplayName, Handle, HandlePrefix, ProfileChange, User, UserId,
};
use crate::platform::{Roost, metrics};
use crate::{Error, Result};

#[derive(Clone)]
pub struct Users {
    client: Client,
    table: String,
}

/// `user#<id>`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserRow {
    pk: String,
    pub user_id: u64,
    pub sub: String,
    pub handle: Handle,
    pub name: DisplayName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bio: Option<Bio>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avatar_url: Option<AvatarUrl>,
    /// As it is stored. A batch that is redriven after a reconciliation can bring it below zero for a while, so what is
    /// shown is [`Self::followers`].
    pub follower_count: i64,
    pub following_count: i64,
    /// Grows with every change of the counts or the tier.
    pub version: u64,
    #[serde(default)]
    pub tier: Tier,
    /// How often the tier flipped.
    #[serde(default)]
    pub epoch: u64,
    #[serde(default)]
    tier_since_ms: u64,
    /// See [`PostingRate`]; kept if the policy needs it.
    #[serde(default)]
    tweets_per_day: f64,
    #[serde(default)]
    rate_at_ms: u64,
}

impl UserRow {
    pub const fn id(&self) -> UserId {
        UserId::new(self.user_id)
    }

    /// At least zero, whatever is stored.
    pub fn followers(&self) -> u64 {
        u64::try_from(self.follower_count).unwrap_or_default()
    }

    /// At least zero, whatever is stored.
    pub fn following(&self) -> u64 {
        u64::try_from(self.following_count).unwrap_or_default()
    }

    /// Where a scan goes on behind this user.
    pub fn position(&self) -> String {
        self.pk.clone()
    }

    pub const fn tier_and_epoch(&self) -> TierAndEpoch {
        TierAndEpoch {
            tier: self.tier,
            epoch: self.epoch,
        }
    }

    /// The flip that is due for this user, if any.
    pub fn due_flip(&self, policy: &Policy, now_ms: u64) -> Option<Tier> {
        let standing = Standing {
            tier: self.tier,
            since_ms: self.tier_since_ms,
        };
        let tweets_per_day = self.posting_rate().at(now_ms).tweets_per_day;
        policy.flip(
            standing,
            Weight {
                followers: self.followers(),
                tweets_per_day,
            },
            now_ms,
        )
    }

    const fn posting_rate(&self) -> PostingRate {
        PostingRate {
            tweets_per_day: self.tweets_per_day,
            at_ms: self.rate_at_ms,
        }
    }
}

/// `sub#<sub>` and `handle#<handle>`.
#[derive(Serialize, Deserialize)]
struct PointerRow {
    pk: String,
    user_id: u64,
    /// See [`Handle::group`]. Items that have it are in the index [`BY_HANDLE`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handle_group: Option<String>,
}

/// The index of handles: partitioned by their first two characters, sorted by `pk`.
///
/// The writes of a partition are sign-ups whose handles begin alike: it takes a thousand of them a second. One search reads
/// less than 4 KB of it.
const BY_HANDLE: &str = "by_handle";

pub enum SignUp {
    Created(User),
    Existing(User),
}

impl From<UserRow> for User {
    fn from(row: UserRow) -> Self {
        let id = UserId::new(row.user_id);
        Self {
            id,
            follower_count: row.followers(),
            following_count: row.following(),
            handle: row.handle,
            name: row.name,
            bio: row.bio,
            avatar_url: row.avatar_url,
            created_at: id.created_at(),
            is_celebrity: row.tier.is_celebrity(),
        }
    }
}

/// The rows that can be read. The others are reported, and do not take their neighbours with them.
fn readable(items: Vec<dynamo::Item>) -> Vec<UserRow> {
    let mut rows = Vec::with_capacity(items.len());
    for item in items {
        let pk = item.get("pk").and_then(|pk| pk.as_s().ok()).cloned();
        match from_item("a user row", item) {
            Ok(row) => rows.push(row),
            Err(error) => {
                metrics::UNREADABLE_ROWS.add(1);
                tracing::error!(pk, error = error.chain(), "user row left out");
            }
        }
    }
    rows
}

pub(super) fn user_key(id: UserId) -> String {
    format!("user#{id}")
}

pub(super) fn sub_key(sub: &str) -> String {
    format!("sub#{sub}")
}

pub(super) fn handle_key(handle: &Handle) -> String {
    format!("handle#{}", handle.key())
}

/// What the keys of all handles have in common that begin so.
fn prefix_key(prefix: &HandlePrefix) -> String {
    format!("handle#{}", prefix.as_str())
}

impl Users {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.users_table()?.to_owned(),
        })
    }

    /// Creates a profile for `sub`, under a new id. The same request again gives the same profile.
    pub async fn sign_up(
        &self,
        id: UserId,
        sub: &str,
        handle: Handle,
        name: DisplayName,
    ) -> Result<SignUp> {
        let row = UserRow {
            pk: user_key(id),
            user_id: id.get(),
            sub: sub.to_owned(),
            handle: handle.clone(),
            name: name.clone(),
            bio: None,
            avatar_url: None,
            follower_count: 0,
            following_count: 0,
            version: 0,
            tier: Tier::Normal,
            epoch: 0,
            tier_since_ms: 0,
            tweets_per_day: 0.0,
            rate_at_ms: 0,
        };
        let pointers = [(sub_key(sub), None), (handle_key(&handle), handle.group())].map(
            |(pk, handle_group)| PointerRow {
                pk,
                user_id: id.get(),
                handle_group,
            },
        );
        let mut items = vec![to_item(&row)?];
        for pointer in &pointers {
            items.push(to_item(pointer)?);
        }
        let mut transaction = self.client.transact_write_items();
        for item in items {
            let put = Put::builder()
                .table_name(&self.table)
                .set_item(Some(item))
                .condition_expression("attribute_not_exists(pk)")
                .build()
                .map_err(failed("TransactWriteItems"))?;
            transaction = transaction.transact_items(TransactWriteItem::builder().put(put).build());
        }
        match transaction.send().await {
            Ok(_) => Ok(SignUp::Created(row.into())),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(TransactWriteItemsError::is_transaction_canceled_exception) =>
            {
                self.explain_refusal(sub, &handle, &name).await
            }
            Err(error) => Err(failed("TransactWriteItems")(error)),
        }
    }

    async fn explain_refusal(
        &self,
        sub: &str,
        handle: &Handle,
        name: &DisplayName,
    ) -> Result<SignUp> {
        if let Some(id) = self.find_by_sub(sub).await? {
            let user = self.find(id).await?.ok_or(Error::NoProfile)?;
            // The same request again, whose answer may have been lost. Another name would be lost without a word.
            if user.handle.key() == handle.key() && user.name == *name {
                return Ok(SignUp::Existing(user));
            }
            return Err(Error::ProfileExists(user.handle.as_str().to_owned()));
        }
        if self.is_taken(handle).await? {
            return Err(Error::HandleTaken(handle.as_str().to_owned()));
        }
        // Neither is there: two sign-ups met, and both were refused. The client may simply try again.
        Err(Error::SignUpUnderWay)
    }

    pub async fn find_by_sub(&self, sub: &str) -> Result<Option<UserId>> {
        self.pointer(sub_key(sub)).await
    }

    /// Has somebody this handle?
    pub async fn is_taken(&self, handle: &Handle) -> Result<bool> {
        Ok(self.pointer(handle_key(handle)).await?.is_some())
    }

    pub async fn find_by_handle(&self, handle: &Handle) -> Result<Option<User>> {
        match self.pointer(handle_key(handle)).await? {
            Some(id) => self.find(id).await,
            None => Ok(None),
        }
    }

    /// The people whose handles begin so, in the order of their handles, without regard to case. The index lags behind
    /// the table by a moment, so somebody may have no profile any more.
    pub async fn find_by_prefix(&self, prefix: &HandlePrefix, limit: usize) -> Result<Vec<UserId>> {
        let answer = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(BY_HANDLE)
            .key_condition_expression("handle_group = :group AND begins_with(pk, :beginning)")
            .expression_attribute_values(":group", string(prefix.group()))
            .expression_attribute_values(":beginning", string(prefix_key(prefix)))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await
            .map_err(failed("Query"))?;
        let items = answer.items.unwrap_or_default().into_iter();
        items
            .map(|item| {
                from_item::<PointerRow>("a user pointer", item).map(|row| UserId::new(row.user_id))
            })
            .collect()
    }

    /// Puts the handle of a user into the index, if it is not there: those who signed up before there was an index are not.
    /// Says whether it was put there now.
    pub async fn index_handle(&self, row: &UserRow) -> Result<bool> {
        let Some(group) = row.handle.group() else {
            return Ok(false);
        };
        let update = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("pk", string(handle_key(&row.handle)))
            .update_expression("SET handle_group = :group")
            // Not if the account has gone meanwhile, or the handle is somebody else's.
            .condition_expression("user_id = :id AND attribute_not_exists(handle_group)")
            .expression_attribute_values(":group", string(group))
            .expression_attribute_values(":id", dynamo::number(row.user_id));
        dynamo::update_if(update).await
    }

    pub async fn find(&self, id: UserId) -> Result<Option<User>> {
        Ok(self.row(id).await?.map(User::from))
    }

    /// The user, or the 404 that clients read.
    pub async fn get(&self, id: UserId) -> Result<User> {
        self.find(id).await?.ok_or(Error::NoUser(id))
    }

    /// To be asked after every write on behalf of a user. If the profile was deleted meanwhile, the write has to be undone,
    /// because the erasure may have passed already.
    pub async fn still_exists(&self, id: UserId) -> Result<bool> {
        Ok(self.item(user_key(id)).await?.is_some())
    }

    pub async fn row(&self, id: UserId) -> Result<Option<UserRow>> {
        self.item(user_key(id))
            .await?
            .map(|item| from_item("a user row", item))
            .transpose()
    }

    /// These users' rows, in no order; ids without a profile, or whose row cannot be read, are left out.
    pub async fn rows(&self, ids: impl IntoIterator<Item = UserId>) -> Result<Vec<UserRow>> {
        let keys = ids
            .into_iter()
            .map(|id| dynamo::Item::from([("pk".to_owned(), string(user_key(id)))]))
            .collect();
        let items = dynamo::get_many(&self.client, &self.table, keys, true).await?;
        Ok(readable(items))
    }

    /// These users in the order of their ids as given; ids without a profile are left out.
    pub async fn list(&self, ids: &[UserId]) -> Result<Vec<User>> {
        let mut users: Vec<User> = self
            .rows(ids.iter().copied())
            .await?
            .into_iter()
            .map(User::from)
            .collect();
        users.sort_by_key(|user| ids.iter().position(|id| *id == user.id));
        Ok(users)
    }

    /// About `count` users behind a position, and the position behind them; `None` at the end of the table. Rows that
    /// cannot be read are left out.
    pub async fn scan(
        &self,
        after: Option<String>,
        count: usize,
    ) -> Result<(Vec<UserRow>, Option<String>)> {
        #[derive(Deserialize)]
        struct Key {
            pk: String,
        }
        let mut rows = Vec::new();
        let mut start = after.map(|pk| dynamo::Item::from([("pk".to_owned(), string(pk))]));
        loop {
            let scan = self
                .client
                .scan()
                .table_name(&self.table)
                .filter_expression("begins_with(pk, :user)")
                .expression_attribute_values(":user", string("user#"))
                .limit(i32::try_from(count).unwrap_or(i32::MAX))
                .consistent_read(true)
                .set_exclusive_start_key(start);
            let answer = scan.send().await.map_err(failed("Scan"))?;
            rows.extend(readable(answer.items.unwrap_or_default()));
            start = answer.last_evaluated_key;
            if start.is_none() || rows.len() >= count {
                let position: Option<Key> =
                    start.map(|key| from_item("a position", key)).transpose()?;
                return Ok((rows, position.map(|key| key.pk)));
            }
        }
    }

    /// Changes a profile and gives its row; `None` if there is no such profile.
    pub async fn change(&self, id: UserId, change: &ProfileChange) -> Result<Option<UserRow>> {
        if change.is_empty() {
            return self.row(id).await;
        }
        let fields = [
            (
                "#name",
                change.name.as_ref().map(|name| Some(name.as_str())),
            ),
            (
                "#bio",
                change.bio.as_ref().map(|bio| bio.as_ref().map(Bio::as_str)),
            ),
            (
                "#avatar_url",
                change
                    .avatar_url
                    .as_ref()
                    .map(|url| url.as_ref().map(AvatarUrl::as_str)),
            ),
        ];
        let (mut set, mut removed) = (Vec::new(), Vec::new());
        let mut update = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("pk", string(user_key(id)))
            .condition_expression("attribute_exists(pk)")
            .return_values(ReturnValue::AllNew);
        for (name, value) in fields {
            let attribute = name.trim_start_matches('#');
            let Some(value) = value else { continue };
            update = update.expression_attribute_names(name, attribute);
            if let Some(value) = value {
                set.push(format!("{name} = :{attribute}"));
                update = update.expression_attribute_values(format!(":{attribute}"), string(value));
            } else {
                removed.push(name);
            }
        }
        let clause = |verb: &str, parts: String| {
            if parts.is_empty() {
                parts
            } else {
                format!("{verb} {parts} ")
            }
        };
        let expression = clause("SET", set.join(", ")) + &clause("REMOVE", removed.join(", "));
        match update.update_expression(expression.trim()).send().await {
            Ok(answer) => {
                let item = answer.attributes.unwrap_or_default();
                from_item("a user row", item).map(Some)
            }
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(UpdateItemError::is_conditional_check_failed_exception) =>
            {
                Ok(None)
            }
            Err(error) => Err(failed("UpdateItem")(error)),
        }
    }

    /// Sets counts to what the edges say, unless they changed since this version. `false` if they did.
    pub async fn set_counts(
        &self,
        id: UserId,
        followers: u64,
        following: u64,
        version: u64,
    ) -> Result<bool> {
        let update = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("pk", string(user_key(id)))
            .update_expression(
                "SET follower_count = :followers, following_count = :following ADD version :one",
            )
            .condition_expression("version = :version")
            .expression_attribute_values(":followers", dynamo::number(followers))
            .expression_attribute_values(":following", dynamo::number(following))
            .expression_attribute_values(":version", dynamo::number(version))
            .expression_attribute_values(":one", dynamo::number(1));
        dynamo::update_if(update).await
    }

    /// Counts a tweet into the author's posting rate and gives the row with it. A rate may be a tweet off, so nothing
    /// is done about two writers at once but to let one of them win.
    pub async fn count_tweet(&self, author: UserId, now_ms: u64) -> Result<Option<UserRow>> {
        let Some(mut row) = self.row(author).await? else {
            return Ok(None);
        };
        let rate = row.posting_rate().with_tweet(now_ms);
        (row.tweets_per_day, row.rate_at_ms) = (rate.tweets_per_day, rate.at_ms);
        self.client
            .update_item()
            .table_name(&self.table)
            .key("pk", string(user_key(author)))
            .update_expression("SET tweets_per_day = :rate, rate_at_ms = :at")
            .condition_expression("attribute_exists(pk)")
            .expression_attribute_values(
                ":rate",
                AttributeValue::N(format!("{:.6}", rate.tweets_per_day)),
            )
            .expression_attribute_values(":at", dynamo::number(rate.at_ms))
            .send()
            .await
            .map_err(failed("UpdateItem"))?;
        Ok(Some(row))
    }

    async fn pointer(&self, pk: String) -> Result<Option<UserId>> {
        let item = self.item(pk).await?;
        let row: Option<PointerRow> = item
            .map(|item| from_item("a user pointer", item))
            .transpose()?;
        Ok(row.map(|row| UserId::new(row.user_id)))
    }

    async fn item(&self, pk: String) -> Result<Option<dynamo::Item>> {
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("pk", string(pk))
            .consistent_read(true);
        Ok(request.send().await.map_err(failed("GetItem"))?.item)
    }
}
