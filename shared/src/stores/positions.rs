//! Where the last run of a scheduled function stopped: items `position#<job>` of the `ledger` table.

use aws_sdk_dynamodb::Client;
use serde::{Deserialize, Serialize};

use super::dynamo::{failed, from_item, string, to_item};
use crate::Result;
use crate::platform::Roost;

#[derive(Clone)]
pub struct Positions {
    client: Client,
    table: String,
}

#[derive(Serialize, Deserialize)]
struct PositionRow {
    pk: String,
    after: String,
}

impl Positions {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.ledger_table()?.to_owned(),
        })
    }

    /// Where the job's next run begins; `None` at the beginning.
    pub async fn get(&self, job: &str) -> Result<Option<String>> {
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("pk", string(key(job)))
            .consistent_read(true);
        let item = request.send().await.map_err(failed("GetItem"))?.item;
        let row: Option<PositionRow> = item
            .map(|item| from_item("the position of a job", item))
            .transpose()?;
        Ok(row.map(|row| row.after).filter(|after| !after.is_empty()))
    }

    pub async fn set(&self, job: &str, after: Option<String>) -> Result<()> {
        let row = PositionRow {
            pk: key(job),
            after: after.unwrap_or_default(),
        };
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(to_item(&row)?));
        put.send().await.map_err(failed("PutItem")).map(drop)
    }
}

fn key(job: &str) -> String {
    format!("position#{job}")
}
