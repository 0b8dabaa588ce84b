use lambda_http::Request;
use shared::domain::{Entry, TweetId};
use shared::runtime::http::{self, HttpResponse};
use shared::stores::{Cards, Identities, Tweets};
use shared::{Error, Result};

pub(crate) struct DeleteTweet {
    pub(crate) tweets: Tweets,
    pub(crate) cards: Cards,
    pub(crate) identities: Identities,
}

impl DeleteTweet {
    pub(crate) async fn handle(&self, request: Request) -> Result<HttpResponse> {
        let me = http::caller(&request, &self.identities).await?;
        let entry = Entry::new(TweetId::parse(http::path(&request, "id"))?, me);
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
        // Also where it was gone already: an earlier attempt may have failed right here.
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
