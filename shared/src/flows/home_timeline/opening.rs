//! The first stage: what the reader's own shard of Redis knows, in one round trip.

use std::collections::HashSet;

use tokio::time::Instant;

use super::super::rebuild::in_time;
use super::filter::Filter;
use super::{HomeTimelines, Trouble, Troubles};
use crate::Result;
use crate::domain::timeline::{ALL_KNOWN, Source, Window};
use crate::domain::{TweetId, UserId};
use crate::stores::timelines::{Extent, Opened};

pub(super) struct Opening {
    pub(super) list: CachedList,
    /// Whom not to show; `None` if neither Redis nor the tables told, so that nobody may be shown.
    pub(super) filter: Option<Filter>,
    /// Followed authors who are pulled; `None` if they have to be looked up.
    pub(super) celebs: Option<Vec<UserId>>,
    /// The newest tweet that was read before; `None` if that has to be looked up.
    pub(super) last_read: Option<TweetId>,
}

/// The list of what was pushed, as it was found.
pub(super) enum CachedList {
    Read(Source),
    /// There is none, or it is being rebuilt.
    Missing,
    /// Redis did not answer.
    Unreachable,
}

impl HomeTimelines {
    /// Never fails: without Redis, everything is read from the tables. Without them, too, it is not known who must not be
    /// shown.
    pub(super) async fn open(
        &self,
        me: UserId,
        extent: Extent,
        deadline: Instant,
        troubles: &mut Troubles,
    ) -> Opening {
        let opened = self.try_open(me, extent, deadline).await;
        if let Some(opening) = troubles.note(Trouble::TablesUnavailable, opened) {
            return opening;
        }
        let excluded = in_time(deadline, Box::pin(self.exclusions.read(me))).await;
        Opening {
            list: CachedList::Unreachable,
            // The tables name only people who are followed.
            filter: troubles
                .note(Trouble::TablesUnavailable, excluded)
                .map(|excluded| Filter::new(HashSet::new(), excluded)),
            celebs: Some(Vec::new()),
            last_read: Some(ALL_KNOWN),
        }
    }

    pub(super) async fn try_open(
        &self,
        me: UserId,
        extent: Extent,
        deadline: Instant,
    ) -> Result<Opening> {
        let mut opened = self.timelines.open(me, extent).await?;
        // Boxed, because it is rarely needed and would make the future of every read larger.
        in_time(deadline, Box::pin(self.strangers.hide(me, &mut opened))).await?;
        self.forget_hidden(me, &opened.hidden.over).await;
        let Opened {
            window,
            hidden,
            excluded,
            celebs,
            last_read,
        } = opened;
        let excluded = match excluded {
            Some(excluded) => excluded,
            None => in_time(deadline, Box::pin(self.exclusions.find(me))).await?,
        };
        let list = match window {
            Window::Read(source) => CachedList::Read(source),
            Window::Missing | Window::Building => CachedList::Missing,
        };
        Ok(Opening {
            list,
            filter: Some(Filter::new(hidden.authors, excluded)),
            celebs,
            last_read,
        })
    }

    /// A page does not depend on it, and the next reader can do it as well.
    async fn forget_hidden(&self, me: UserId, over: &[UserId]) {
        if over.is_empty() {
            return;
        }
        if let Err(error) = self.hidden.forget(me, over).await {
            tracing::warn!(error = error.chain(), "hidden authors not forgotten");
        }
    }

    /// The celebrities that were found, or else those that the tables know.
    pub(super) async fn celebs(
        &self,
        me: UserId,
        found: Option<Vec<UserId>>,
        deadline: Instant,
        troubles: &mut Troubles,
    ) -> Vec<UserId> {
        if let Some(celebs) = found {
            return celebs;
        }
        let looked_up = in_time(deadline, self.rebuilds.find_celebs(me)).await;
        let looked_up = troubles.note(Trouble::CelebritiesUnavailable, looked_up);
        looked_up.unwrap_or_default()
    }

    /// The read marker that was found, or else the table's. A page without its marker is a page all the same.
    pub(super) async fn last_read(
        &self,
        me: UserId,
        found: Option<TweetId>,
        deadline: Instant,
    ) -> TweetId {
        match found {
            Some(last_read) => last_read,
            None => {
                let marker = in_time(deadline, self.markers.get(me)).await;
                marker.map_or(ALL_KNOWN, |marker| marker.last_read)
            }
        }
    }
}
