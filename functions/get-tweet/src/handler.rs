use serde::Serialize;
use shared::domain::{SeenTweet, Tweet, TweetId, User, UserId};
use shared::flows::reactions::MyReactions;
use shared::runtime::http::{self, HttpResponse, Includes, Request};
use shared::stores::{Relations, Tweets, Users};
use shared::{Error, Result, Roost};

pub(crate) struct GetTweet {
    users: Users,
    relations: Relations,
    tweets: Tweets,
    my_reactions: MyReactions,
}

/// The tweet's own fields, and its author beside them.
#[derive(Serialize)]
struct Body {
    #[serde(flatten)]
    tweet: SeenTweet,
    includes: Includes,
}

impl http::Handler for GetTweet {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            relations: Relations::new(roost)?,
            tweets: Tweets::new(roost)?,
            my_reactions: MyReactions::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let id = TweetId::parse(http::path(request, "id"))?;
        let found = self.find(id, me).await?;
        let (tweet, author) = found.ok_or(Error::NoTweet(id))?;
        self.relations.refuse_blocked(tweet.author_id, me).await?;
        let seen = self.my_reactions.see(me, vec![tweet]).await?;
        let tweet = seen.into_iter().next().ok_or(Error::NoTweet(id))?;
        let includes = Includes {
            users: vec![author],
        };
        http::ok(&Body { tweet, includes })
    }
}

impl GetTweet {
    /// The tweet and its author.
    async fn find(&self, id: TweetId, me: UserId) -> Result<Option<(Tweet, User)>> {
        let places = self.tweets.places_of(id, me).await?;
        let author = places.first().map_or(me, |place| place.author);
        let (tweets, author) =
            tokio::try_join!(self.tweets.get_many(&places), self.users.find(author))?;
        Ok(tweets.into_iter().next().zip(author))
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
