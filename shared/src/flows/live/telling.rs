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

/// If something did not answer while tweets were counted, they are counted again a moment later, for so long.
const COUNTED_AGAIN_FOR_MS: u64 = 60_000;
const COUNTED_AGAIN_AFTER_MS: u64 = 1_000;

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
        let horizon = now_millis() + NAP_MS;
        let notices = one_for_each(notices).into_values();
        let (soon, later): (Vec<_>, Vec<_>) = notices.partition(|it| it.not_before <= horizon);
        let again = later.into_iter().map(|notice| {
            let not_before = notice.not_before;
            notice.again(not_before)
        });
        self.notices.put(&again.collect::<Vec<_>>()).await?;
        sleep_until(soon.iter().map(|notice| notice.not_before).max()).await;

        let (mut due, mut almost_due, mut wait) = (Vec::new(), Vec::new(), Vec::new());
        let mut wake_at = None;
        let horizon = now_millis() + NAP_MS;
        for open in self.look(soon).await? {
            let heard = heard(&open.connections);
            match next_step(open.notice.pending(), heard, now_millis()) {
                Step::Drop => {}
                Step::Tell => due.push(open),
                Step::Wait { until } if until <= horizon => {
                    wake_at = wake_at.max(Some(until));
                    almost_due.push(open);
                }
                Step::Wait { until } => wait.push(open.notice.again(until)),
            }
        }
        let (told, put) = tokio::join!(self.tell_all(due), self.notices.put(&wait));
        told.and(put)?;
        sleep_until(wake_at).await;
        self.tell_all(almost_due).await
    }

    /// The users of these notices who are still connected.
    async fn look(&self, notices: Vec<Notice>) -> Result<Vec<Open>> {
        let looks = notices.into_iter().map(|notice| self.open(notice));
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

    async fn tell_all(&self, open: Vec<Open>) -> Result<()> {
        let told = open.into_iter().map(|open| self.tell_one(open));
        let told: Vec<_> = told.collect();
        let left: Vec<Option<Notice>> = stream::iter(told)
            .buffer_unordered(CONCURRENCY)
            .try_collect()
            .await?;
        let left: Vec<Notice> = left.into_iter().flatten().collect();
        self.notices.put(&left).await
    }

    /// Counts what is new and leaves the message. Connections that know the same hear the same. Gives the notice back if
    /// something may have come too late to be counted.
    async fn tell_one(&self, open: Open) -> Result<Option<Notice>> {
        let (user, counted_at) = (open.notice.user(), now_millis());
        let pending = open.notice.pending();
        let again = counted_at + COUNTED_AGAIN_AFTER_MS;
        let mut by_knowledge = BTreeMap::<_, Vec<&Connection>>::new();
        let (ready, opening): (Vec<_>, Vec<_>) = open
            .connections
            .iter()
            .partition(|connection| connection.opens_at() <= counted_at);
        for connection in ready {
            let same = by_knowledge.entry(connection.since()).or_default();
            same.push(connection);
        }
        let mut all_left = true;
        for (since, connections) in by_knowledge {
            let news = self.home.news_of_others(user, since).await;
            // A number that is too small would be the end of it.
            let is_certain = news.troubles.is_empty();
            if !is_certain && counted_at < pending.first_at + COUNTED_AGAIN_FOR_MS {
                return Ok(Some(open.notice.again(again)));
            }
            let Some(newest) = news.newest else {
                continue;
            };
            for connection in connections {
                all_left &= self
                    .connections
                    .leave_message(connection, news.count, news.capped, newest, counted_at)
                    .await?;
            }
        }
        if !all_left {
            // A client has said meanwhile what it has seen.
            return Ok(Some(open.notice.again(again)));
        }
        if let Some(opens_at) = opening.iter().map(|it| it.opens_at()).max() {
            // Those have heard nothing yet.
            return Ok(Some(open.notice.again(opens_at)));
        }
        let left = pending.after_count_at(counted_at);
        Ok(left.map(|left| open.notice.with(left).again(left.gathered_at())))
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

/// Waits for a time in milliseconds since 1970, if there is one to wait for.
async fn sleep_until(millis: Option<u64>) {
    let left = millis.unwrap_or_default().saturating_sub(now_millis());
    sleep(Duration::from_millis(left.min(NAP_MS))).await;
}

/// One notice for each user, which stands for all of theirs.
fn one_for_each(notices: Vec<Notice>) -> BTreeMap<UserId, Notice> {
    let mut of_users = BTreeMap::<UserId, Notice>::new();
    for notice in notices {
        let user = notice.user();
        let notice = match of_users.remove(&user) {
            Some(other) => other.and(&notice),
            None => notice,
        };
        of_users.insert(user, notice);
    }
    of_users
}
