//! The ranked order: how good each candidate is for one reader, and in which order the best come.
//!
//! A score is a weighted sum of four parts, each from 0 to 1: how new the item is, how much others did with the tweet, how
//! close its author is to the reader, and what it shows. docs/RANKING.md has an example by hand. To change the formula,
//! change [`Formula::score`] and the table of cases in its tests.

use std::cmp::Ordering;
use std::collections::VecDeque;

use serde::Serialize;

use super::media::MediumKind;
use super::{Entry, Tweet, UserId};

const HOUR_MS: f64 = 3_600_000.0;

/// What scores are made with. Every number is finite, none is negative, and what divides is not zero: `Config` sees to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formula {
    pub weights: Weights,
    /// After so many hours an item counts as half as new.
    pub half_life_hours: f64,
    pub engagement: Engagement,
    /// The affinity to an author with whom the reader had nothing to do.
    pub unknown_affinity: f64,
    pub content: Content,
}

/// How much each part counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    pub recency: f64,
    pub engagement: f64,
    pub affinity: f64,
    pub content: f64,
}

/// How much each reaction counts, and the logarithm of their sum at which a tweet has all there is to have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Engagement {
    pub likes: f64,
    pub replies: f64,
    pub reposts: f64,
    pub scale: f64,
}

/// What a tweet with a video, with an image and with text only is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Content {
    pub video: f64,
    pub image: f64,
    pub text: f64,
}

/// How a score came about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Score {
    /// The sum of the parts, each times its weight.
    pub total: f64,
    pub recency: f64,
    pub engagement: f64,
    pub affinity: f64,
    pub content: f64,
}

/// A candidate with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored<T> {
    pub score: Score,
    pub place: Entry,
    pub item: T,
}

impl Formula {
    /// The score of a tweet at a place. A repost is as new as the repost, because that is when it came to the reader.
    pub fn score(
        &self,
        tweet: &Tweet,
        place: Entry,
        affinity: Option<f64>,
        now_millis: u64,
    ) -> Score {
        // What is posted by a clock ahead of ours is new, not newer than new.
        let age_hours = now_millis.saturating_sub(place.tweet.millis()) as f64 / HOUR_MS;
        let recency = 0.5_f64.powf(age_hours / self.half_life_hours);
        let counts = tweet.counts;
        let reactions = self.engagement.likes * counts.like_count as f64
            + self.engagement.replies * counts.reply_count as f64
            + self.engagement.reposts * counts.repost_count as f64;
        let engagement = (reactions.ln_1p() / self.engagement.scale).min(1.0);
        let affinity = affinity.unwrap_or(self.unknown_affinity);
        let has = |kind| tweet.media.iter().any(|medium| medium.kind == kind);
        let content = if has(MediumKind::Video) {
            self.content.video
        } else if has(MediumKind::Image) {
            self.content.image
        } else {
            self.content.text
        };
        let weights = self.weights;
        Score {
            total: weights.recency * recency
                + weights.engagement * engagement
                + weights.affinity * affinity
                + weights.content * content,
            recency,
            engagement,
            affinity,
            content,
        }
    }

    /// What a score is worth if it does not matter how old the item is.
    pub fn worth(&self, score: &Score) -> f64 {
        score.total - self.weights.recency * score.recency
    }
}

/// The best first; of two that are equally good, the newer one.
pub fn best_first<T>(a: &Scored<T>, b: &Scored<T>) -> Ordering {
    let by_score = b.score.total.total_cmp(&a.score.total);
    by_score.then_with(|| b.place.tweet.cmp(&a.place.tweet))
}

/// The best first, but no author twice in a row if somebody else is left. `before` is the author of the item above.
pub fn arrange<T>(mut candidates: Vec<Scored<T>>, before: Option<UserId>) -> Vec<Scored<T>> {
    candidates.sort_by(best_first);
    let mut left: VecDeque<Scored<T>> = candidates.into();
    let (mut arranged, mut last) = (Vec::with_capacity(left.len()), before);
    while !left.is_empty() {
        let somebody_else = left
            .iter()
            .position(|candidate| Some(candidate.place.shown().author) != last);
        if let Some(next) = left.remove(somebody_else.unwrap_or(0)) {
            last = Some(next.place.shown().author);
            arranged.push(next);
        }
    }
    arranged
}

