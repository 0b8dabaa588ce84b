//! How close a reader is to authors: what the reader did with their tweets lately, the latest counting most.

use std::collections::HashMap;

use super::{Reaction, UserId};

const DAY_MS: f64 = 24.0 * 3_600_000.0;

/// How much each thing counts that a reader does with an author's tweet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AffinityRule {
    pub like: f64,
    pub reply: f64,
    pub repost: f64,
    /// Negative: it counts against the author.
    pub hide: f64,
    /// What is older does not count.
    pub days: f64,
    /// After so many days it counts half.
    pub half_life_days: f64,
}

/// Something that the reader did with a tweet of this author.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interaction {
    pub author: UserId,
    pub reaction: Reaction,
    /// Milliseconds since 1970.
    pub at_millis: u64,
}

/// How close one reader is to authors, from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Affinities(HashMap<UserId, f64>);

impl AffinityRule {
    /// The oldest that counts, in milliseconds since 1970.
    pub fn since(&self, now_millis: u64) -> u64 {
        now_millis.saturating_sub((self.days * DAY_MS) as u64)
    }

    fn weight(&self, interaction: &Interaction, now_millis: u64) -> f64 {
        let weight = match interaction.reaction {
            Reaction::Like => self.like,
            Reaction::Reply => self.reply,
            Reaction::Repost => self.repost,
            Reaction::Hide => self.hide,
        };
        let age_days = now_millis.saturating_sub(interaction.at_millis) as f64 / DAY_MS;
        weight * 0.5_f64.powf(age_days / self.half_life_days)
    }
}

impl Affinities {
    /// The closest author has 1. Nobody is below 0, and those of whom nothing counts are not in it.
    pub fn new(
        reader: UserId,
        interactions: &[Interaction],
        rule: &AffinityRule,
        now_millis: u64,
    ) -> Self {
        let since = rule.since(now_millis);
        let mut sums: HashMap<UserId, f64> = HashMap::new();
        // What one does with one's own tweets says nothing about others.
        let counted = interactions.iter();
        for it in counted.filter(|it| it.at_millis >= since && it.author != reader) {
            *sums.entry(it.author).or_default() += rule.weight(it, now_millis);
        }
        let largest = sums.values().copied().fold(0.0, f64::max);
        let normal = |sum: f64| {
            if largest > 0.0 {
                (sum / largest).clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        Self(
            sums.into_iter()
                .map(|(it, sum)| (it, normal(sum)))
                .collect(),
        )
    }

    pub fn to(&self, author: UserId) -> Option<f64> {
        self.0.get(&author).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (UserId, f64)> {
        self.0.iter().map(|(author, affinity)| (*author, *affinity))
    }
}

impl FromIterator<(UserId, f64)> for Affinities {
    fn from_iter<I: IntoIterator<Item = (UserId, f64)>>(affinities: I) -> Self {
        Self(affinities.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: u64 = 1_794_873_600_000;
    const ME: UserId = UserId::new(9);
    const RULE: AffinityRule = AffinityRule {
        like: 1.0,
        reply: 2.0,
        repost: 2.0,
        hide: -2.0,
        days: 30.0,
        half_life_days: 10.0,
    };

    fn did(author: u64, reaction: Reaction, days_ago: u64) -> Interaction {
        Interaction {
            author: UserId::new(author),
            reaction,
            at_millis: NOW - days_ago * 24 * 3_600_000,
        }
    }

    fn affinities(interactions: &[Interaction]) -> Affinities {
        Affinities::new(ME, interactions, &RULE, NOW)
    }

    #[test]
    fn the_closest_author_has_one_and_older_reactions_count_less() {
        // 2 + 2 for author 1; a reply of ten days ago counts 1 for author 2; author 3 was liked and hidden.
        let found = affinities(&[
            did(1, Reaction::Reply, 0),
            did(1, Reaction::Repost, 0),
            did(2, Reaction::Reply, 10),
            did(3, Reaction::Like, 0),
            did(3, Reaction::Hide, 0),
            did(4, Reaction::Like, 31),
            did(ME.get(), Reaction::Repost, 0),
        ]);
        let to = |author| found.to(UserId::new(author));
        assert_eq!(to(1), Some(1.0));
        assert_eq!(to(2), Some(0.25));
        assert_eq!(to(3), Some(0.0));
        assert_eq!((to(4), to(ME.get())), (None, None));
    }

    #[test]
    fn one_who_only_hides_is_close_to_nobody() {
        let found = affinities(&[did(1, Reaction::Hide, 0)]);
        assert_eq!(found.to(UserId::new(1)), Some(0.0));
    }

    proptest! {
        #[test]
        fn every_affinity_is_from_0_to_1(
            done in prop::collection::vec((1..9_u64, 0..4_usize, 0..40_u64), 0..50),
            now: u64,
        ) {
            let kinds = [Reaction::Like, Reaction::Reply, Reaction::Repost, Reaction::Hide];
            let done: Vec<Interaction> = done.iter().map(|(author, kind, days)| did(*author, kinds[*kind], *days)).collect();
            for now in [now, NOW] {
                for (author, affinity) in Affinities::new(ME, &done, &RULE, now).iter() {
                    prop_assert!((0.0..=1.0).contains(&affinity), "{}: {}", author, affinity);
                }
            }
        }
    }
}
