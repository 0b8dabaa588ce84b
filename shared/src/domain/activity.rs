//! Activity: tweets of people whom the reader does not follow, which those whom the reader follows liked, replied to or
//! reposted. Such a tweet is a guest on a page: it stands where the newest of these deeds does, and guests are few.

use std::collections::{BTreeSet, HashMap};

use super::id::TIME_SHIFT;
use super::{Entry, Reaction, TweetId, UserId};

/// Who brings guests, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestRule {
    /// So many followed people's deeds are looked at.
    pub people: usize,
    /// Older deeds do not count.
    pub days: u64,
    /// One in so many items of a page may be a guest; at least two.
    pub one_in: usize,
}

/// Something that a person did with a tweet. Its place is like that of a repost: the deed's own position in time, the person
/// who did it, and the tweet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Deed {
    pub place: Entry,
    pub reaction: Reaction,
}

/// Why a tweet is shown that nobody posted to the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doing {
    pub reaction: Reaction,
    /// Who did it, the last one first.
    pub people: Vec<UserId>,
}

/// A tweet with which somebody did something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// The place of the newest deed.
    pub place: Entry,
    pub doing: Doing,
}

impl Deed {
    /// A deed that is no item of its own, at its time. The tweet tells two deeds of one millisecond apart.
    pub fn at(person: UserId, reaction: Reaction, tweet: Entry, at_millis: u64) -> Self {
        let below_time = tweet.tweet.mixed() >> (u64::BITS - TIME_SHIFT);
        let position = TweetId::new(TweetId::first_at(at_millis).get() | below_time);
        Self {
            place: Entry::new(position, person).reposting(tweet.reference()),
            reaction,
        }
    }

    pub const fn person(&self) -> UserId {
        self.place.author
    }
}

/// The tweets that these deeds are about, each once, newest deed first. The newest deed says what was done; those who did the
/// same are named with it.
pub fn guests(mut deeds: Vec<Deed>) -> Vec<Guest> {
    deeds.sort_unstable_by(|a, b| b.cmp(a));
    let mut guests: Vec<Guest> = Vec::new();
    let mut by_tweet: HashMap<TweetId, usize> = HashMap::new();
    for deed in deeds {
        let tweet = deed.place.shown().tweet;
        let index = *by_tweet.entry(tweet).or_insert_with(|| {
            guests.push(Guest {
                place: deed.place,
                doing: Doing {
                    reaction: deed.reaction,
                    people: Vec::new(),
                },
            });
            guests.len() - 1
        });
        let doing = &mut guests[index].doing;
        if doing.reaction == deed.reaction && !doing.people.contains(&deed.person()) {
            doing.people.push(deed.person());
        }
    }
    guests
}

impl GuestRule {
    /// How many guests fit on a page of this size that has so many items of its own to show.
    pub fn most(&self, size: usize, own: usize) -> usize {
        (size / self.one_in).min(own / (self.one_in - 1))
    }

    /// The oldest deed that counts, in milliseconds since 1970.
    pub const fn since(&self, now_millis: u64) -> u64 {
        now_millis.saturating_sub(self.days * 24 * 3_600_000)
    }
}

/// A page of items and guests, newest first, of at most `size`; both come newest first. Also says whether an item was left.
pub fn weave<T>(
    own: Vec<T>,
    guests: Vec<T>,
    size: usize,
    place: impl Fn(&T) -> TweetId,
) -> (Vec<T>, bool) {
    let (mut own, mut guests) = (own.into_iter().peekable(), guests.into_iter().peekable());
    let mut page = Vec::with_capacity(size);
    while page.len() < size {
        let next_own = own.peek().map(&place);
        let is_newer = |guest: &T| next_own.is_none_or(|item| place(guest) > item);
        let next = match guests.next_if(is_newer) {
            Some(guest) => Some(guest),
            None => own.next(),
        };
        let Some(next) = next else { break };
        page.push(next);
    }
    let left = own.peek().is_some();
    (page, left)
}

/// The tweets of these places.
pub fn tweets_at<'a>(places: impl Iterator<Item = &'a Entry>) -> BTreeSet<TweetId> {
    places.map(|place| place.shown().tweet).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tweet(id: u64) -> Entry {
        Entry::new(TweetId::new(id), UserId::new(1_000))
    }

    fn deed(person: u64, reaction: Reaction, of: u64, at: u64) -> Deed {
        Deed {
            place: Entry::new(TweetId::new(at), UserId::new(person))
                .reposting(tweet(of).reference()),
            reaction,
        }
    }

    #[test]
    fn the_newest_deed_says_where_and_why_and_who_did_the_same() {
        let found = guests(vec![
            deed(1, Reaction::Like, 5, 100),
            deed(2, Reaction::Like, 5, 300),
            deed(3, Reaction::Reply, 5, 200),
            deed(2, Reaction::Reply, 6, 250),
            deed(2, Reaction::Reply, 6, 240),
        ]);
        let places: Vec<u64> = found.iter().map(|guest| guest.place.tweet.get()).collect();
        assert_eq!(places, [300, 250]);
        let people = |index: usize| -> Vec<u64> {
            found[index]
                .doing
                .people
                .iter()
                .map(|it| it.get())
                .collect()
        };
        assert_eq!(
            (found[0].doing.reaction, people(0)),
            (Reaction::Like, vec![2, 1])
        );
        assert_eq!(
            (found[1].doing.reaction, people(1)),
            (Reaction::Reply, vec![2])
        );
    }

    #[test]
    fn two_deeds_of_one_moment_have_two_places() {
        let at = 1_794_873_600_000;
        let deed = |id| Deed::at(UserId::new(1), Reaction::Like, tweet(id), at).place;
        assert_ne!(deed(1).tweet, deed(2).tweet);
        // Tweets that one sandbox made one after the other.
        assert_ne!(deed(7 << TIME_SHIFT).tweet, deed(8 << TIME_SHIFT).tweet);
        assert_eq!(
            (deed(1).tweet.millis(), deed(1).shown().tweet.get()),
            (at, 1)
        );
    }

    proptest! {
        #[test]
        fn guests_are_few_and_no_item_is_lost(
            own in prop::collection::btree_set(0..10_000_u64, 0..120),
            visiting in prop::collection::btree_set(10_000..20_000_u64, 0..60),
            size in 1..=100_usize,
            one_in in 2..10_usize,
        ) {
            // Items have even places, guests odd ones.
            let own: Vec<u64> = own.into_iter().rev().map(|it| it * 2).collect();
            let visiting: Vec<u64> = visiting.into_iter().rev().map(|it| (it - 10_000) * 2 + 1).collect();
            let rule = GuestRule { people: 30, days: 7, one_in };
            let few = visiting.into_iter().take(rule.most(size, own.len())).collect();
            let (page, left) = weave(own.clone(), few, size, |it| TweetId::new(*it));
            prop_assert!(page.len() <= size);
            prop_assert!(page.is_sorted_by(|a, b| a > b));
            let shown: Vec<u64> = page.iter().copied().filter(|it| it % 2 == 0).collect();
            prop_assert!((page.len() - shown.len()) * one_in <= page.len(), "{:?}", page);
            prop_assert_eq!(&own[..shown.len()], &shown[..]);
            prop_assert_eq!(left, shown.len() < own.len());
            prop_assert!(page.len() == size || !left);
        }
    }
}
