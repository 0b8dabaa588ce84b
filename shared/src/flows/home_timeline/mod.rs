//! Reading a home timeline, in stages. Each has a file here, and [`HomeTimelines::page`] calls them in this order:
//!
//! 1. [`opening`]: what the reader's own shard of Redis knows: the list of what was pushed, the authors to hide, the
//!    celebrities to pull, how far the user has read.
//! 2. [`walk`] takes candidates: the next entries, merged out of sources that each know how far down they can be
//!    trusted. If a page needs more than lies above the highest floor, the sources in the way are read deeper.
//! 3. [`filter`] drops what the reader must not see. A new rule goes there.
//! 4. [`order`] arranges what is left. A new order goes there.
//! 5. [`hydrate`] fetches tweets, authors and what the reader thinks of the tweets, and leaves out what was deleted or
//!    hidden.
//! 6. [`present`] makes the page that the handler answers with.
//!
//! Two more reads use the same stages: [`upwards`] (`since_id`) and [`news`] (how much is new).
//!
//! A source that fails does not fail the page: the page is made of what is left, and [`troubles`] says so. Without Redis,
//! everything is read from the tables.

mod filter;
mod hydrate;
mod news;
mod opening;
mod order;
mod present;
mod troubles;
mod upwards;
mod walk;

use std::time::Duration;

use self::hydrate::Hydrated;
pub use self::news::News;
use self::order::Order;
pub use self::present::{Explanation, HomePage};
pub use self::troubles::{Trouble, Troubles};
use self::walk::Walk;
use super::exclusions::Exclusions;
use super::feeds::FeedReader;
use super::reactions::MyReactions;
use super::rebuild::Rebuilds;
use super::strangers::Strangers;
use crate::Result;
use crate::domain::{PageSize, TweetId, UserId};
use crate::platform::Roost;
use crate::stores::events::Stream;
use crate::stores::{
    Cards, EventStream, Following, Hidden, Markers, Receipts, Timelines, Tweets, Users,
};

/// Entries read beyond a page's size, so that the page usually lies above the window's floor.
const LOOK_AHEAD: usize = 80;

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
    fills: EventStream,
    feeds: FeedReader,
    cards: Cards,
    markers: Markers,
    receipts: Receipts,
    following: Following,
    tweets: Tweets,
    users: Users,
    my_reactions: MyReactions,
}

impl HomeTimelines {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            timelines: Timelines::new(roost)?,
            hidden: Hidden::new(roost)?,
            strangers: Strangers::new(roost)?,
            exclusions: Exclusions::new(roost)?,
            rebuilds: Rebuilds::new(roost)?,
            fills: EventStream::new(roost, Stream::TimelineFills)?,
            feeds: FeedReader::new(roost)?,
            cards: Cards::new(roost)?,
            markers: Markers::new(roost)?,
            receipts: Receipts::new(roost)?,
            following: Following::new(roost)?,
            tweets: Tweets::new(roost)?,
            users: Users::new(roost)?,
            my_reactions: MyReactions::new(roost)?,
        })
    }

    /// For reads on behalf of another user: does not renew the list.
    pub fn without_renewal(self) -> Self {
        Self {
            timelines: self.timelines.without_renewal(),
            ..self
        }
    }

    /// The page below an id, or the newest. `None` if the client has it already, as `known_tag` says; finding that out
    /// reads no tweet.
    pub async fn page(
        &self,
        me: UserId,
        below: Option<TweetId>,
        size: PageSize,
        known_tag: Option<&str>,
    ) -> Option<HomePage> {
        let (order, size) = (Order::Latest, size.get());
        let mut walk = Walk::begin(self, me, below, size).await;
        let mut candidates = Vec::new();
        if let Some(known_tag) = known_tag {
            let (entries, liked) = walk.take_visible(size).await;
            let more = entries.len() == size && walk.has_more();
            let tag = present::tag(me, walk.last_read, &entries, &liked, more);
            let unchanged = known_tag == tag;
            candidates = entries;
            if unchanged && walk.troubles.is_empty() {
                return None;
            }
        }
        let mut hydrated = Hydrated::default();
        while hydrated.tweets.len() < size && !walk.is_late() {
            if candidates.is_empty() {
                candidates = walk.take(size - hydrated.tweets.len()).await;
            }
            if candidates.is_empty() {
                break;
            }
            let visible = walk.filter.apply(std::mem::take(&mut candidates));
            let ordered = order.arrange(visible);
            let until = walk.deadline + GRACE;
            self.hydrate(me, &ordered, &mut hydrated, until, &mut walk.troubles)
                .await;
            walk.leave_out(&hydrated.gone);
        }
        Some(present::page_below(me, below, size, hydrated, walk))
    }
}
