//! Leaving notices for readers who are connected. A reader who is not costs one more argument of a Redis command.

use super::restoring;
use crate::Result;
use crate::domain::UserId;
use crate::domain::event::{FanOutWork, FanPage};
use crate::platform::{Roost, metrics, now_millis};
use crate::stores::handovers::Work;
use crate::stores::notices::Notice;
use crate::stores::{HandOvers, Listeners, Notices};

/// Tells readers to whom something was delivered.
pub struct Announcer {
    listeners: Listeners,
    notices: Notices,
}

/// Tells the fans of an author who is pulled.
pub struct FanAnnouncer {
    readers: Announcer,
    pages: HandOvers,
    /// Fans that one invocation serves.
    page_size: usize,
}

impl Announcer {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            listeners: Listeners::new(roost)?,
            notices: Notices::new(roost)?,
        })
    }

    /// Something was delivered to these users. Call it after the delivery, so that readers who are told find the tweet.
    pub async fn to_readers(&self, users: &[UserId]) -> Result<()> {
        if users.is_empty() {
            return Ok(());
        }
        let now = now_millis();
        let found = self.listeners.among(users, now).await?;
        if found.is_lost {
            restoring::ask(&self.listeners, &self.notices).await?;
        }
        if found.due.is_empty() {
            return Ok(());
        }
        let notices = found.due.iter().map(|user| Notice::new(*user, now));
        self.notices.put(&notices.collect::<Vec<_>>()).await?;
        // Last: a score means that the notice is safe.
        self.listeners.noticed(&found.due, now).await?;
        metrics::LIVE_NOTICES.add(found.due.len());
        Ok(())
    }
}

impl FanAnnouncer {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            readers: Announcer::new(roost)?,
            pages: HandOvers::new(roost, Work::FanOut)?,
            page_size: roost.config.fan_out_page_size()?,
        })
    }

    /// An author who is pulled posted. If there are many fans, each set of them becomes a page of work.
    pub async fn to_fans(&self, author: UserId) -> Result<()> {
        let Announcer { listeners, notices } = &self.readers;
        let (counts, is_lost) = listeners.count_fans(author).await?;
        if is_lost {
            restoring::ask(listeners, notices).await?;
        }
        let total: usize = counts.iter().sum();
        let sets = (0_u8..).zip(counts);
        let pages: Vec<FanPage> = sets
            .filter(|(_, count)| *count > 0)
            .map(|(set, _)| FanPage {
                fans_of: author,
                set,
            })
            .collect();
        if total > self.page_size {
            let pages = pages.into_iter().map(|page| {
                let key = format!("{author}:{}", page.set);
                (key, FanOutWork::Fans(page))
            });
            return self.pages.put(pages).await;
        }
        for page in pages {
            self.to_page(page).await?;
        }
        Ok(())
    }

    /// The fans of one set.
    pub async fn to_page(&self, page: FanPage) -> Result<()> {
        let mut from = 0;
        loop {
            let listeners = &self.readers.listeners;
            let (next, fans) = listeners.fans(page.fans_of, page.set, from).await?;
            self.readers.to_readers(&fans).await?;
            if next == 0 {
                return Ok(());
            }
            from = next;
        }
    }
}
