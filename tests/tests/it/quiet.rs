//! Tables and a stream beside those of the deployment, in which nothing happens by itself: what is written there is not
//! fanned out, counted or filled behind a test's back.

use std::collections::BTreeMap;

use roost_tests::{Client, Tables, events, skip};
use shared::flows::home_timeline::HomeTimelines;

use crate::stores::Stores;

pub(crate) struct Quiet {
    pub(crate) stores: Stores,
    pub(crate) tables: Tables,
    /// What functions need to work on these tables.
    pub(crate) environment: BTreeMap<String, String>,
}

impl Quiet {
    /// `None`, and the word that the test is skipped, where functions cannot be run beside the deployment.
    pub(crate) async fn beside(roost: Client) -> Option<Self> {
        let Some(mut environment) = roost.target().environment() else {
            skip("it runs functions by itself, which needs a local cloud");
            return None;
        };
        let stack = format!("quiet{}", fastrand::u32(..));
        let tables = roost.tables().await?.without_streams(&stack).await;
        for name in ["users", "followers", "following", "tweets", "ledger"] {
            let variable = format!("{}_TABLE", name.to_uppercase());
            environment.insert(variable, format!("{stack}-{name}"));
        }
        let fills = format!("{stack}-timeline-fills");
        events::stream_without_consumers(roost.target(), &fills).await;
        environment.insert("TIMELINE_FILLS_STREAM".to_owned(), fills);
        Some(Self {
            stores: Stores::of(roost, &stack).await?,
            tables,
            environment,
        })
    }

    /// Reads as the function does, with a memory of its own.
    pub(crate) fn home(&self) -> HomeTimelines {
        let (stores, redis) = (&self.stores, self.stores.redis.clone());
        HomeTimelines::new(&stores.aws, redis, stores.users(), &stores.config)
            .expect("a configuration")
    }
}
