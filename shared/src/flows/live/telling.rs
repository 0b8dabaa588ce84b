//! From notices to messages.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::time::sleep;

use super::super::home_timeline::HomeTimelines;
use super::{Leaving, Restoring};
use crate::Result;
use crate::domain::UserId;
use crate::domain::live::{Step, next_step};
use crate::platform::{Roost, metrics, now_millis};
use crate::stores::connections::{Connection, heard};
use crate::stores::notices::{EVERYBODY, Notice};
use crate::stores::{Connections, Notices};

/// Users who are looked at or told at once.
const CONCURRENCY: usize = 32;

/// A notice that is due so soon is waited for. The others behind it wait as well, so it is short.
const NAP_MS: u64 = 1_000;

pub struct Teller {
    connections: Connections,
    notices: Notices,
    leaving: Leaving,
    restoring: Restoring,
    home: HomeTimelines,
}

/// A notice together with what its user has heard.
struct Open {
    notice: Notice,
    connections: Vec<Connection>,
}

impl Teller {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            connections: Connections::new(roost)?,
            notices: Notices::new(roost)?,
            leaving: Leaving::new(roost)?,
            restoring: Restoring::new(roost)?,
            home: HomeTimelines::new(roost)?,
        })
    }

    /// Tells those who are due, and puts the other notices again.
    pub async fn tell(&self, notices: Vec<Notice>) -> Result<()> {
        let (mut now_due, mut soon, mut later) = (Vec::new(), Vec::new(), Vec::new());
        let mut wake_at = 0;
        for open in self.look(first_of_each(notices)).await? {
            let now = now_millis();
            match next_step(open.notice.noticed_at, heard(&open.connections), now) {
                Step::Drop => {}
                Step::Tell => now_due.push(open),
                Step::Wait { until } if until <= now + NAP_MS => {
                    wake_at = wake_at.max(until);
                    soon.push(open);
                }
                Step::Wait { .. } => later.push(open.notice.again()),
            }
        }
        let (told, put) = tokio::join!(self.tell_all(&now_due), self.notices.put(&later));
        told.and(put)?;
        if !soon.is_empty() {
            let left = wake_at.saturating_sub(now_millis());
            sleep(Duration::from_millis(left)).await;
            self.tell_all(&soon).await?;
        }
        Ok(())
    }

    /// The users of these notices who are still connected.
    async fn look(&self, notices: BTreeMap<UserId, Notice>) -> Result<Vec<Open>> {
        let looks = notices.into_values().map(|notice| self.open(notice));
        let looks: Vec<_> = looks.collect();
        let open: Vec<Option<Open>> = stream::iter(looks)
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await?;
        Ok(open.into_iter().flatten().collect())
    }

    async fn open(&self, notice: Notice) -> Result<Option<Open>> {
        let user = notice.user();
        if user == EVERYBODY {
            self.restore(notice).await?;
            return Ok(None);
        }
        let connections = self.connections.of_user(user).await?;
        if connections.is_empty() {
            // Its connections died without a word, and their items were removed when that was found out.
            self.leaving.end(user).await?;
            return Ok(None);
        }
        Ok(Some(Open {
            notice,
            connections,
        }))
    }

    async fn tell_all(&self, open: &[Open]) -> Result<()> {
        let told: Vec<_> = open.iter().map(|open| self.tell_one(open)).collect();
        stream::iter(told)
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await
    }

    /// Counts what is new and leaves the message. Connections that know the same hear the same.
    async fn tell_one(&self, open: &Open) -> Result<()> {
        let user = open.notice.user();
        let mut by_knowledge = BTreeMap::<_, Vec<&Connection>>::new();
        for connection in &open.connections {
            let same = by_knowledge.entry(connection.since()).or_default();
            same.push(connection);
        }
        for (since, connections) in by_knowledge {
            let counted_at = now_millis();
            let news = self.home.news_of_others(user, since).await;
            let Some(newest) = news.newest else {
                continue;
            };
            for connection in connections {
                self.connections
                    .leave_message(connection, news.count, news.capped, newest, counted_at)
                    .await?;
            }
        }
        Ok(())
    }

    /// One piece for each record: the rest follows with the next one.
    async fn restore(&self, notice: Notice) -> Result<()> {
        match self.restoring.next_piece(notice.from.clone()).await? {
            None => {
                tracing::info!("who is connected is known again");
                metrics::LIVE_RESTORES.add(1);
                Ok(())
            }
            Some(place) => self.notices.put(&[notice.rest(place)]).await,
        }
    }
}

/// Of each user the first notice: it is due first, and its message tells of the others as well.
fn first_of_each(notices: Vec<Notice>) -> BTreeMap<UserId, Notice> {
    let mut first = BTreeMap::new();
    for notice in notices {
        first.entry(notice.user()).or_insert(notice);
    }
    first
}
