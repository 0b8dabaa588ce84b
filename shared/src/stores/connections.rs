//! The connections for live updates: items `connection#<id>` of the table `live`.
//!
//! An item holds what its connection was told, and the message that is to go out, if there is one (`to_send`). The
//! table's stream carries such an item to `send-news`. If an item is removed, for whatever reason, `send-news` ends the
//! connection.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};

use super::dynamo::{self, Item, failed, from_item, number, string, to_item};
use crate::Result;
use crate::domain::live::{CONNECTION_SECONDS, GATHER_MS, Heard, MOST_CONNECTIONS, ToClient};
use crate::domain::{TweetId, UserId};
use crate::platform::Roost;

const PREFIX: &str = "connection#";

/// Items that an erasure removes at once. A user has at most as many tickets and connections.
const PIECE: i32 = 100;

#[derive(Clone)]
pub struct Connections {
    client: Client,
    table: String,
}

/// One connection, as the table has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    user_id: u64,
    /// `connection#` and the id that API Gateway gave it.
    item: String,
    connected_at: u64,
    /// The newest position that the client knows of.
    since: u64,
    /// For the table to clean up, in seconds.
    expires_at: u64,
    /// When the tweets of the last message were counted.
    #[serde(default)]
    counted_at: u64,
    /// When the last message went out.
    #[serde(default)]
    sent_at: u64,
    #[serde(default)]
    count: usize,
    #[serde(default)]
    capped: bool,
    /// There while the message is on its way: when it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to_send: Option<u64>,
}

/// A piece of all connections there are.
pub struct ConnectionPage {
    pub users: Vec<UserId>,
    /// Where the next piece begins; `None` at the end.
    pub next: Option<Place>,
}

/// A place in the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    user_id: u64,
    item: String,
}

impl Place {
    /// `false` for a ticket.
    pub fn is_connection(&self) -> bool {
        self.item.starts_with(PREFIX)
    }
}

impl Connection {
    fn new(user: UserId, id: &str, since: TweetId, now_millis: u64) -> Self {
        Self {
            user_id: user.get(),
            item: format!("{PREFIX}{id}"),
            connected_at: now_millis,
            since: since.get(),
            expires_at: now_millis / 1_000 + CONNECTION_SECONDS,
            counted_at: 0,
            sent_at: 0,
            count: 0,
            capped: false,
            to_send: None,
        }
    }

    pub const fn user(&self) -> UserId {
        UserId::new(self.user_id)
    }

    /// What API Gateway calls it.
    pub fn id(&self) -> &str {
        self.item.strip_prefix(PREFIX).unwrap_or_default()
    }

    /// API Gateway refuses messages for a connection that is not quite open yet, and says that it is gone. From this time on
    /// it is open.
    pub const fn opens_at(&self) -> u64 {
        self.connected_at + GATHER_MS
    }

    /// Tells one message of the connection from another; 0 if there is none.
    pub fn message_number(&self) -> u64 {
        self.to_send.unwrap_or_default()
    }

    /// The same message as before: something else of the connection changed.
    pub fn has_message_of(&self, before: &Self) -> bool {
        self.to_send == before.to_send
    }

    pub const fn since(&self) -> TweetId {
        TweetId::new(self.since)
    }

    /// The message that is to go out.
    pub fn message(&self) -> Option<ToClient> {
        self.to_send.map(|_| ToClient::New {
            count: self.count,
            capped: self.capped,
            newest_id: self.since(),
        })
    }
}

/// What all connections of one user together have heard.
pub fn heard(connections: &[Connection]) -> Heard {
    let of = |field: fn(&Connection) -> u64| connections.iter().map(field);
    Heard {
        counted_at: of(|it| it.counted_at).min().unwrap_or_default(),
        sent_at: of(|it| it.sent_at).max().unwrap_or_default(),
        on_its_way_since: connections.iter().filter_map(|it| it.to_send).max(),
    }
}

