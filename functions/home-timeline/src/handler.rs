use lambda_http::Request;
use serde::Serialize;
use shared::Result;
use shared::domain::{Cursor, Tweet, TweetId, User};
use shared::flows::home_timeline::{HomePage, HomeTimelines, Troubles};
use shared::runtime::http::{self, HttpResponse};
use shared::stores::Identities;

pub(crate) struct HomeTimeline {
    pub(crate) home: HomeTimelines,
    pub(crate) identities: Identities,
}

/// A page as clients read it.
#[derive(Serialize)]
struct Body {
    data: Vec<Tweet>,
    includes: Includes,
    meta: Meta,
}

#[derive(Serialize)]
struct Includes {
    users: Vec<User>,
}

#[derive(Serialize)]
struct Meta {
    result_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest_id: Option<TweetId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_id: Option<TweetId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<TweetId>,
    /// Is it certain that nothing is missing that should be on this page?
    complete: bool,
    /// Why it is not.
    #[serde(skip_serializing_if = "Troubles::is_empty")]
    reasons: Troubles,
}

impl HomeTimeline {
    pub(crate) async fn handle(&self, request: Request) -> Result<HttpResponse> {
        let me = http::caller(&request, &self.identities).await?;
        let (size, cursor) = (http::page_size(&request)?, http::cursor(&request)?);
        let page = self.home.page(me, cursor.map(Cursor::tweet), size).await;
        http::ok(&Body::from(page))
    }
}

impl From<HomePage> for Body {
    fn from(page: HomePage) -> Self {
        let oldest_id = page.tweets.last().map(|tweet| tweet.id);
        Self {
            meta: Meta {
                result_count: page.tweets.len(),
                newest_id: page.tweets.first().map(|tweet| tweet.id),
                oldest_id,
                next_cursor: oldest_id.filter(|_| page.more),
                complete: page.troubles.is_empty(),
                reasons: page.troubles,
            },
            data: page.tweets,
            includes: Includes { users: page.users },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/home-timeline.json");

    #[test]
    fn the_event_asks_for_the_first_page() {
        let request = test::request(EVENT);
        assert_eq!(http::subject(&request).expect("a subject"), "alice");
        assert_eq!(http::page_size(&request).expect("a limit").get(), 20);
        assert_eq!(http::cursor(&request).expect("no cursor"), None);
    }

    #[test]
    fn an_empty_page_says_that_it_is_complete() {
        let body = serde_json::to_value(Body::from(HomePage::default())).expect("serializes");
        let meta = serde_json::json!({ "result_count": 0, "complete": true });
        assert_eq!(
            body,
            serde_json::json!({ "data": [], "includes": { "users": [] }, "meta": meta })
        );
    }
}
