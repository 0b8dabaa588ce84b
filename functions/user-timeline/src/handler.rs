use shared::domain::{Cursor, UserId};
use shared::flows::reactions::MyReactions;
use shared::runtime::http::{self, HttpResponse, Page, Request};
use shared::stores::tweets::{NEWEST, OLDEST};
use shared::stores::{Relations, Tweets, Users};
use shared::{Result, Roost};

pub(crate) struct UserTimeline {
    users: Users,
    relations: Relations,
    tweets: Tweets,
    my_reactions: MyReactions,
}

impl http::Handler for UserTimeline {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            relations: Relations::new(roost)?,
            tweets: Tweets::new(roost)?,
            my_reactions: MyReactions::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let author = http::user_id(request, me)?;
        let (size, cursor) = (http::page_size(request)?, http::cursor(request)?);
        let user = self.users.get(author).await?;
        self.relations.refuse_blocked(author, me).await?;
        let below = cursor.map_or(NEWEST, Cursor::tweet);
        // One more than the page holds tells whether another page follows.
        let mut tweets = self
            .tweets
            .newest(author, OLDEST, below, size.get() + 1)
            .await?;
        let more = tweets.len() > size.get();
        tweets.truncate(size.get());
        let next_cursor = tweets
            .last()
            .filter(|_| more)
            .map(|tweet| tweet.id.to_string());
        let authors = if tweets.is_empty() {
            Vec::new()
        } else {
            vec![user]
        };
        let seen = self.my_reactions.see(me, tweets).await?;
        http::ok(&Page::new(seen, next_cursor).with_users(authors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/user-timeline.json");

    #[test]
    fn the_event_asks_for_a_page_behind_a_cursor() {
        let request = test::request(EVENT);
        assert_eq!(http::page_size(&request).expect("a limit").get(), 5);
        assert!(http::cursor(&request).expect("a cursor").is_some());
    }
}
