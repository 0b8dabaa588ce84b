use shared::domain::{Reaction, TweetId, UserId};
use shared::flows::reactions::Retracting;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::{Result, Roost};

pub(crate) struct UnhideTweet {
    retracting: Retracting,
}

impl http::Handler for UnhideTweet {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            retracting: Retracting::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let tweet = TweetId::parse(http::path(request, "id"))?;
        self.retracting.take_back(me, Reaction::Hide, tweet).await?;
        http::no_content()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/unhide-tweet.json");

    #[test]
    fn the_event_names_a_tweet() {
        assert!(TweetId::parse(http::path(&test::request(EVENT), "id")).is_ok());
    }
}
