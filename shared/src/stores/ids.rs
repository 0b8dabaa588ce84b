//! New ids for users and tweets.
//!
//! Every sandbox makes its own, in a lane that nobody else has. It takes the lane from a counter in the `users` table
//! (item `lanes`) when it makes its first id; most sandboxes never make one.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::ReturnValue;
use serde::Deserialize;
use tokio::sync::Mutex;

use super::dynamo::{failed, from_item, number, string};
use crate::domain::IdMaker;
use crate::platform::{Roost, now_millis};
use crate::{Error, Result};

#[derive(Clone)]
pub struct Ids {
    client: Client,
    table: String,
    maker: Arc<Mutex<Option<IdMaker>>>,
}

impl Ids {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.users_table()?.to_owned(),
            maker: Arc::default(),
        })
    }

    /// A new id for a user or a tweet.
    pub async fn next(&self) -> Result<u64> {
        let mut maker = self.maker.lock().await;
        if maker.is_none() {
            *maker = Some(IdMaker::new(self.next_lane().await?));
        }
        let maker = maker.as_mut().ok_or(Error::GaveUp("taking a lane"))?;
        Ok(maker.next_id(now_millis()))
    }

    async fn next_lane(&self) -> Result<u64> {
        #[derive(Deserialize)]
        struct Lanes {
            taken: u64,
        }
        let answer = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("pk", string("lanes"))
            .update_expression("ADD taken :one")
            .expression_attribute_values(":one", number(1))
            .return_values(ReturnValue::UpdatedNew)
            .send()
            .await
            .map_err(failed("UpdateItem"))?;
        let lanes: Lanes = from_item("the lane counter", answer.attributes.unwrap_or_default())?;
        Ok(lanes.taken)
    }
}
