use shared::domain::{TweetId, UserId};
use shared::flows::reposts::Unreposting;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::{Result, Roost};

pub(crate) struct UnrepostTweet {
    unreposting: Unreposting,
}

impl http::Handler for UnrepostTweet {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            unreposting: Unreposting::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let tweet = TweetId::parse(http::path(request, "id"))?;
        self.unreposting.take_back(me, tweet).await?;
        http::no_content()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/unrepost-tweet.json");

    #[test]
    fn the_event_names_a_tweet() {
        assert!(TweetId::parse(http::path(&test::request(EVENT), "id")).is_ok());
    }
}
