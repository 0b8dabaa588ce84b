//! Tables of a test's own, beside those of the deployment. They have no streams, so nothing is fanned out, counted or
//! filled unless the test does it.

use std::collections::BTreeMap;

use roost_tests::{Client, TABLES, Tables, skip};
use shared::flows::home_timeline::HomeTimelines;

use crate::stores::Stores;

pub(crate) struct IsolatedStack {
    pub(crate) stores: Stores,
    pub(crate) tables: Tables,
    /// What functions need to work on these tables.
    pub(crate) environment: BTreeMap<String, String>,
}

impl IsolatedStack {
    /// `None`, after saying that the test is skipped, if functions cannot be run beside the deployment.
    pub(crate) async fn beside(roost: Client) -> Option<Self> {
        let Some(mut environment) = roost.target().environment() else {
            skip("it runs functions by itself, which needs a local cloud");
            return None;
        };
        let name = format!("isolated{}", fastrand::u32(..));
        let tables = roost.tables().await?.without_streams(&name).await;
        for table in TABLES {
            let variable = format!("{}_TABLE", table.to_uppercase());
            environment.insert(variable, format!("{name}-{table}"));
        }
        Some(Self {
            stores: Stores::of(roost, &name).await?,
            tables,
            environment,
        })
    }

    /// Reads as the function does, with a memory of its own.
    pub(crate) fn home(&self) -> HomeTimelines {
        self.stores.make(HomeTimelines::new)
    }
}
