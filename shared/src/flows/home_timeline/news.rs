//! How much is new above an id. No tweet is read for it, so that clients can ask often.

use std::collections::HashSet;

use tokio::time::Instant;

use super::super::rebuild::in_time;
use super::opening::{CachedList, Opening};
use super::walk::Walk;
use super::{BUDGET, HomeTimelines, LOOK_AHEAD, Troubles};
use crate::Result;
use crate::domain::timeline::{Source, merge};
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
        if let Some(news) = self.cached_news(me, since).await {
            return news;
        }
        let size = PageSize::MAX_SIZE.get();
        let mut walk = Walk::begin(self, me, None, size).await;
        let (entries, _) = walk.take_visible(size).await;
        let new = entries.iter().map(|entry| entry.tweet);
        News::new(new.filter(|tweet| *tweet > since), walk.troubles)
    }

    /// The answer in two round trips to Redis, or in three if a celebrity posted. `None` if something is missing there, or
    /// did not answer.
    async fn cached_news(&self, me: UserId, since: TweetId) -> Option<News> {
        let (extent, deadline) = (
            Extent::Newest(News::MOST + LOOK_AHEAD),
            Instant::now() + BUDGET,
        );
        let opening = self.try_open(me, extent, deadline).await.ok()?;
        let Opening {
            list: CachedList::Read(list),
            celebs: Some(mut celebs),
            hidden: Some(hidden),
            ..
        } = opening
        else {
            return None;
        };
        celebs.retain(|author| !hidden.contains(author));
        let pushed = list.entries.iter().filter(|entry| entry.tweet > since);
        let pushed: Vec<Entry> = pushed.copied().collect();
        let (feeds, invisible) = tokio::join!(
            self.feeds.newest(&celebs, NEWEST, deadline),
            self.invisible(me, &pushed, deadline)
        );
        let feeds: Result<Vec<Source>> = feeds.into_values().collect();
        let (mut sources, mut invisible) = (feeds.ok()?, invisible.ok()?);
        sources.push(list);
        let merged = merge(sources.iter(), NEWEST, &hidden);
        let new = merged.entries.iter().filter(|entry| entry.tweet > since);
        // Nobody has looked yet at what stands in feeds only.
        let pushed: HashSet<TweetId> = pushed.iter().map(|entry| entry.tweet).collect();
        let pulled = new.clone().filter(|entry| !pushed.contains(&entry.tweet));
        let pulled: Vec<Entry> = pulled.copied().collect();
        invisible.extend(self.invisible(me, &pulled, deadline).await.ok()?);
        let left = new.map(|entry| entry.tweet);
        let left = left.filter(|tweet| !invisible.contains(tweet));
        let news = News::new(left, Troubles::default());
        (merged.floor <= since || news.capped).then_some(news)
    }

    /// Which of these were deleted or hidden: one round trip.
    async fn invisible(
        &self,
        me: UserId,
        entries: &[Entry],
        deadline: Instant,
    ) -> Result<HashSet<TweetId>> {
        let ids: Vec<TweetId> = entries.iter().map(|entry| entry.tweet).collect();
        let (mut invisible, marks) = tokio::try_join!(
            self.cards.buried(entries),
            in_time(deadline, self.my_reactions.to_tweets(me, &ids))
        )?;
        invisible.extend(marks.hidden);
        Ok(invisible)
    }
}
