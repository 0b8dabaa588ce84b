use serde::Deserialize;
use shared::domain::media::{Medium, UncheckedMedium};
use shared::domain::{Kind, Tweet, TweetId, TweetRef, TweetText, UserId};
use shared::flows::reactions::{MyReactions, Targets};
use shared::platform::now_millis;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::reacted::Marks;
use shared::stores::tweets::Stored;
use shared::stores::{Cards, Deeds, IdempotencyKeys, Ids, Timelines, Tweets, Users};
use shared::{Error, Result, Roost};

/// How many ids are tried before giving up. More than one is needed only when lanes have wrapped around, or when two
/// requests with the same key meet.
const ATTEMPTS: usize = 5;

const LONGEST_KEY: usize = 255;

pub(crate) struct PostTweet {
    ids: Ids,
    users: Users,
    tweets: Tweets,
    idempotency_keys: IdempotencyKeys,
    timelines: Timelines,
    cards: Cards,
    my_reactions: MyReactions,
    targets: Targets,
    deeds: Deeds,
}

#[derive(Deserialize)]
struct Body {
    text: String,
    in_reply_to: Option<String>,
    #[serde(default)]
    media: Vec<UncheckedMedium>,
}

/// What a request asks for.
struct Post {
    text: TweetText,
    in_reply_to: Option<TweetId>,
    media: Vec<Medium>,
    idempotency_key: Option<String>,
}

impl http::Handler for PostTweet {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            ids: Ids::new(roost)?,
            users: Users::new(roost)?,
            tweets: Tweets::new(roost)?,
            idempotency_keys: IdempotencyKeys::new(roost)?,
            timelines: Timelines::new(roost)?,
            cards: Cards::new(roost)?,
            my_reactions: MyReactions::new(roost)?,
            targets: Targets::new(roost)?,
            deeds: Deeds::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let post = read(request)?;
        let parent = match self.parent(me, &post).await {
            Ok(parent) => parent,
            Err(error) => return self.replay_reply(me, &post, error).await,
        };
        let (tweet, is_new) = self.store(me, &post, parent).await?;
        if !is_new {
            // It was shown when it was new, and may have been deleted since.
            return self.replay(me, tweet).await;
        }
        let ((), exists) = tokio::join!(self.show_to_author(&tweet), self.users.still_exists(me));
        if !exists? {
            // The account was deleted meanwhile, and its tweets perhaps before this one was stored.
            let entry = tweet.entry();
            self.tweets.delete(entry).await?;
            self.cards.bury_briefly(&[entry]).await?;
            return Err(Error::NoProfile);
        }
        if tweet.in_reply_to.is_some()
            && let Err(error) = self.deeds.forget(me).await
        {
            // Followers who ask for activity learn of it ten minutes later.
            tracing::warn!(error = error.chain(), "deeds not forgotten");
        }
        tracing::info!(tweet_id = %tweet.id, "tweet posted");
        // Nobody has had the time to react to it.
        http::created(&Marks::default().see(tweet))
    }
}

impl PostTweet {
    /// The answer to a key that was used before: the tweet as it is now, or as it was if it has been deleted.
    async fn replay(&self, me: UserId, tweet: Tweet) -> Result<HttpResponse> {
        let now = self.tweets.find(tweet.entry()).await?;
        let seen = self
            .my_reactions
            .see(me, vec![now.unwrap_or(tweet)])
            .await?;
        http::created(&seen.first())
    }

    /// The parent is gone, or may not be replied to any more. That is no reason to refuse a request that was fulfilled
    /// before, and whose answer may have been lost.
    async fn replay_reply(&self, me: UserId, post: &Post, error: Error) -> Result<HttpResponse> {
        let (Some(key), Some(tweet_id)) = (&post.idempotency_key, post.in_reply_to) else {
            return Err(error);
        };
        let parent = TweetRef {
            tweet_id,
            author_id: me,
            is_reply: false,
        };
        let asked = Tweet::new(tweet_id, me, post.text.clone())
            .with_media(post.media.clone())
            .replying_to(Some(parent));
        let Some(id) = self.idempotency_keys.stored_before(&asked, key).await? else {
            return Err(error);
        };
        let places = self.tweets.places_of(id, me).await?;
        let mut stored = self.tweets.get_many(&places).await?;
        match stored.pop() {
            Some(tweet) => self.replay(me, tweet).await,
            None => Err(error),
        }
    }

