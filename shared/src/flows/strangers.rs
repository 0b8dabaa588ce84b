//! Keeping unfollowed authors from a reader if nobody remembers who they are.
//!
//! `hidden:{u}` names the authors of whom an entry may still be on its way (see [`crate::stores::hidden`]). Redis may lose
//! it, and then an entry that arrives late would be shown. So a reader who finds it missing asks the tables whom they
//! follow, one query for every thousand people, and so does every read until nothing can be late any more. Then the list is
//! checked once more, and trusted again.

use std::collections::HashSet;

use crate::Result;
use crate::domain::UserId;
use crate::domain::timeline::Window;
use crate::platform::Roost;
use crate::stores::hidden::Doubt;
use crate::stores::timelines::{Extent, Opened};
use crate::stores::{Following, Hidden, Timelines};

pub struct Strangers {
    timelines: Timelines,
    hidden: Hidden,
    following: Following,
}

impl Strangers {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            timelines: Timelines::new(roost)?.without_renewal(),
            hidden: Hidden::new(roost)?,
            following: Following::new(roost)?,
        })
    }

    /// Completes the authors to hide, if it is in doubt that all of them are known.
    pub async fn hide(&self, me: UserId, opened: &mut Opened) -> Result<()> {
        match opened.hidden.doubt {
            Doubt::None | Doubt::Later => {}
            Doubt::Unknown => {
                let cached = matches!(opened.window, Window::Read(_)) || opened.celebs.is_some();
                self.hidden.begin_doubt(me, cached).await?;
                self.hide_in(me, opened).await?;
            }
            Doubt::EachRead => self.hide_in(me, opened).await?,
            Doubt::Due(score) => {
                let whole = self.timelines.open(me, Extent::Whole).await?;
                if !self.among(me, &whole).await?.is_empty() {
                    // To take them out one by one would race with a new follow. The list is read from the tables again.
                    self.timelines.forget(me).await?;
                    (opened.window, opened.celebs) = (Window::Missing, None);
                }
                self.hidden.end_doubt(me, score).await?;
            }
        }
        Ok(())
    }

    async fn hide_in(&self, me: UserId, opened: &mut Opened) -> Result<()> {
        let strangers = self.among(me, opened).await?;
        opened.hidden.authors.extend(strangers);
        Ok(())
    }

    /// The authors in what was read who are not followed and not hidden.
    async fn among(&self, me: UserId, opened: &Opened) -> Result<HashSet<UserId>> {
        let mut authors: HashSet<UserId> = opened.celebs.iter().flatten().copied().collect();
        if let Window::Read(list) = &opened.window {
            authors.extend(list.entries.iter().map(|entry| entry.author));
        }
        authors.remove(&me);
        authors.retain(|author| !opened.hidden.authors.contains(author));
        if !authors.is_empty() {
            for followed in self.following.all(me).await? {
                authors.remove(&followed);
            }
        }
        Ok(authors)
    }
}