impl Connections {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.live_table()?.to_owned(),
        })
    }

    /// Remembers a new connection. If the user has too many, the oldest ones go.
    pub async fn add(&self, user: UserId, id: &str, now_millis: u64) -> Result<()> {
        let mut before = self.of_user(user).await?;
        before.sort_by_key(|connection| connection.connected_at);
        let too_many = (before.len() + 1).saturating_sub(MOST_CONNECTIONS);
        for connection in &before[..too_many] {
            self.remove(user, connection.id()).await?;
        }
        let connection = Connection::new(user, id, TweetId::first_at(now_millis), now_millis);
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(to_item(&connection)?));
        put.send().await.map_err(failed("PutItem")).map(drop)
    }

    pub async fn remove(&self, user: UserId, id: &str) -> Result<()> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.table)
            .set_key(Some(key(user, id)));
        delete.send().await.map_err(failed("DeleteItem")).map(drop)
    }

    /// All connections of a user, at most a few more than [`MOST_CONNECTIONS`].
    pub async fn of_user(&self, user: UserId) -> Result<Vec<Connection>> {
        let query = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("user_id = :user AND begins_with(#item, :connection)")
            .expression_attribute_names("#item", "item")
            .expression_attribute_values(":user", number(user.get()))
            .expression_attribute_values(":connection", string(PREFIX))
            .consistent_read(true)
            .limit(PIECE);
        let items = query.send().await.map_err(failed("Query"))?.items;
        let items = items.unwrap_or_default().into_iter();
        items.map(|item| from_item("a connection", item)).collect()
    }

    /// Leaves a message for `send-news`. `false` if the connection is gone, or has said meanwhile what it has seen.
    pub async fn leave_message(
        &self,
        connection: &Connection,
        count: usize,
        capped: bool,
        newest: TweetId,
        counted_at: u64,
    ) -> Result<bool> {
        let update = self
            .update(connection.user(), connection.id())
            .update_expression(
                "SET #count = :count, capped = :capped, since = :newest, counted_at = :at, to_send = :at",
            )
            .expression_attribute_names("#count", "count")
            .expression_attribute_values(":count", number(count as u64))
            .expression_attribute_values(":capped", AttributeValue::Bool(capped))
            .expression_attribute_values(":newest", number(newest.get()))
            .expression_attribute_values(":at", number(counted_at))
            .expression_attribute_values(":since", number(connection.since));
        dynamo::update_if(update.condition_expression("since = :since")).await
    }

    /// The message went out. Does nothing if there is another one by now.
    pub async fn sent(&self, connection: &Connection, now_millis: u64) -> Result<()> {
        let Some(to_send) = connection.to_send else {
            return Ok(());
        };
        let update = self
            .update(connection.user(), connection.id())
            .update_expression("SET sent_at = :now REMOVE to_send")
            .condition_expression("to_send = :sent")
            .expression_attribute_values(":now", number(now_millis))
            .expression_attribute_values(":sent", number(to_send));
        dynamo::update_if(update).await.map(drop)
    }

    /// The client knows everything up to this position. What it heard before does not count any more.
    pub async fn seen(&self, user: UserId, id: &str, newest: TweetId) -> Result<()> {
        let update = self
            .update(user, id)
            .update_expression("SET since = :newest, counted_at = :never")
            .condition_expression("attribute_exists(user_id)")
            .expression_attribute_values(":newest", number(newest.get()))
            .expression_attribute_values(":never", number(0));
        dynamo::update_if(update).await.map(drop)
    }

    /// Those who are connected, a piece at a time. Somebody with several connections is there several times.
    pub async fn page(&self, from: Option<Place>, limit: usize) -> Result<ConnectionPage> {
        let start = from.as_ref().map(to_item).transpose()?;
        let scan = self
            .client
            .scan()
            .table_name(&self.table)
            .filter_expression("begins_with(#item, :connection)")
            .expression_attribute_names("#item", "item")
            .expression_attribute_values(":connection", string(PREFIX))
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .set_exclusive_start_key(start);
        let answer = scan.send().await.map_err(failed("Scan"))?;
        let items = answer.items.unwrap_or_default().into_iter();
        let users =
            items.map(|item| from_item::<Connection>("a connection", item).map(|it| it.user()));
        let next = answer.last_evaluated_key;
        Ok(ConnectionPage {
            users: users.collect::<Result<_>>()?,
            next: next
                .map(|key| from_item("a place in the table", key))
                .transpose()?,
        })
    }

    /// Removes everything that is kept of a user here: connections, which end by that, and tickets.
    pub async fn erase(&self, user: UserId) -> Result<()> {
        let query = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression("user_id = :user")
            .expression_attribute_values(":user", number(user.get()))
            .projection_expression("user_id, #item")
            .expression_attribute_names("#item", "item")
            .consistent_read(true)
            .limit(PIECE);
        let items = query.send().await.map_err(failed("Query"))?.items;
        let keys = items.unwrap_or_default().into_iter();
        let keys = keys.map(|key| (self.table.clone(), key));
        dynamo::delete_many(&self.client, keys.collect()).await
    }

    fn update(&self, user: UserId, id: &str) -> UpdateItemFluentBuilder {
        self.client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key(user, id)))
    }
}

fn key(user: UserId, id: &str) -> Item {
    Item::from([
        ("user_id".to_owned(), number(user.get())),
        ("item".to_owned(), string(format!("{PREFIX}{id}"))),
    ])
}
