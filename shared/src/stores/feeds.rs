//! The feeds of authors who are pulled: `user:{a}:tweets`, a sorted set of the newest tweets.
//!
//! The score is the tweet's time in milliseconds, which a double holds exactly, and the member begins with the id in fixed
//! width; so Redis' order is the order of ids to the last bit. A repost's member goes on with its original.
//!
//! Two members are no tweets. [`BOTTOM`], below all others, says that the author has nothing older. [`TOP`], above all
//! others, says that there is a feed: without it, a range that is empty could be a feed that is missing.

use std::sync::LazyLock;

use redis::cmd;

use super::tweets::NEWEST;
use super::{FillToken, keys};
use crate::domain::timeline::{ALL_KNOWN, Source};
use crate::domain::{Entry, TweetId, TweetRef, UserId};
use crate::platform::Roost;
use crate::platform::redis::{Batch, Redis, Script};
use crate::{Error, Result};

/// How many tweets a feed keeps. There are few feeds, so this is no parameter.
pub const MOST: usize = 800;

/// A feed without a bottom that has fewer is dropped, so that a feed always reaches deeper than one read asks for.
pub const LEAST: usize = 200;

const SECONDS: u64 = 30 * 24 * 3600;
const BOTTOM: &str = "bottom";
const TOP: &str = "top";

static ADD: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("scripts/feed_add.lua")));
static FILL: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/feed_fill.lua")));
static REMOVE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("scripts/feed_remove.lua")));

#[derive(Clone)]
pub struct Feeds {
    redis: Redis,
}

impl Feeds {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
        })
    }

    /// One write per tweet, however many followers there are.
    pub async fn add(&self, entry: Entry) -> Result<()> {
        let (score, member) = scored(entry);
        let arguments =
            [score, member, (MOST + 1).to_string(), SECONDS.to_string()].map(String::into_bytes);
        let call = (Self::keys(entry.author), arguments.to_vec());
        self.redis.tell_script(&ADD, [call]).await
    }

    /// Takes a tweet out, or a repost, whatever it was a repost of.
    pub async fn remove(&self, entry: Entry) -> Result<()> {
        let (score, id) = scored(Entry::new(entry.tweet, entry.author));
        let arguments = [score, id, (LEAST + 1).to_string()].map(String::into_bytes);
        let call = (Self::keys(entry.author), arguments.to_vec());
        self.redis.tell_script(&REMOVE, [call]).await
    }

    /// One round trip: of each author the newest tweets, and none that is older than `down_to`. `None` if the feed is
    /// missing.
    pub async fn newest(
        &self,
        authors: &[UserId],
        down_to: TweetId,
        count: usize,
    ) -> Result<Vec<Option<Source>>> {
        let oldest = if down_to == ALL_KNOWN {
            "-inf".to_owned()
        } else {
            down_to.millis().to_string()
        };
        let mut reads = self.redis.batch(authors.len());
        for author in authors {
            let range = ("+inf", oldest.as_str());
            ask_range(*author, range, count + 1, &mut reads);
        }
        let answers: Vec<Vec<String>> = self.redis.send(reads).await?;
        let read = authors.iter().zip(answers);
        read.map(|(author, members)| match members.split_first() {
            Some((first, members)) if first == TOP => {
                let mut read = source(*author, NEWEST, members)?;
                if down_to > ALL_KNOWN && members.len() < count {
                    // Every feed reaches deeper than so few.
                    read.get_or_insert_with(Source::end).floor =
                        TweetId::first_at(down_to.millis());
                }
                Ok(read)
            }
            // An older version made it, or there is none.
            _ => Ok(None),
        })
        .collect()
    }

    /// One round trip: of each author the newest tweets below an id. `None` if the feed is missing or keeps nothing
    /// that deep.
    pub async fn below(
        &self,
        from: &[(UserId, TweetId)],
        count: usize,
    ) -> Result<Vec<Option<Source>>> {
        let mut reads = self.redis.batch(from.len());
        for (author, below) in from {
            let newest = below.millis().to_string();
            ask_range(*author, (&newest, "-inf"), count, &mut reads);
        }
        let answers: Vec<Vec<String>> = self.redis.send(reads).await?;
        let read = from.iter().zip(answers);
        read.map(|((author, below), members)| source(*author, *below, &members))
            .collect()
    }

    /// Takes the right to fill a missing feed; `None` if somebody else has it.
    pub async fn begin_fill(&self, author: UserId) -> Result<Option<FillToken>> {
        FillToken::take(&self.redis, keys::feed_fill(author)).await
    }

    /// Takes the right to fill a feed, even if somebody else has it.
    pub async fn seize_fill(&self, author: UserId) -> Result<FillToken> {
        FillToken::seize(&self.redis, keys::feed_fill(author)).await
    }

    /// Stores what was read since the right was taken: the author's newest, and whether that is all. `false` if the feed
    /// changed meanwhile, so that nothing was stored.
    pub async fn finish_fill(
        &self,
        author: UserId,
        token: FillToken,
        entries: &[Entry],
        all: bool,
    ) -> Result<bool> {
        let mut arguments = vec![token.to_string(), SECONDS.to_string()];
        arguments.extend(["+inf".to_owned(), TOP.to_owned()]);
        if all {
            arguments.extend(["0".to_owned(), BOTTOM.to_owned()]);
        }
        arguments.extend(
            entries
                .iter()
                .flat_map(|entry| <[String; 2]>::from(scored(*entry))),
        );
        let arguments = arguments.into_iter().map(String::into_bytes).collect();
        let stored: Vec<bool> = self
            .redis
            .run_script(&FILL, [(Self::keys(author), arguments)])
            .await?;
        Ok(stored == [true])
    }

    /// Forgets the feeds of these authors. If one of them is still pulled, the next reader fills the feed again.
    pub async fn forget(&self, authors: impl IntoIterator<Item = UserId>) -> Result<()> {
        let deletes = authors
            .into_iter()
            .map(|author| cmd("DEL").arg(Self::keys(author)).take());
        self.redis.tell(deletes.collect::<Vec<_>>()).await
    }

    fn keys(author: UserId) -> Vec<String> {
        vec![keys::feed(author), keys::feed_fill(author)]
    }
}

