use shared::domain::{Entry, TweetId, UserId};
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::{Cards, Tweets};
use shared::{Error, Result, Roost};

pub(crate) struct DeleteTweet {
    tweets: Tweets,
    cards: Cards,
}

impl http::Handler for DeleteTweet {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            tweets: Tweets::new(roost)?,
            cards: Cards::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let entry = Entry::new(TweetId::parse(http::path(request, "id"))?, me);
        let existed = self.tweets.delete(entry).await?;
        if !existed
            && self
                .tweets
                .author_of(entry.tweet)
                .await?
                .is_some_and(|author| author != me)
        {
            return Err(Error::Forbidden("this is somebody else's tweet".to_owned()));
        }
        // Also if it was deleted already: an earlier attempt may have failed right here.
        self.cards.bury(entry).await?;
        http::no_content()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/delete-tweet.json");

    #[test]
    fn the_event_names_a_tweet() {
        assert!(TweetId::parse(http::path(&test::request(EVENT), "id")).is_ok());
    }
}
