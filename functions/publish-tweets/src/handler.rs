use shared::domain::Entry;
use shared::domain::event::TweetEvent;
use shared::runtime::batch::{self, Consumer, TableRecord};
use shared::stores::EventStream;
use shared::stores::events::{MOST_RECORDS, Stream};
use shared::stores::tweets::TweetKey;
use shared::{Result, Roost};

pub(crate) struct PublishTweets {
    events: EventStream,
}

impl Consumer for PublishTweets {
    type Record = TableRecord;
    const CHUNK: usize = MOST_RECORDS;

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            events: EventStream::new(roost, Stream::TweetCreated)?,
        })
    }

    async fn handle(&self, records: &[TableRecord]) -> Result<()> {
        let events = records.iter().map(read).collect::<Result<Vec<_>>>()?;
        self.events.put(events).await
    }
}

/// The event, under its author as partition key: one author's events stay in order.
fn read(record: &TableRecord) -> Result<(String, TweetEvent)> {
    let Entry {
        tweet: tweet_id,
        author: author_id,
        ..
    } = batch::key::<TweetKey>(record)?.entry();
    let event = if batch::was_inserted(record)? {
        TweetEvent::TweetCreated {
            tweet_id,
            author_id,
        }
    } else {
        TweetEvent::TweetDeleted {
            tweet_id,
            author_id,
        }
    };
    Ok((author_id.to_string(), event))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::batch::Batch;

    const EVENT: &str = include_str!("../../../events/publish-tweets.json");

    #[test]
    fn the_event_announces_one_tweet_and_takes_one_back() {
        let batch: Batch<TableRecord> = serde_json::from_str(EVENT).expect("an event");
        let events: Vec<TweetEvent> = batch
            .records
            .iter()
            .map(|record| read(record).expect("a record").1)
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
