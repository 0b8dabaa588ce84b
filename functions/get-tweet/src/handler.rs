use shared::domain::{Entry, Tweet, TweetId, UserId};
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::{Relations, Tweets, Users};
use shared::{Error, Result, Roost};

pub(crate) struct GetTweet {
    users: Users,
    relations: Relations,
    tweets: Tweets,
}

impl http::Handler for GetTweet {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            relations: Relations::new(roost)?,
            tweets: Tweets::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let id = TweetId::parse(http::path(request, "id"))?;
        let tweet = self.find(id, me).await?;
        let tweet = tweet.ok_or_else(|| Error::NotFound(format!("there is no tweet {id}")))?;
        self.relations.refuse_blocked(tweet.author_id, me).await?;
        http::ok(&tweet)
    }
}

impl GetTweet {
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
