use shared::domain::{
    Alt, HttpsUrl, Kind, Medium, MediumKind, SeenTweet, Tweet, TweetId, TweetRef, TweetText, UserId,
};
use shared::flows::at_once::AtOnce;
use shared::flows::reactions::{MyReactions, Targets};
use shared::platform::now_millis;
use shared::runtime::body::Fields;
use shared::runtime::http::{self, HeaderName, HttpResponse, Request};
use shared::stores::reacted::Marks;
use shared::stores::tweets::Stored;
use shared::stores::{Cards, Deeds, IdempotencyKeys, Ids, Timelines, Tweets, Users};
use shared::{Error, Mistake, Result, Roost};

/// How many ids are tried before giving up. More than one is needed only when lanes have wrapped around, or when two
/// requests with the same key meet.
const ATTEMPTS: usize = 5;

const KEY: &str = "Idempotency-Key";

const LONGEST_KEY: usize = 255;

/// Says that a tweet was stored by an earlier request with the same key.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

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
    at_once: AtOnce,
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
            at_once: AtOnce::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let post = read(request)?;
        let parent = match self.parent(me, &post).await {
            Ok(parent) => parent,
            Err(error) => return self.replay_reply(me, &post, error).await,
        };
        let stored = self.store(me, &post, parent);
        let (stored, may_be_small) = tokio::join!(stored, self.at_once.may_be_small(me));
        let (tweet, is_new) = stored?;
        if !is_new {
            // It was shown when it was new, and may have been deleted since.
            return self.replay(me, tweet).await;
        }
        let followers = async {
            // A reply to somebody else is on nobody's home timeline.
            if may_be_small && tweet.entry().kind != Kind::Reply {
                self.at_once.followers(me).await
            } else {
                None
            }
        };
        let ((), exists, followers) = tokio::join!(
            self.show_to_author(&tweet),
            self.users.still_exists(me),
            followers
        );
        if !exists? {
            // The account was deleted meanwhile, and its tweets perhaps before this one was stored.
            let entry = tweet.entry();
            self.tweets.delete(entry).await?;
            self.cards.bury_briefly(&[entry]).await?;
            return Err(Error::NoProfile);
        }
        if let Some(followers) = followers {
            self.at_once.deliver(tweet.entry(), &followers).await;
        }
        if tweet.in_reply_to.is_some()
            && let Err(error) = self.deeds.forget(me).await
        {
            // Followers who ask for activity learn of it ten minutes later.
            tracing::warn!(error = error.chain(), "deeds not forgotten");
        }
        tracing::info!(tweet_id = %tweet.id, "tweet posted");
        // Nobody has had the time to react to it.
        created(&Marks::default().see(tweet))
    }
}

impl PostTweet {
    /// The answer to a key that was used before: the tweet as it is now.
    async fn replay(&self, me: UserId, tweet: Tweet) -> Result<HttpResponse> {
        let now = self.tweets.find(tweet.entry()).await?;
        let now = now.ok_or(Error::TweetDeleted)?;
        let seen = self.my_reactions.see(me, vec![now]).await?;
        let seen = seen.first().ok_or(Error::TweetDeleted)?;
        http::with_header(created(seen)?, REPLAYED, "true")
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
            None => Err(Error::TweetDeleted),
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
                Stored::KeyReused => return Err(Error::KeyReused),
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

fn created(tweet: &SeenTweet) -> Result<HttpResponse> {
    http::created_at(&format!("/v1/tweets/{}", tweet.tweet.id), tweet)
}

fn read(request: &Request) -> Result<Post> {
    let idempotency_key = read_key(request)?;
    let mut body = Fields::of(request)?;
    let text = body.text("text", TweetText::parse);
    let in_reply_to = body.optional_text("in_reply_to", TweetId::parse);
    let media = body.list("media", Medium::MOST, read_medium);
    body.finish(|| {
        Some(Post {
            text: text?,
            in_reply_to,
            media,
            idempotency_key,
        })
    })
}

fn read_medium(item: &mut Fields) -> Option<Medium> {
    let kind = item.text("type", MediumKind::parse);
    let url = item.text("url", |url| HttpsUrl::parse("url", url));
    let alt = item.optional_text("alt", Alt::parse);
    Some(Medium {
        kind: kind?,
        url: url?,
        alt: alt.flatten(),
    })
}

fn read_key(request: &Request) -> Result<Option<String>> {
    let Some(value) = request.headers().get(KEY) else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(key) if (1..=LONGEST_KEY).contains(&key.len()) => Ok(Some(key.to_owned())),
        _ => {
            let detail = format!("{KEY} is 1 to {LONGEST_KEY} ASCII characters");
            let mistake = Mistake::in_header(KEY, detail);
            Err(Error::WrongParameters(vec![mistake]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::Place;
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
        assert!(matches!(read(&request), Err(Error::WrongParameters(_))));
    }

    #[test]
    fn every_wrong_field_is_told_at_once() {
        let body =
            r#"{"text": "\u200b", "in_reply_to": "x", "media": [{"type": "gif", "uri": "x"}]}"#;
        let Err(Error::InvalidFields(mistakes)) = read(&test::with_body(EVENT, body)) else {
            panic!("{body} was read");
        };
        let expected = [
            "/text",
            "/in_reply_to",
            "/media/0/type",
            "/media/0/url",
            "/media/0/uri",
        ];
        let told = mistakes.into_iter().map(|mistake| mistake.place);
        let expected = expected.map(|pointer| Place::Pointer(pointer.to_owned()));
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
}
