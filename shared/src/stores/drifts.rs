//! Differences between counts and edges that reconciliation has seen: items `drift#<user>` of the `ledger` table.

use aws_sdk_dynamodb::Client;
use serde::{Deserialize, Serialize};

use super::dynamo::{failed, from_item, string, to_item};
use crate::Result;
use crate::domain::UserId;
use crate::platform::{Roost, now_millis};

const SECONDS: u64 = 7 * 24 * 3600;

#[derive(Clone)]
pub struct Drifts {
    client: Client,
    table: String,
}

/// A difference between counts and edges: what the edges say, and at which version of the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    pub followers: u64,
    pub following: u64,
    pub version: u64,
}

/// `drift#<user>`.
#[derive(Serialize, Deserialize)]
struct DriftRow {
    pk: String,
    #[serde(flatten)]
    drift: Drift,
    expires_at: u64,
}

impl Drifts {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            client: roost.aws.dynamodb(),
            table: roost.config.ledger_table()?.to_owned(),
        })
    }

    /// `true` if the very same difference was seen before. Otherwise it is remembered.
    pub async fn seen_again(&self, user: UserId, drift: Drift) -> Result<bool> {
        let pk = drift_key(user);
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("pk", string(&pk))
            .consistent_read(true);
        let item = request.send().await.map_err(failed("GetItem"))?.item;
        let before: Option<DriftRow> = item
            .map(|item| from_item("what reconciliation remembers", item))
            .transpose()?;
        if before.is_some_and(|before| before.drift == drift) {
            return Ok(true);
        }
        let row = DriftRow {
            pk,
            drift,
            expires_at: now_millis() / 1_000 + SECONDS,
        };
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(to_item(&row)?));
        put.send().await.map_err(failed("PutItem"))?;
        Ok(false)
    }

    pub async fn forget(&self, user: UserId) -> Result<()> {
        let delete = self
            .client
            .delete_item()
            .table_name(&self.table)
            .key("pk", string(drift_key(user)));
        delete.send().await.map_err(failed("DeleteItem")).map(drop)
    }
}

fn drift_key(user: UserId) -> String {
    format!("drift#{user}")
}