/// Asks for members from the newest to the oldest of these scores.
fn ask_range(author: UserId, (newest, oldest): (&str, &str), count: usize, reads: &mut Batch) {
    reads.add(&[
        b"ZREVRANGEBYSCORE",
        keys::feed(author).as_bytes(),
        newest.as_bytes(),
        oldest.as_bytes(),
        b"LIMIT",
        b"0",
        count.to_string().as_bytes(),
    ]);
}

fn scored(entry: Entry) -> (String, String) {
    let mut member = format!("{:019}", entry.tweet.get());
    if let Some(original) = entry.repost_of() {
        let reply = if original.is_reply { "r" } else { "" };
        member += &format!(":{}:{}{reply}", original.tweet_id, original.author_id);
    }
    (entry.tweet.millis().to_string(), member)
}

/// The other way round; `None` if it cannot be read.
fn parse(member: &str, author: UserId) -> Option<Entry> {
    let mut parts = member.splitn(3, ':');
    let id = parts.next()?.parse().ok()?;
    let entry = Entry::new(TweetId::new(id), author);
    let (Some(tweet), Some(whose)) = (parts.next(), parts.next()) else {
        return (member.len() == 19).then_some(entry);
    };
    let whose_id = whose.strip_suffix('r').unwrap_or(whose);
    Some(entry.reposting(TweetRef {
        tweet_id: TweetId::new(tweet.parse().ok()?),
        author_id: UserId::new(whose_id.parse().ok()?),
        is_reply: whose_id.len() < whose.len(),
    }))
}

fn source(author: UserId, below: TweetId, members: &[String]) -> Result<Option<Source>> {
    let all = members.last().is_some_and(|member| member == BOTTOM);
    let ids = &members[..members.len() - usize::from(all)];
    let mut entries = ids
        .iter()
        .map(|member| {
            parse(member, author)
                .ok_or_else(|| Error::unreadable("a member of a feed")(member.clone()))
        })
        .collect::<Result<Vec<Entry>>>()?;
    // Scores are milliseconds, so the first few may be of the same one as the cursor.
    entries.retain(|entry| entry.tweet < below);
    let floor = if all {
        Some(ALL_KNOWN)
    } else {
        entries.last().map(|entry| entry.tweet)
    };
    Ok(floor.map(|floor| Source { entries, floor }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // What Redis does with a score is what an f64 does, and equal scores are ordered by their members' bytes.
        #[test]
        fn redis_orders_members_like_ids_to_the_last_bit(a in 1_u64..1 << 63, offset in 0_u64..1 << 24) {
            let b = (a + offset).min((1 << 63) - 1);
            let key = |id: u64| {
                let (score, member) = scored(Entry::new(TweetId::new(id), UserId::new(1)));
                (score.parse::<f64>().expect("a number"), member)
            };
            prop_assert_eq!(key(a).partial_cmp(&key(b)), Some(a.cmp(&b)));
        }

        #[test]
        fn a_repost_survives_its_member(id in 1_u64..1 << 63, of in 1_u64..1 << 63, author in 1_u64..1 << 63, is_reply: bool) {
            let tweet = Entry::new(TweetId::new(id), UserId::new(1));
            let original = TweetRef { tweet_id: TweetId::new(of), author_id: UserId::new(author), is_reply };
            for entry in [tweet, tweet.reposting(original)] {
                let (_, member) = scored(entry);
                prop_assert_eq!(parse(&member, UserId::new(1)), Some(entry));
                prop_assert!(member.starts_with(&scored(tweet).1));
            }
        }
    }
}
