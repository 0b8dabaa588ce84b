use shared::domain::{Cursor, TweetId, UserId};
use shared::flows::replies::RepliesReader;
use shared::runtime::http::{self, HttpResponse, Page, Request};
use shared::{Result, Roost};

pub(crate) struct ListReplies {
    replies: RepliesReader,
}

impl http::Handler for ListReplies {
    const PARAMETERS: &[&str] = &["limit", "cursor"];

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            replies: RepliesReader::new(roost)?,
        })
    }

    /// The newest reply comes first. A page may be shorter than asked for, because deleted tweets are left out, and so are
    /// tweets of people on either side of a block with the caller.
    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let tweet = TweetId::parse(http::path(request, "id"))?;
        let (size, cursor) = http::both(http::page_size(request), http::cursor(request))?;
        let below = cursor.map(Cursor::tweet);
        let replies = self.replies.page(me, tweet, below, size.get()).await?;
        let next_cursor = replies.next.map(|next| next.to_string());
        http::ok(&Page::new(replies.tweets, next_cursor).with_users(replies.users))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/list-replies.json");

    #[test]
    fn the_event_asks_for_a_page_behind_a_cursor() {
        let request = test::request(EVENT);
        assert!(TweetId::parse(http::path(&request, "id")).is_ok());
        assert_eq!(http::page_size(&request).expect("a limit").get(), 10);
        assert!(http::cursor(&request).expect("a cursor").is_some());
    }
}
