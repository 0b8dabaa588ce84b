use std::collections::{BTreeSet, HashMap};

use shared::domain::{
    Cursor, Entry, ListedTweet, SeenTweet, Tweet, TweetId, TweetRef, User, UserId,
};
use shared::flows::lookup::TweetLookup;
use shared::flows::reactions::MyReactions;
use shared::runtime::http::{self, HttpResponse, Page, Request};
use shared::stores::tweets::{NEWEST, Post};
use shared::stores::{Relations, Tweets, Users};
use shared::{Result, Roost};

pub(crate) struct UserTimeline {
    users: Users,
    relations: Relations,
    tweets: Tweets,
    lookup: TweetLookup,
    my_reactions: MyReactions,
}

impl http::Handler for UserTimeline {
    const PARAMETERS: &[&str] = &["limit", "cursor", "include"];

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            relations: Relations::new(roost)?,
            tweets: Tweets::new(roost)?,
            lookup: TweetLookup::new(roost)?,
            my_reactions: MyReactions::new(roost)?,
        })
    }

    /// A page may be shorter than asked for: reposts are left out if their original was deleted a moment ago, or if its
    /// author is on the other side of a block with the caller.
    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let author = http::user_id(request, me)?;
        let paging = http::both(http::page_size(request), http::cursor(request));
        let ((size, cursor), replies) = http::both(paging, with_replies(request))?;
        let size = size.get();
        let user = self.users.get(author).await?;
        self.relations.refuse_blocked(author, me).await?;
        let below = cursor.map_or(NEWEST, Cursor::tweet);
        // One more than the page holds tells whether another page follows.
        let mut posts = self.tweets.newest(author, false, below, size + 1).await?;
        if replies {
            posts.extend(self.tweets.newest(author, true, below, size + 1).await?);
            posts.sort_by_key(|post| std::cmp::Reverse(post.entry().tweet));
        }
        let more = posts.len() > size;
        posts.truncate(size);
        let next_cursor = posts.last().filter(|_| more);
        let next_cursor = next_cursor.map(|post| post.entry().tweet.to_string());
        let (listed, users) = self.list(me, user, posts).await?;
        http::ok(&Page::new(listed, next_cursor).with_users(users))
    }
}

impl UserTimeline {
    /// The tweets at their places, and the people whom they name.
    async fn list(
        &self,
        me: UserId,
        user: User,
        posts: Vec<Post>,
    ) -> Result<(Vec<ListedTweet>, Vec<User>)> {
        let places: Vec<Entry> = posts.iter().map(Post::entry).collect();
        let originals = places.iter().filter_map(|place| place.repost_of());
        let mut originals: Vec<Entry> = originals.map(TweetRef::entry).collect();
        let authors: BTreeSet<UserId> = originals.iter().map(|original| original.author).collect();
        let apart = self.relations.apart(me, &authors).await?;
        originals.retain(|original| !apart.contains(&original.author));
        let own: Vec<Tweet> = posts.into_iter().filter_map(Post::tweet).collect();
        let (own, reposted) = tokio::try_join!(
            self.my_reactions.see(me, own),
            self.lookup.list_entries(me, &originals)
        )?;
        let tweets = own.into_iter().chain(reposted.tweets);
        let tweets: HashMap<TweetId, SeenTweet> =
            tweets.map(|seen| (seen.tweet.id, seen)).collect();
        let listed = places.into_iter().filter_map(|place| {
            let seen = tweets.get(&place.shown().tweet)?;
            Some(ListedTweet::new(place, seen.clone()))
        });
        let listed: Vec<ListedTweet> = listed.collect();
        let author = user.id;
        let known = reposted
            .users
            .into_iter()
            .filter(|other| other.id != author);
        let users = [user].into_iter().chain(known);
        let users = users.filter(|_| !listed.is_empty()).collect();
        Ok((listed, users))
    }
}

/// Does the caller want to see replies to others, too?
fn with_replies(request: &Request) -> Result<bool> {
    match http::query(request, "include") {
        None => Ok(false),
        Some("replies") => Ok(true),
        Some(_) => Err(http::wrong_parameter("include", "include can be replies")),
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
