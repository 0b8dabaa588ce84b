//! What scheduled functions remember between their runs, in the `ledger` table.

use aws_sdk_dynamodb::Client;
use serde::{Deserialize, Serialize};

use super::dynamo::{failed, from_item, string, to_item};
use crate::domain::UserId;
use crate::runtime::aws::Aws;
use crate::runtime::config::Config;
use crate::{Result, runtime};

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

/// `position#<job>`: where the last run of a scheduled function stopped.
#[derive(Serialize, Deserialize)]
struct PositionRow {
    pk: String,
    after: String,
}

impl Drifts {
    pub fn new(aws: &Aws, config: &Config) -> Result<Self> {
        Ok(Self {
            client: aws.dynamodb(),
            table: config.ledger_table()?.to_owned(),
        })
    }

    /// Has the very same difference been seen before? Remembers it where not.
    pub async fn seen_again(&self, user: UserId, drift: Drift) -> Result<bool> {
        let pk = drift_key(user);
        if self
            .get::<DriftRow>(&pk)
            .await?
            .is_some_and(|before| before.drift == drift)
        {
            return Ok(true);
        }
        let expires_at = runtime::now_millis() / 1_000 + SECONDS;
        self.put(&DriftRow {
            pk,
            drift,
            expires_at,
        })
        .await?;
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

    /// Where a job's last run stopped.
    pub async fn position(&self, job: &str) -> Result<Option<String>> {
        Ok(self
            .get::<PositionRow>(&position_key(job))
            .await?
            .map(|row| row.after)
            .filter(|after| !after.is_empty()))
    }

    pub async fn set_position(&self, job: &str, after: Option<String>) -> Result<()> {
        self.put(&PositionRow {
            pk: position_key(job),
            after: after.unwrap_or_default(),
        })
        .await
    }

    async fn get<T: for<'de> Deserialize<'de>>(&self, pk: &str) -> Result<Option<T>> {
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .key("pk", string(pk))
            .consistent_read(true);
        let item = request.send().await.map_err(failed("GetItem"))?.item;
        item.map(|item| from_item("what reconciliation remembers", item))
            .transpose()
    }

    async fn put(&self, row: &impl Serialize) -> Result<()> {
        let put = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(to_item(row)?));
        put.send().await.map_err(failed("PutItem")).map(drop)
    }
}

fn position_key(job: &str) -> String {
    format!("position#{job}")
}

fn drift_key(user: UserId) -> String {
    format!("drift#{user}")
}
