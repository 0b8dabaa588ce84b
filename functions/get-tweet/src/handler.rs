use lambda_http::Request;
use shared::domain::{Entry, Tweet, TweetId, UserId};
use shared::runtime::http::{self, HttpResponse};
use shared::stores::{Identities, Tweets, Users};
use shared::{Error, Result};

pub(crate) struct GetTweet {
    pub(crate) users: Users,
    pub(crate) tweets: Tweets,
    pub(crate) identities: Identities,
}

impl GetTweet {
    pub(crate) async fn handle(&self, request: Request) -> Result<HttpResponse> {
        let me = http::caller(&request, &self.identities).await?;
        let id = TweetId::parse(http::path(&request, "id"))?;
        let tweet = self.find(id, me).await?;
        http::ok(&tweet.ok_or_else(|| Error::NotFound(format!("there is no tweet {id}")))?)
    }

    async fn find(&self, id: TweetId, me: UserId) -> Result<Option<Tweet>> {
        // The index may not know a tweet yet that the caller posted a moment ago.
        let author = self.tweets.author_of(id).await?.unwrap_or(me);
        let (tweet, author_exists) = tokio::try_join!(
            self.tweets.find(Entry::new(id, author)),
            self.users.still_exists(author)
        )?;
        Ok(tweet.filter(|_| author_exists))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/get-tweet.json");

    #[test]
    fn the_event_names_a_tweet() {
        assert!(TweetId::parse(http::path(&test::request(EVENT), "id")).is_ok());
    }
}
