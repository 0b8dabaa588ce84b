//! Making what a reader finds missing in Redis: the list of what was pushed, and the set of celebrities to pull.
//!
//! A reader waits only for what the page needs: the newest tweets of all authors who are pushed, merged. The list is
//! whole down to there, and its end says so. The rest is filled in behind the reader's back by `fill-timelines`, at the
//! pace of a stream; until then, readers who go further down read the tables.
//!
//! One reader at a time rebuilds a list. The others wait for it a moment before they read the tables themselves.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::followees::{FolloweeReader, Followees};
use super::table_merge::TableMerge;
use crate::domain::timeline::{ALL_KNOWN, Source, Window};
use crate::domain::{Entry, Origin, TweetId, UserId};
use crate::platform::{Roost, metrics};
use crate::stores::timelines::{Extent, Opened, Unfinished};
use crate::stores::tweets::NEWEST;
use crate::stores::{Celebs, Timelines, Tweets};
use crate::{Error, Result};

/// How long a reader waits for a list that somebody else is rebuilding.
const PATIENCE: Duration = Duration::from_millis(600);

/// How often it looks meanwhile, in milliseconds. At random, so that waiting readers do not all ask at once.
const LOOK_EVERY_MS: std::ops::Range<u64> = 15..45;

/// How long `fill-timelines` works at one list at the most. Its function has more time than that.
const LONG: Duration = Duration::from_secs(40);

/// How much longer the right to rebuild lasts than the work.
const MARGIN: Duration = Duration::from_secs(5);

pub struct Rebuilds {
    timelines: Timelines,
    celebs: Celebs,
    followees: FolloweeReader,
    tweets: Tweets,
}

/// What was missing and is there now.
pub struct Rebuilt {
    pub list: Source,
    /// Followed authors who are pulled.
    pub celebs: Vec<UserId>,
    /// `true` if the list still has to be filled below.
    pub unfinished: bool,
    /// `false` if the list was lost in between, so that nothing was stored.
    pub kept: bool,
}

impl Rebuilds {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            timelines: Timelines::new(roost)?,
            celebs: Celebs::new(roost)?,
            followees: FolloweeReader::new(roost)?,
            tweets: Tweets::new(roost)?,
        })
    }

    /// Looks up which of the followed authors are pulled, and remembers it.
    pub async fn find_celebs(&self, me: UserId) -> Result<Vec<UserId>> {
        self.followees.find_celebs(me).await
    }

    /// The newest `wanted` entries of a missing list, or more. `None` if somebody else is rebuilding it and does not
    /// finish in time.
    pub async fn first_page(
        &self,
        me: UserId,
        wanted: usize,
        deadline: Instant,
    ) -> Result<Option<Rebuilt>> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Some(rebuilt) = self.rebuild(me, wanted, deadline).await? {
                return Ok(Some(rebuilt));
            }
            if Instant::now() >= give_up {
                return Ok(None);
            }
            sleep(Duration::from_millis(fastrand::u64(LOOK_EVERY_MS))).await;
            if let Opened {
                window: Window::Read(list),
                celebs: Some(celebs),
                ..
            } = self.timelines.open(me, Extent::Newest(wanted)).await?
            {
                return Ok(Some(Rebuilt {
                    list,
                    celebs,
                    unfinished: false,
                    kept: true,
                }));
            }
        }
    }

    /// Finishes a list that a reader has begun. Does nothing if there is nothing to finish.
    pub async fn fill(&self, me: UserId) -> Result<()> {
        match self.timelines.unfinished(me).await? {
            Unfinished::Nothing => {}
            Unfinished::Whole => {
                let cap = self.timelines.cap();
                self.rebuild(me, cap, Instant::now() + LONG).await?;
            }
            Unfinished::Rest { filling, room } => {
                // What was posted, followed or demoted since the first page is in the list, however old.
                let followees = self.followees.read(me).await?;
                let mut merge = self.merge(me, followees, filling.floor(), room);
                let entries = rebuilt(merge.take(room).await?);
                let bottom = merge.is_exhausted();
                let kept = self
                    .timelines
                    .finish_fill(me, filling, &entries, bottom)
                    .await?;
                tracing::info!(user_id = %me, entries = entries.len(), queries = merge.queries(), kept, "timeline filled");
            }
        }
        Ok(())
    }

    /// Makes a missing list before its reader comes, as a whole, so that nothing is left to fill. `false` if there is a list,
    /// if somebody else is making it, or if it was lost in between.
    pub async fn warm(&self, user: UserId, deadline: Instant) -> Result<bool> {
        let rebuilt = self.rebuild(user, self.timelines.cap(), deadline).await?;
        Ok(rebuilt.is_some_and(|rebuilt| rebuilt.kept))
    }

    /// Rebuilds the list down to `wanted` entries, and the set of celebrities with it. `None` if somebody else does.
    async fn rebuild(
        &self,
        me: UserId,
        wanted: usize,
        deadline: Instant,
    ) -> Result<Option<Rebuilt>> {
        // Longer than the work may take: a reader that takes over throws away what was done.
        let limit = deadline.saturating_duration_since(Instant::now()) + MARGIN;
        let begun = self.timelines.begin_rebuild_within(me, limit);
        let Some(token) = begun.await? else {
            return Ok(None);
        };
        let celebs_token = self.celebs.begin_fill(me).await?;
        let read = async {
            // Only now: whatever is posted, followed or flipped after this reading lands in the list that was just
            // created, or takes the token for the celebrities away.
            let followees = self.followees.read(me).await?;
            let (celebs, unsettled) = (followees.pulled.clone(), followees.unsettled);
            let mut merge = self.merge(me, followees, NEWEST, wanted);
            Ok((celebs, unsettled, merge.take(wanted).await?, merge))
        };
        let (celebs, unsettled, entries, merge) = match in_time(deadline, read).await {
            Ok(read) => read,
            Err(error) => {
                self.timelines.release_rebuild(me, token).await?;
                return Err(error);
            }
        };
        let entries = rebuilt(entries);
        let (whole, bottom) = (entries.len() >= self.timelines.cap(), merge.is_exhausted());
        let kept = if whole || bottom {
            self.timelines
                .finish_rebuild(me, token, &entries, bottom)
                .await?
        } else {
            self.timelines
                .finish_first_page(me, token, &entries)
                .await?
        };
        if !unsettled {
            self.celebs.finish_fill(me, celebs_token, &celebs).await?;
        }
        metrics::REBUILDS.add(1);
        tracing::info!(user_id = %me, entries = entries.len(), queries = merge.queries(), kept, "timeline rebuilt");
        let floor = entries
            .last()
            .filter(|_| !bottom)
            .map_or(ALL_KNOWN, |entry| entry.tweet);
        Ok(Some(Rebuilt {
            list: Source { entries, floor },
            celebs,
            unfinished: kept && !whole && !bottom,
            kept,
        }))
    }

    /// The tweets of everybody who is pushed to `me`, from the table.
    fn merge(&self, me: UserId, followees: Followees, below: TweetId, wanted: usize) -> TableMerge {
        let authors = followees.pushed.into_iter().chain([me]);
        TableMerge::new(self.tweets.clone(), authors, below, wanted)
    }
}

fn rebuilt(entries: Vec<Entry>) -> Vec<Entry> {
    let entries = entries.into_iter();
    entries.map(|entry| entry.by(Origin::Rebuilt)).collect()
}

/// The result, if it comes in time.
pub(super) async fn in_time<T>(
    deadline: Instant,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    timeout_at(deadline, work)
        .await
        .unwrap_or(Err(Error::GaveUp("reading a timeline in time")))
}
