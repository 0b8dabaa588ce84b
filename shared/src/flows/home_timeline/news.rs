//! How much is new above an id. No tweet is read for it, so that clients can ask often.

use std::collections::HashSet;

use tokio::time::Instant;

use super::super::rebuild::in_time;
use super::opening::{CachedList, Opening};
use super::walk::Walk;
use super::{BUDGET, HomeTimelines, LOOK_AHEAD, Troubles};
use crate::Result;
use crate::domain::repeats::{NEIGHBOURS, older_places};
use crate::domain::timeline::{ALL_KNOWN, Source, merge};
use crate::domain::{Entry, PageSize, TweetId, UserId};
use crate::stores::timelines::Extent;
use crate::stores::tweets::NEWEST;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct News {
    pub count: usize,
    /// `true` if there are more than were counted.
    pub capped: bool,
    pub newest: Option<TweetId>,
    pub troubles: Troubles,
}

/// Which entries count.
type Counts<'a> = dyn Fn(&Entry) -> bool + Sync + 'a;

impl News {
    /// The most that are counted.
    pub const MOST: usize = 99;

    /// `tweets` newest first.
    fn new(tweets: impl Iterator<Item = TweetId>, troubles: Troubles) -> Self {
        let tweets: Vec<TweetId> = tweets.take(Self::MOST + 1).collect();
        Self {
            count: tweets.len().min(Self::MOST),
            capped: tweets.len() > Self::MOST,
            newest: tweets.first().copied(),
            troubles,
        }
    }
}

impl HomeTimelines {
    pub async fn news(&self, me: UserId, since: TweetId) -> News {
        self.news_by(me, since, &|_| true).await
    }

    /// The same without what the reader posted or reposted.
    pub async fn news_of_others(&self, me: UserId, since: TweetId) -> News {
        self.news_by(me, since, &|entry| entry.author != me).await
    }

    async fn news_by(&self, me: UserId, since: TweetId, counts: &Counts<'_>) -> News {
        if let Some(news) = self.cached_news(me, since, counts).await {
            return news;
        }
        let size = PageSize::MAX_SIZE.get();
        let deadline = Instant::now() + BUDGET;
        let mut walk = Walk::begin(self, me, None, size, deadline).await;
        let (entries, _) = walk.take_visible(size).await;
        let new = entries.iter().filter(|entry| entry.tweet > since);
        let new = new.filter(|entry| counts(entry)).map(|entry| entry.tweet);
        News::new(new, walk.troubles)
    }

    /// The answer in two round trips to Redis, or in three if a celebrity posted or a tweet was reposted twice; one more
    /// after a burst. `None` if something is missing there, or did not answer.
    async fn cached_news(&self, me: UserId, since: TweetId, counts: &Counts<'_>) -> Option<News> {
        let (window, deadline) = (News::MOST + LOOK_AHEAD, Instant::now() + BUDGET);
        let extent = Extent::Newest(window);
        let mut opening = self.try_open(me, extent, deadline).await.ok()?;
        if let CachedList::Read(list) = &opening.list
            && list.entries.len() == window
            && list.floor > since
            && list.known(&|_| true) <= News::MOST
        {
            // After a burst, the newest entries alone do not tell.
            opening = self.try_open(me, Extent::Whole, deadline).await.ok()?;
        }
        let Opening {
            list: CachedList::Read(list),
            celebs: Some(mut celebs),
            filter: Some(filter),
            ..
        } = opening
        else {
            return None;
        };
        celebs.retain(|author| !filter.hides(*author));
        let pushed = list.entries.iter().filter(|entry| entry.tweet > since);
        let pushed: Vec<Entry> = pushed.copied().collect();
        let (feeds, invisible) = tokio::join!(
            self.feeds.newest(&celebs, NEWEST, since, deadline),
            self.invisible(me, &pushed, deadline)
        );
        let feeds: Result<Vec<Source>> = feeds.into_values().collect();
        let (mut sources, mut invisible) = (feeds.ok()?, invisible.ok()?);
        sources.push(list);
        let merged = merge(sources.iter(), NEWEST, &|entry| filter.shows(entry));
        let entries = &merged.entries;
        let new = entries.partition_point(|entry| entry.tweet > since);
        if !is_known_below(&merged, new) {
            return None;
        }
        let candidates = (0..new).map(|index| {
            let (entry, below) = (entries[index], entries[index + 1..].iter());
            (entry, older_places(entry, below).collect::<Vec<Entry>>())
        });
        let candidates: Vec<(Entry, Vec<Entry>)> = candidates.collect();
        // Nobody has looked yet at what stands in feeds only.
        let pushed: HashSet<TweetId> = pushed.iter().map(|entry| entry.tweet).collect();
        let unseen = candidates.iter().map(|(entry, _)| *entry);
        let unseen: Vec<Entry> = unseen
            .filter(|entry| !pushed.contains(&entry.tweet))
            .collect();
        let older = candidates.iter().flat_map(|(_, older)| older).copied();
        let (more, standing) = tokio::join!(
            self.invisible(me, &unseen, deadline),
            in_time(deadline, self.standing(older.collect()))
        );
        invisible.extend(more.ok()?);
        let standing = standing.ok()?;
        let left = candidates.into_iter().filter(|(entry, older)| {
            let is_repeat = older
                .iter()
                .any(|place| !place.is_repost() || standing.contains(&place.tweet));
            counts(entry) && !invisible.contains(&entry.tweet) && !is_repeat
        });
        let left = left.map(|(entry, _)| entry.tweet);
        let news = News::new(left, Troubles::default());
        (merged.floor <= since || news.capped).then_some(news)
    }

    /// Which of these were deleted, taken back or hidden: one round trip.
    async fn invisible(
        &self,
        me: UserId,
        entries: &[Entry],
        deadline: Instant,
    ) -> Result<HashSet<TweetId>> {
        if entries.is_empty() {
            return Ok(HashSet::new());
        }
        let (mut invisible, marks) = tokio::try_join!(
            self.cards.buried(entries),
            in_time(deadline, self.my_reactions.to_entries(me, entries))
        )?;
        let hidden = entries
            .iter()
            .filter(|entry| marks.hidden.contains(&entry.shown().tweet));
        invisible.extend(hidden.map(|entry| entry.tweet));
        Ok(invisible)
    }
}

/// Is enough known below the first `new` entries to tell which of them are repeats?
fn is_known_below(merged: &Source, new: usize) -> bool {
    let last_repost = merged.entries[..new].iter().rposition(|it| it.is_repost());
    let needed = last_repost.map_or(0, |index| index + NEIGHBOURS);
    merged.floor == ALL_KNOWN || merged.entries.len() >= needed
}
