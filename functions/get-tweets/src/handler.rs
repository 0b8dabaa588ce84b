use shared::domain::{TweetId, UserId};
use shared::flows::lookup::TweetLookup;
use shared::runtime::http::{self, HttpResponse, Page, Request};
use shared::{Result, Roost};

pub(crate) struct GetTweets {
    lookup: TweetLookup,
}

impl http::Handler for GetTweets {
    const PARAMETERS: &[&str] = &["ids"];

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            lookup: TweetLookup::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let ids = http::ids(request, TweetId::parse)?;
        let found = self.lookup.list(me, ids.as_slice()).await?;
        let page = Page::new(found.tweets, None).with_users(found.users);
        Ok(http::with_queries(http::ok(&page)?, found.queries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/get-tweets.json");

    #[test]
    fn the_event_asks_for_two_tweets() {
        let ids = http::ids(&test::request(EVENT), TweetId::parse).expect("ids");
        assert_eq!(ids.as_slice().len(), 2);
    }
}
