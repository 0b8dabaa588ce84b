//! Tickets for live updates: items `ticket#<place>` of the table `live`, a bounded number for each user.
//!
//! They are in the table and not in Redis, because a Redis that fails over may forget that a ticket was used.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use sha2::{Digest, Sha256};

use super::dynamo::{Item, failed, number, string};
use crate::domain::ticket::GOOD_FOR_MS;
use crate::domain::{Ticket, UserId};
use crate::platform::Roost;
use crate::{Error, Result};

#[derive(Clone)]
pub struct Tickets {
    client: Client,
    table: String,
}

impl Tickets {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.live_table()?.to_owned(),
        })
    }

    /// A new ticket for this user, and when it ends, in milliseconds since 1970.
    pub async fn issue(&self, user: UserId, now_millis: u64) -> Result<(Ticket, u64)> {
        let mut random = [0; 24];
        getrandom::fill(&mut random).map_err(|_| Error::GaveUp("finding a random number"))?;
        let ticket = Ticket::new(user, random);
        let ends_at = now_millis + GOOD_FOR_MS;
        let mut item = key(&ticket);
        item.insert("secret".to_owned(), hash(&ticket));
        item.insert("ends_at".to_owned(), number(ends_at));
        // For the table to clean up. Until then, `ends_at` decides.
        item.insert("expires_at".to_owned(), number(ends_at / 1_000 + 60));
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item));
        put.send().await.map_err(failed("PutItem"))?;
        Ok((ticket, ends_at))
    }

    /// Uses the ticket up. `false` if it was used before, has ended, or never was one.
    pub async fn redeem(&self, ticket: &Ticket, now_millis: u64) -> Result<bool> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.table)
            .set_key(Some(key(ticket)))
            .condition_expression("secret = :secret AND ends_at > :now")
            .expression_attribute_values(":secret", hash(ticket))
            .expression_attribute_values(":now", number(now_millis));
        match delete.send().await {
            Ok(_) => Ok(true),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(DeleteItemError::is_conditional_check_failed_exception) =>
            {
                Ok(false)
            }
            Err(error) => Err(failed("DeleteItem")(error)),
        }
    }
}

fn key(ticket: &Ticket) -> Item {
    Item::from([
        ("user_id".to_owned(), number(ticket.user.get())),
        (
            "item".to_owned(),
            string(format!("ticket#{}", ticket.place)),
        ),
    ])
}

/// Whoever reads the table cannot use what they find there.
fn hash(ticket: &Ticket) -> AttributeValue {
    AttributeValue::B(Blob::new(Sha256::digest(ticket.secret).to_vec()))
}
