use std::collections::HashMap;

use shared::domain::event::TweetEvent;
use shared::domain::{Entry, Kind, TweetId};
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::events::{MOST_RECORDS, Stream};
use shared::stores::tweets::{Post, TweetKey};
use shared::stores::{EventStream, Tweets};
use shared::{Result, Roost};

pub(crate) struct PublishTweets {
    tweets: Tweets,
    events: EventStream,
}

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    entry: Entry,
    was_posted: bool,
}

impl Consumer for PublishTweets {
    type Record = TableRecord;
    const CHUNK: usize = MOST_RECORDS;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            tweets: Tweets::new(roost)?,
            events: EventStream::new(roost, Stream::TweetCreated)?,
        })
    }

    /// Records hold keys only, because what is deleted must not live on in a stream. So the table says which of the new
    /// ones are reposts. What is not there any more was deleted, and a later record says so.
    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        let changes = records.iter().map(read).collect::<Result<Vec<_>>>()?;
        let posted = changes.iter().filter(|change| change.was_posted);
        let posted: Vec<Entry> = posted.map(|change| change.entry).collect();
        let posts = self.tweets.posts(&posted).await?;
        let posts: HashMap<TweetId, Entry> = posts
            .iter()
            .map(Post::entry)
            .map(|entry| (entry.tweet, entry))
            .collect();
        let events = changes.iter().filter_map(|change| event(*change, &posts));
        self.events.put(events.collect::<Vec<_>>()).await
    }
}

fn read(record: &TableRecord) -> Result<Change> {
    Ok(Change {
        entry: batch::key::<TweetKey>(record)?.entry(),
        was_posted: batch::was_inserted(record)?,
    })
}

/// The event, under its author as partition key: one author's events stay in order. `None` if there is nothing to say:
/// nobody's home timeline waits for a reply to somebody else.
fn event(change: Change, posts: &HashMap<TweetId, Entry>) -> Option<(String, TweetEvent)> {
    let Entry {
        tweet: tweet_id,
        author: author_id,
        kind,
        ..
    } = change.entry;
    let event = if !change.was_posted {
        TweetEvent::TweetDeleted {
            tweet_id,
            author_id,
        }
    } else if kind == Kind::Reply {
        return None;
    } else {
        TweetEvent::TweetCreated {
            tweet_id,
            author_id,
            repost_of: posts.get(&tweet_id)?.repost_of(),
        }
    };
    Some((author_id.to_string(), event))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::domain::UserId;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/publish-tweets.json");

    fn entry() -> Entry {
        Entry::new(TweetId::new(8), UserId::new(7))
    }

    #[test]
    fn a_repost_carries_its_original() {
        let original = Entry::new(TweetId::new(3), UserId::new(2)).reference();
        let posts = HashMap::from([(TweetId::new(8), entry().reposting(original))]);
        let posted = Change {
            entry: entry(),
            was_posted: true,
        };
        let (_, event) = event(posted, &posts).expect("an event");
        let TweetEvent::TweetCreated { repost_of, .. } = event else {
            panic!("it was posted");
        };
        assert_eq!(repost_of, Some(original));
    }

    #[test]
    fn replies_to_others_and_what_is_gone_are_not_announced() {
        let reply = Entry {
            kind: Kind::Reply,
            ..entry()
        };
        for entry in [reply, entry()] {
            let posted = Change {
                entry,
                was_posted: true,
            };
            assert_eq!(event(posted, &HashMap::new()), None);
        }
    }

    #[test]
    fn the_event_announces_one_tweet_and_takes_one_back() {
        let batch: Batch<TableRecord> = serde_json::from_str(EVENT).expect("an event");
        let changes = batch.records.iter().map(read);
        let changes: Vec<Change> = changes.collect::<Result<_>>().expect("records");
        let posts = changes
            .iter()
            .map(|change| (change.entry.tweet, change.entry));
        let posts = posts.collect();
        let events: Vec<TweetEvent> = changes
            .iter()
            .filter_map(|change| event(*change, &posts))
            .map(|(_, event)| event)
            .collect();
        assert!(matches!(
            events[..],
            [
                TweetEvent::TweetCreated { .. },
                TweetEvent::TweetDeleted { .. }
            ]
        ));
    }
}
