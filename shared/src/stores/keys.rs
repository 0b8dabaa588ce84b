//! Every Redis key. The braces are literal: they are the cluster's hash tag, so that all keys of one user share a
//! shard and can be read in one pipeline.

use crate::domain::{TweetId, UserId};

const HOME_TIMELINE: &str = "home_timeline";

/// `name:{id}`. A page makes a hundred keys, so this is quicker than formatting.
fn of(name: &str, id: u64) -> String {
    let mut key = String::with_capacity(name.len() + LONGEST_ID + ":{}:tweets".len());
    write(name, id, &mut key);
    key
}

/// The same at the end of a text.
fn write(name: &str, id: u64, into: &mut String) {
    into.push_str(name);
    into.push_str(":{");
    into.push_str(itoa::Buffer::new().format(id));
    into.push('}');
}

/// Digits of the largest id.
const LONGEST_ID: usize = 20;

/// Everything that is kept under a user's id.
pub(crate) fn of_user(user: UserId) -> Vec<String> {
    let keys = [
        home_timeline,
        hidden,
        excluded,
        excluded_fill,
        rebuild,
        feed,
        feed_fill,
        my_celebs,
        my_celebs_fill,
        reacted,
        reacted_fill,
        affinity,
        deeds,
        marker,
        active,
        warmed,
        fan,
        user_counts,
        profile,
        profile_fill,
    ];
    keys.map(|key| key(user)).to_vec()
}

/// Everything that is kept under a tweet's id beside the tweet itself, which leaves a tombstone.
pub(crate) fn of_tweet(tweet: TweetId) -> Vec<String> {
    vec![receipt(tweet), stats(tweet)]
}

/// Matches every [`home_timeline`].
pub(crate) const ALL_HOME_TIMELINES: &str = "home_timeline:*";

pub(crate) fn home_timeline(user: UserId) -> String {
    of(HOME_TIMELINE, user.get())
}

/// The same at the end of a text: a fan-out needs thousands of them, one after the other.
pub(crate) fn write_home_timeline(user: UserId, into: &mut String) {
    write(HOME_TIMELINE, user.get(), into);
}

/// Authors who were unfollowed so lately that an entry of theirs may still be on its way to the user's list.
pub(crate) fn hidden(user: UserId) -> String {
    of("hidden", user.get())
}

/// Authors whom the user must not be shown, as the table `relations` says.
pub(crate) fn excluded(user: UserId) -> String {
    of("excluded", user.get())
}

/// The right to fill [`excluded`]. Every change takes it away.
pub(crate) fn excluded_fill(user: UserId) -> String {
    of("excluded_fill", user.get())
}

/// The right to rebuild the user's list.
pub(crate) fn rebuild(user: UserId) -> String {
    of("rebuild", user.get())
}

/// The newest tweets of an author who is pulled.
pub(crate) fn feed(author: UserId) -> String {
    of("user", author.get()) + ":tweets"
}

/// The right to fill the feed. Every change of the feed deletes it.
pub(crate) fn feed_fill(author: UserId) -> String {
    of("feed_fill", author.get())
}

/// The authors whom a user follows and who are pulled.
pub(crate) fn my_celebs(user: UserId) -> String {
    of("my_celebs", user.get())
}

/// Like [`feed_fill`], for [`my_celebs`].
pub(crate) fn my_celebs_fill(user: UserId) -> String {
    of("my_celebs_fill", user.get())
}

/// Which tweets the user has reacted to.
pub(crate) fn reacted(user: UserId) -> String {
    of("reacted", user.get())
}

/// Like [`feed_fill`], for [`reacted`].
pub(crate) fn reacted_fill(user: UserId) -> String {
    of("reacted_fill", user.get())
}

/// How close the user is to authors.
pub(crate) fn affinity(user: UserId) -> String {
    of("affinity", user.get())
}

/// What the user did lately with the tweets of others.
pub(crate) fn deeds(user: UserId) -> String {
    of("deeds", user.get())
}