    /// The tweet that is replied to.
    async fn parent(&self, me: UserId, post: &Post) -> Result<Option<TweetRef>> {
        match post.in_reply_to {
            Some(parent) => {
                let parent = self.targets.find(me, parent).await?;
                Ok(Some(parent.reference()))
            }
            None => Ok(None),
        }
    }

    /// The tweet, and `true` if this request stored it.
    async fn store(
        &self,
        me: UserId,
        post: &Post,
        parent: Option<TweetRef>,
    ) -> Result<(Tweet, bool)> {
        for _ in 0..ATTEMPTS {
            let id = TweetId::new(self.ids.next().await?);
            let tweet = Tweet::new(id, me, post.text.clone())
                .with_media(post.media.clone())
                .replying_to(parent);
            let stored = match &post.idempotency_key {
                None => self.tweets.store(&tweet).await?,
                Some(key) => self.idempotency_keys.store_once(&tweet, key).await?,
            };
            match stored {
                Stored::New => return Ok((tweet, true)),
                Stored::Before(before) => return Ok((before, false)),
                Stored::KeyReused => {
                    return Err(Error::Invalid(
                        "this Idempotency-Key was used with another body".to_owned(),
                    ));
                }
                Stored::Refused => {}
            }
        }
        Err(Error::GaveUp("storing a tweet"))
    }

    /// Read your writes. The tweet is stored, so a cache that fails here must not fail the request: the fan-out
    /// delivers to the author as well.
    async fn show_to_author(&self, tweet: &Tweet) {
        let (entry, me) = (tweet.entry(), [tweet.author_id]);
        // A reply to somebody else is on nobody's home timeline, not even its author's.
        let readers = if entry.kind == Kind::Reply {
            &[]
        } else {
            &me[..]
        };
        let shown = tokio::try_join!(
            self.timelines.deliver(entry, readers, now_millis()),
            self.cards.fill_tweets(std::slice::from_ref(tweet)),
        );
        if let Err(error) = shown {
            tracing::warn!(error = error.chain(), "own timeline not updated");
        }
    }
}

fn read(request: &Request) -> Result<Post> {
    let body: Body = http::body(request)?;
    let text = TweetText::parse(body.text)?;
    let in_reply_to = body
        .in_reply_to
        .as_deref()
        .map(TweetId::parse)
        .transpose()?;
    let media = Medium::parse_all(body.media)?;
    let idempotency_key = match request
        .headers()
        .get("idempotency-key")
        .map(|value| value.to_str())
    {
        None => None,
        Some(Ok(key)) if (1..=LONGEST_KEY).contains(&key.len()) => Some(key.to_owned()),
        Some(_) => {
            return Err(Error::Malformed(format!(
                "Idempotency-Key is 1 to {LONGEST_KEY} ASCII characters"
            )));
        }
    };
    Ok(Post {
        text,
        in_reply_to,
        media,
        idempotency_key,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/post-tweet.json");

    #[test]
    fn the_event_posts_a_text_once() {
        let post = read(&test::request(EVENT)).expect("a good request");
        assert_eq!(post.text.as_str(), "just setting up my roost");
        assert_eq!((post.in_reply_to, post.media.len()), (None, 0));
        assert_eq!(post.idempotency_key.as_deref(), Some("first-tweet"));
    }

    #[test]
    fn a_key_that_is_too_long_is_refused() {
        let mut request = test::request(EVENT);
        let key = "k".repeat(LONGEST_KEY + 1).parse().expect("a header value");
        request.headers_mut().insert("idempotency-key", key);
        assert!(matches!(read(&request), Err(Error::Malformed(_))));
    }
}
