use shared::domain::{Reaction, TweetId, UserId};
use shared::flows::reactions::Reacting;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::{Result, Roost};

pub(crate) struct LikeTweet {
    reacting: Reacting,
}

impl http::Handler for LikeTweet {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            reacting: Reacting::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let tweet = TweetId::parse(http::path(request, "id"))?;
        self.reacting.react(me, Reaction::Like, tweet).await?;
        http::no_content()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/like-tweet.json");

    #[test]
    fn the_event_names_a_tweet() {
        assert!(TweetId::parse(http::path(&test::request(EVENT), "id")).is_ok());
    }
}