/// How far the user has read.
pub(crate) fn marker(user: UserId) -> String {
    of("marker", user.get())
}

/// The user has read in this hour.
pub(crate) fn active(user: UserId) -> String {
    of("active", user.get())
}

/// The user's list was made before they came to read it.
pub(crate) fn warmed(user: UserId) -> String {
    of("warmed", user.get())
}

pub(crate) fn user_counts(user: UserId) -> String {
    of("user_counts", user.get())
}

pub(crate) fn profile(user: UserId) -> String {
    of("profile", user.get())
}

/// Like [`feed_fill`], for [`profile`].
pub(crate) fn profile_fill(user: UserId) -> String {
    of("profile_fill", user.get())
}

pub(crate) fn tweet(tweet: TweetId) -> String {
    of("tweet", tweet.get())
}

/// How many people reacted to the tweet.
pub(crate) fn stats(tweet: TweetId) -> String {
    of("stats", tweet.get())
}

/// What became of the tweet's delivery.
pub(crate) fn receipt(tweet: TweetId) -> String {
    of("receipt", tweet.get())
}

/// Those who are connected, one of several sets.
pub(crate) fn listeners(set: u8) -> String {
    format!("listeners:{{{set}}}")
}

/// The connected followers of an author who is pulled, one of several sets.
pub(crate) fn fans(author: UserId, set: u8) -> String {
    format!("fans:{{{author}:{set}}}")
}

/// It was looked up lately of whom the user is a fan.
pub(crate) fn fan(user: UserId) -> String {
    of("fan", user.get())
}

/// The right to have [`listeners`] made anew.
pub(crate) const RESTORING_LISTENERS: &str = "restoring_listeners";

/// See [`crate::domain::canary`]. The number spreads them over the shards.
pub(crate) fn canary(number: u16) -> String {
    format!("canary:{{{number}}}")
}

/// `true` for everything that can be computed from the tables again.
pub(crate) fn is_derived(key: &str) -> bool {
    !key.starts_with("canary:") && !key.starts_with("rate:")
}

pub(crate) fn identity(sub: &str) -> String {
    format!("identity:{{{sub}}}")
}

/// How much the token's owner has asked of us lately; `kind` is `read` or `write`.
pub(crate) fn rate(sub: &str, kind: &str) -> String {
    format!("rate:{{{sub}}}:{kind}")
}

#[cfg(test)]
mod tests {
    /// The functions of this file that make a key out of an id of this type.
    fn keys_by(id_type: &str) -> Vec<&'static str> {
        let source = include_str!("keys.rs");
        let functions = source.split("pub(crate) fn ").skip(1);
        let fitting = functions.filter_map(|function| {
            let (name, rest) = function.split_once('(')?;
            let (parameter, rest) = rest.split_once(')')?;
            let one_key = rest.starts_with(" -> String");
            (one_key && parameter.ends_with(id_type)).then_some(name)
        });
        fitting.collect()
    }

    /// What stands between the braces of a function of this file.
    fn body(name: &str) -> &'static str {
        let (_, rest) = include_str!("keys.rs")
            .split_once(&format!("fn {name}("))
            .expect("a function of this file");
        rest.split("\n}\n").next().unwrap_or_default()
    }

    #[test]
    fn an_erasure_forgets_every_key_of_a_user() {
        let keys = keys_by(": UserId");
        assert!(keys.len() > 5, "{keys:?}");
        for key in keys {
            let listed = body("of_user").contains(&format!("        {key},\n"));
            assert!(listed, "{key} is not in of_user, so it outlives its user");
        }
    }

    #[test]
    fn an_erasure_forgets_every_key_of_a_tweet() {
        // The tweet itself gets a tombstone.
        for key in keys_by(": TweetId")
            .into_iter()
            .filter(|key| *key != "tweet")
        {
            let listed = body("of_tweet").contains(&format!("{key}(tweet)"));
            assert!(listed, "{key} is not in of_tweet, so it outlives its tweet");
        }
    }
}