/// The numbers of the contract, for tests.
#[cfg(test)]
pub(crate) const FORMULA: Formula = Formula {
    weights: Weights {
        recency: 0.3,
        engagement: 0.3,
        affinity: 0.3,
        content: 0.1,
    },
    half_life_hours: 6.0,
    engagement: Engagement {
        likes: 1.0,
        replies: 2.0,
        reposts: 2.0,
        scale: 10.0,
    },
    unknown_affinity: 0.1,
    content: Content {
        video: 0.9,
        image: 0.7,
        text: 0.5,
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{HttpsUrl, Medium, MediumKind, ReactionCounts, TweetId, TweetText};
    use proptest::prelude::*;

    const NOW: u64 = 1_794_873_600_000;

    fn media(kinds: &[&str]) -> Vec<Medium> {
        let media = kinds.iter().map(|kind| Medium {
            kind: MediumKind::parse(kind).expect("a kind"),
            url: HttpsUrl::parse("url", "https://example.org/a").expect("a URL"),
            alt: None,
        });
        media.collect()
    }

    fn tweet(counts: [u64; 3], kinds: &[&str], millis: u64, author: u64) -> Tweet {
        let text = TweetText::parse("x").expect("a text");
        let [like_count, reply_count, repost_count] = counts;
        Tweet {
            counts: ReactionCounts {
                like_count,
                reply_count,
                repost_count,
                version: 0,
            },
            ..Tweet::new(TweetId::first_at(millis), UserId::new(author), text)
        }
        .with_media(media(kinds))
    }

    fn score(
        formula: &Formula,
        hours: f64,
        counts: [u64; 3],
        affinity: Option<f64>,
        kinds: &[&str],
    ) -> Score {
        let tweet = tweet(counts, kinds, NOW - (hours * HOUR_MS) as u64, 1);
        formula.score(&tweet, tweet.entry(), affinity, NOW)
    }

    /// Worked out by hand: hours, likes, replies and reposts, affinity, media, total.
    #[test]
    fn scores_are_what_the_formula_says_by_hand() {
        let image: &[&str] = &["image"];
        let video: &[&str] = &["image", "video"];
        type Case<'a> = (f64, [u64; 3], Option<f64>, &'a [&'a str], f64);
        let cases: [Case<'_>; 10] = [
            // 0.3·1 + 0.3·0 + 0.3·0.1 + 0.1·0.5
            (0.0, [0, 0, 0], None, &[], 0.38),
            // 0.3·0.5 + 0 + 0.03 + 0.05
            (6.0, [0, 0, 0], None, &[], 0.23),
            // 0.3·0.25 + 0 + 0.3·1 + 0.1·0.7
            (12.0, [0, 0, 0], Some(1.0), image, 0.445),
            // ln(1 + 9) = 2.302585093: 0.3 + 0.3·0.2302585093 + 0.03 + 0.1·0.9
            (0.0, [9, 0, 0], None, video, 0.489_077_552_79),
            // ln(1 + 1 + 2·2 + 2·2) = ln 10, as before, with a quarter of the newness and text
            (12.0, [1, 2, 2], None, &[], 0.224_077_552_79),
            // ln(1 + 99) = 4.605170186: 0.3·0.4605170186 = 0.13815510558
            (6.0, [99, 0, 0], Some(0.5), &[], 0.488_155_105_58),
            // e^10 is 22,026.5: from there on there is no more
            (0.0, [30_000, 0, 0], Some(0.0), &[], 0.65),
            (0.0, [u64::MAX, u64::MAX, u64::MAX], Some(1.0), video, 0.99),
            // 0.5^4 = 0.0625: 0.01875 + 0.3·ln(1001)/10 + 0.03 + 0.07
            (24.0, [1_000, 0, 0], None, image, 0.326_012_643_36),
            // 0.5^(1/6) = 0.8908987181
            (1.0, [0, 0, 0], Some(0.25), &[], 0.392_269_615_44),
        ];
        for (hours, counts, affinity, kinds, total) in cases {
            let found = score(&FORMULA, hours, counts, affinity, kinds).total;
            assert!(
                (found - total).abs() < 1e-9,
                "{hours} h, {counts:?}, {affinity:?}: {found} is not {total}"
            );
        }
    }

    #[test]
    fn a_repost_is_as_new_as_the_repost() {
        let old = tweet([0, 0, 0], &[], NOW - 48 * 3_600_000, 1);
        let place = Entry::new(TweetId::first_at(NOW), UserId::new(2));
        let place = place.reposting(old.entry().reference());
        let score = FORMULA.score(&old, place, None, NOW);
        assert!((score.recency - 1.0).abs() < 1e-9);
    }

    fn formulas() -> impl Strategy<Value = Formula> {
        let number = || prop_oneof![Just(0.0), 0.0..1e6_f64];
        let weights = [number(), number(), number(), number()];
        let engagement = [number(), number(), number()];
        (weights, 1e-6..1e6_f64, engagement, 1e-6..1e6_f64, 0.0..=1.0).prop_map(
            |(weights, half_life_hours, [likes, replies, reposts], scale, unknown_affinity)| {
                let [recency, engagement, affinity, content] = weights;
                Formula {
                    weights: Weights {
                        recency,
                        engagement,
                        affinity,
                        content,
                    },
                    half_life_hours,
                    engagement: Engagement {
                        likes,
                        replies,
                        reposts,
                        scale,
                    },
                    unknown_affinity,
                    ..FORMULA
                }
            },
        )
    }

    fn scored(candidates: &[(f64, u64)]) -> Vec<Scored<()>> {
        let candidates = candidates.iter().enumerate();
        let scored = candidates.map(|(id, (total, author))| Scored {
            score: Score {
                total: *total,
                recency: 0.0,
                engagement: 0.0,
                affinity: 0.0,
                content: 0.0,
            },
            place: Entry::new(TweetId::new(id as u64 + 1), UserId::new(*author)),
            item: (),
        });
        scored.collect()
    }

    fn candidates() -> impl Strategy<Value = Vec<Scored<()>>> {
        let totals = prop_oneof![Just(0.5), 0.0..1.0_f64];
        prop::collection::vec((totals, 1..5_u64), 0..60).prop_map(|it| scored(&it))
    }

    proptest! {
        #[test]
        fn no_input_makes_a_score_that_is_not_a_number(
            formula in formulas(),
            counts: [u64; 3],
            affinity in prop::option::of(0.0..=1.0_f64),
            posted: u32,
            now: u64,
        ) {
            let tweet = tweet(counts, &["image"], u64::from(posted) << 10, 1);
            let score = formula.score(&tweet, tweet.entry(), affinity, now);
            for part in [score.total, score.recency, score.engagement, score.affinity, score.content] {
                prop_assert!(part.is_finite() && part >= 0.0, "{:?}", score);
            }
            for part in [score.recency, score.engagement, score.affinity, score.content] {
                prop_assert!(part <= 1.0, "{:?}", score);
            }
        }

        #[test]
        fn more_of_anything_is_never_worse(
            formula in formulas(),
            hours in 0.0..1e4_f64,
            counts in prop::array::uniform3(0..u64::MAX / 2),
            affinity in 0.0..0.5_f64,
            more in 0..1_000_000_u64,
            which in 0..3_usize,
        ) {
            let total = |hours, counts, affinity, kinds: &[&str]| score(&formula, hours, counts, Some(affinity), kinds).total;
            let base = total(hours, counts, affinity, &[]);
            let mut raised = counts;
            raised[which] += more;
            prop_assert!(total(hours, raised, affinity, &[]) >= base);
            prop_assert!(total(hours / 2.0, counts, affinity, &[]) >= base);
            prop_assert!(total(hours, counts, affinity * 2.0, &[]) >= base);
            prop_assert!(total(hours, counts, affinity, &["image"]) >= base);
            prop_assert!(total(hours, counts, affinity, &["video"]) >= total(hours, counts, affinity, &["image"]));
        }

        #[test]
        fn the_order_is_the_same_however_candidates_come(candidates in candidates(), seed: u64) {
            let mut shuffled = candidates.clone();
            fastrand::Rng::with_seed(seed).shuffle(&mut shuffled);
            prop_assert_eq!(arrange(candidates, None), arrange(shuffled, None));
        }

        #[test]
        fn arranging_drops_and_repeats_nothing(candidates in candidates(), before in prop::option::of(1..5_u64)) {
            let mut arranged = arrange(candidates.clone(), before.map(UserId::new));
            arranged.sort_by_key(|it| it.place.tweet);
            prop_assert_eq!(arranged, candidates);
        }

        #[test]
        fn nobody_comes_twice_in_a_row_while_somebody_else_is_left(
            candidates in candidates(),
            before in prop::option::of(1..5_u64),
        ) {
            let mut last = before.map(UserId::new);
            let arranged = arrange(candidates, last);
            for (index, next) in arranged.iter().enumerate() {
                let others = arranged[index..].iter().any(|it| Some(it.place.author) != last);
                prop_assert!(Some(next.place.author) != last || !others);
                last = Some(next.place.author);
            }
        }
    }

    #[test]
    fn the_best_comes_first_and_of_equals_the_newer_one() {
        let arranged = arrange(scored(&[(0.2, 1), (0.9, 2), (0.2, 3), (0.2, 4)]), None);
        let ids: Vec<u64> = arranged.iter().map(|it| it.place.tweet.get()).collect();
        assert_eq!(ids, [2, 4, 3, 1]);
    }
}
