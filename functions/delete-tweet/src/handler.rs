use shared::domain::{Entry, Kind, TweetId, UserId};
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::tweets::Post;
use shared::stores::{Cards, Deeds, Tweets};
use shared::{Error, Result, Roost};

pub(crate) struct DeleteTweet {
    tweets: Tweets,
    cards: Cards,
    deeds: Deeds,
}

impl http::Handler for DeleteTweet {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            tweets: Tweets::new(roost)?,
            cards: Cards::new(roost)?,
            deeds: Deeds::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let entry = Entry::new(TweetId::parse(http::path(request, "id"))?, me);
        let reply = Entry {
            kind: Kind::Reply,
            ..entry
        };
        if self.tweets.delete(entry).await? {
            self.cards.bury(entry).await?;
        } else if self.tweets.delete(reply).await? {
            self.cards.bury(entry).await?;
            // Followers are not told any more that it was replied.
            self.deeds.forget(me).await?;
        } else {
            self.bury_leftovers(entry).await?;
        }
        http::no_content()
    }
}

impl DeleteTweet {
    /// The caller has no such tweet. Perhaps an earlier attempt deleted it and failed before it could bury it.
    ///
    /// A tombstone is written only if there is something to bury, because a caller can name any number of ids. If the
    /// index, which lags, still knows the tweet, it was deleted a moment ago, and some reader may be about to cache it. If
    /// the index has forgotten it, only a cached copy is left to bury. In either case the stream's consumer buries it, too.
    /// An id that its real author uses later does not suffer: a tombstone counts only for the author whom it names.
    async fn bury_leftovers(&self, entry: Entry) -> Result<()> {
        match self.tweets.place_of(entry.tweet).await? {
            Some(place) if place.author != entry.author => Err(Error::NotYours),
            Some(place) => match self.tweets.find_post(place).await? {
                // It ends like any reaction, not here.
                Some(Post::Repost(_)) => Ok(()),
                _ => self.cards.bury(entry).await,
            },
            None => self.cards.bury_if_cached(entry).await,
        }
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
