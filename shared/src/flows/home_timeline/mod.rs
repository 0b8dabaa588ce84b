//! Reading a home timeline, in stages. Each has a file here, and [`HomeTimelines::page`] calls them in this order:
//!
//! 1. [`opening`]: what the reader's own shard of Redis knows: the list of what was pushed, the authors to hide, the
//!    celebrities to pull, how far the user has read.
//! 2. [`walk`] takes candidates: the next entries, merged out of sources that each know how far down they can be
//!    trusted. If a page needs more than lies above the highest floor, the sources in the way are read deeper.
//! 3. [`filter`] drops what the reader must not see. A new rule goes there.
//! 4. [`hydrate`] fetches tweets, authors and what the reader thinks of the tweets, and leaves out what was deleted, taken
//!    back or hidden, and the repeats of one tweet.
//! 5. [`ranked`] arranges what is left, if the reader wants the best first. Else it comes newest first, as it was taken. A
//!    new order goes beside it.
//! 6. [`present`] makes the page that the handler answers with.
//!
//! Two more reads use the same stages: [`upwards`] (`since_id`) and [`news`] (how much is new).
//!
//! A source that fails does not fail the page: the page is made of what is left, and [`troubles`] says so. Without Redis,
//! everything is read from the tables.

mod activity;
mod filter;
mod hydrate;
mod news;
mod opening;
mod present;
mod ranked;
mod troubles;
mod upwards;
mod walk;

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use tokio::time::Instant;

pub use self::activity::Activity;
use self::hydrate::Hydrated;
pub use self::news::News;
pub use self::present::{Explanation, HomePage, Reason};
pub use self::ranked::Ranking;
pub use self::troubles::{Trouble, Troubles};
use self::walk::{Candidate, Walk};
use super::exclusions::Exclusions;
use super::feeds::FeedReader;
use super::reactions::MyReactions;
use super::rebuild::{Rebuilds, in_time};
use super::strangers::Strangers;
use crate::Result;
use crate::domain::repeats::NEIGHBOURS;
use crate::domain::{KnownTags, PageSize, TweetId, UserId};
use crate::platform::Roost;
use crate::stores::handovers::Work;
use crate::stores::{
    Cards, Following, HandOvers, Hidden, Markers, Receipts, Relations, Timelines, Tweets, Users,
};

/// Entries read beyond a page's size, so that the page and the neighbours of its last repost usually lie above the
/// window's floor. Beside the neighbours, that is room for what is not shown and for what came in the window's last ten
/// seconds. If that is more, a page reads the whole list.
const LOOK_AHEAD: usize = 20 + NEIGHBOURS;

/// How long candidates for a page are looked for. What is not there by then is left out.
const BUDGET: Duration = Duration::from_secs(5);

/// How much longer their tweets are waited for. Both together end well before the function is stopped.
const GRACE: Duration = Duration::from_secs(2);

pub struct HomeTimelines {
    timelines: Timelines,
    hidden: Hidden,
    strangers: Strangers,
    exclusions: Exclusions,
    rebuilds: Rebuilds,
    fills: HandOvers,
    feeds: FeedReader,
    cards: Cards,
    markers: Markers,
    receipts: Receipts,
    following: Following,
    tweets: Tweets,
    users: Users,
    my_reactions: MyReactions,
    relations: Relations,
}

impl HomeTimelines {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            timelines: Timelines::new(roost)?,
            hidden: Hidden::new(roost)?,
            strangers: Strangers::new(roost)?,
            exclusions: Exclusions::new(roost)?,
            rebuilds: Rebuilds::new(roost)?,
            fills: HandOvers::new(roost, Work::Fills)?,
            feeds: FeedReader::new(roost)?,
            cards: Cards::new(roost)?,
            markers: Markers::new(roost)?,
            receipts: Receipts::new(roost)?,
            following: Following::new(roost)?,
            tweets: Tweets::new(roost)?,
            users: Users::new(roost)?,
            my_reactions: MyReactions::new(roost)?,
            relations: Relations::new(roost)?,
        })
    }

    /// For reads on behalf of another user: does not renew the list.
    pub fn without_renewal(self) -> Self {
        Self {
            timelines: self.timelines.without_renewal(),
            ..self
        }
    }

    /// The page below an id, or the newest. If the client has it already, as `known` says, it is `unchanged`; finding
    /// that out reads no tweet.
    pub async fn page(
        &self,
        me: UserId,
        below: Option<TweetId>,
        size: PageSize,
        known: Option<&KnownTags>,
    ) -> HomePage {
        let size = size.get();
        let deadline = Instant::now() + BUDGET;
        let mut walk = Walk::begin(self, me, below, size, deadline).await;
        let mut candidates = Vec::new();
        // Whoever may have blocked the reader is asked for later.
        if let Some(known) = known.filter(|_| !walk.filter.may_lack_blockers()) {
            let (entries, marks) = walk.take_visible(size).await;
            let more = entries.len() > size || (entries.len() == size && walk.has_more());
            let on_page = &entries[..size.min(entries.len())];
            let tag = present::tag(me, walk.last_read, on_page, &marks, more);
            let unchanged = known.contain(&tag);
            candidates = entries.into_iter().map(Candidate::certain).collect();
            if unchanged && walk.troubles.is_empty() {
                return present::unchanged(&walk, tag);
            }
        }
        let mut hydrated = Hydrated::default();
        self.add(&mut walk, candidates, &mut hydrated).await;
        self.collect(&mut walk, size, &mut hydrated).await;
        present::page_below(below, size, hydrated, walk)
    }

    /// Adds what comes next until there are `size` tweets, or more. Fewer at the very end.
    async fn collect(&self, walk: &mut Walk<'_>, size: usize, hydrated: &mut Hydrated) {
        while hydrated.tweets.len() < size && !walk.is_late() {
            let candidates = walk.take(size - hydrated.tweets.len()).await;
            if candidates.is_empty() {
                break;
            }
            self.add(walk, candidates, hydrated).await;
        }
        if hydrated.tweets.len() < size && walk.is_late() {
            walk.end_early();
        }
    }

    /// Adds what is to be shown of the candidates.
    async fn add(
        &self,
        walk: &mut Walk<'_>,
        mut candidates: Vec<Candidate>,
        hydrated: &mut Hydrated,
    ) {
        if candidates.is_empty() {
            return;
        }
        let (me, until) = (walk.me, walk.deadline + GRACE);
        // Whoever may have blocked the reader is asked for.
        if walk.filter.may_lack_blockers() {
            let apart = self.apart(me, &candidates, until, &mut walk.troubles);
            let apart = apart.await;
            walk.leave_out(&apart);
        }
        candidates.retain(|candidate| walk.filter.shows(&candidate.entry));
        self.hydrate(me, &candidates, hydrated, until, &mut walk.troubles)
            .await;
        walk.leave_out(&hydrated.gone);
    }

    /// The authors of reposted tweets who are on either side of a block with the reader. If nobody can tell, all of them.
    ///
    /// Nothing of the others comes into a home timeline, because there is no edge.
    async fn apart(
        &self,
        me: UserId,
        candidates: &[Candidate],
        until: Instant,
        troubles: &mut Troubles,
    ) -> HashSet<UserId> {
        let originals = candidates.iter().filter_map(|it| it.entry.repost_of());
        let authors: BTreeSet<UserId> = originals.map(|original| original.author_id).collect();
        let apart = in_time(until, self.relations.apart(me, &authors)).await;
        let apart = troubles.note(Trouble::TablesUnavailable, apart);
        apart.unwrap_or_else(|| authors.into_iter().collect())
    }
}
