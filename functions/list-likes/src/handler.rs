use shared::domain::seal::seal;
use shared::domain::{TweetId, UserId};
use shared::flows::lookup::TweetLookup;
use shared::runtime::http::{self, HttpResponse, Page, Request};
use shared::stores::Reactions;
use shared::stores::reactions::LikeCursor;
use shared::{Error, Result, Roost};

pub(crate) struct ListLikes {
    reactions: Reactions,
    lookup: TweetLookup,
}

impl http::Handler for ListLikes {
    const PARAMETERS: &[&str] = &["limit", "cursor"];

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            reactions: Reactions::new(roost)?,
            lookup: TweetLookup::new(roost)?,
        })
    }

    /// The newest like comes first. A page may be shorter than asked for, because deleted tweets are left out.
    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let from = http::list_cursor(request, me, parse);
        let (size, from) = http::both(http::page_size(request), from)?;
        let likes = self.reactions.liked_by(me, from, size.get()).await?;
        let found = self.lookup.list_entries(me, &likes.tweets).await?;
        let next_cursor = likes.next.map(|next| seal(me, &write(next)));
        let page = Page::new(found.tweets, next_cursor);
        http::ok(&page.with_users(found.users))
    }
}

/// A place in the list, of which a cursor is made. Clients must not read anything into it.
fn write(cursor: LikeCursor) -> String {
    format!("l{:x}.{:x}", cursor.liked_at, cursor.tweet.get())
}

fn parse(text: &str) -> Result<LikeCursor> {
    let parts = text.strip_prefix('l').and_then(|rest| rest.split_once('.'));
    let number = |text| u64::from_str_radix(text, 16).ok();
    let cursor = parts.and_then(|(liked_at, tweet)| {
        Some(LikeCursor {
            liked_at: number(liked_at)?,
            tweet: TweetId::new(number(tweet)?),
        })
    });
    // What it was written as; there are other ways to write a number.
    let cursor = cursor.filter(|cursor| write(*cursor) == text);
    cursor.ok_or(Error::ForeignCursor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/list-likes.json");

    #[test]
    fn the_event_asks_for_a_page() {
        let request = test::request(EVENT);
        assert_eq!(http::page_size(&request).expect("a limit").get(), 10);
    }

    #[test]
    fn a_cursor_survives_its_text_and_nothing_else_is_one() {
        let cursor = LikeCursor {
            liked_at: 1_794_787_200_000,
            tweet: TweetId::new(115_601_980_784_640_512),
        };
        assert_eq!(parse(&write(cursor)).expect("a cursor"), cursor);
        for text in [
            "",
            "l",
            "l1",
            "115601980784640512",
            "l01.1",
            "l+1.1",
            "lx.1",
            "l1.1.1",
        ] {
            assert!(parse(text).is_err(), "{text:?} was taken for a cursor");
        }
    }
}
