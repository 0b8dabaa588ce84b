//! How an author's tweets reach their followers, and when that changes.
//!
//! Normal authors are pushed; celebrities are pulled. A flip takes a while, because every follower has to learn of it,
//! so there are two states in between in which both happen. Readers dedupe, and nobody misses a tweet.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Pushed to every follower's list when they post.
    #[default]
    Normal,
    /// Followers are being told to pull; until all know, both.
    Promoting,
    /// Pulled from one feed when followers read.
    Celebrity,
    /// Followers are being given what they would have pulled; until all have it, both.
    Demoting,
}

impl Tier {
    /// Do tweets go to the followers' lists?
    pub const fn pushes(self) -> bool {
        !matches!(self, Self::Celebrity)
    }

    /// Do tweets go to the author's own feed, for followers to pull?
    pub const fn pulls(self) -> bool {
        !matches!(self, Self::Normal)
    }

    /// What clients are shown.
    pub const fn is_celebrity(self) -> bool {
        matches!(self, Self::Promoting | Self::Celebrity)
    }

    /// The state that follows when every follower has been told; `None` if nobody is being told anything.
    pub const fn settled(self) -> Option<Self> {
        match self {
            Self::Promoting => Some(Self::Celebrity),
            Self::Demoting => Some(Self::Normal),
            Self::Normal | Self::Celebrity => None,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Promoting => "promoting",
            Self::Celebrity => "celebrity",
            Self::Demoting => "demoting",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::Normal,
            Self::Promoting,
            Self::Celebrity,
            Self::Demoting,
        ]
        .into_iter()
        .find(|tier| tier.as_str() == text)
    }
}

/// An author's tier, and how often it flipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierAndEpoch {
    pub tier: Tier,
    pub epoch: u64,
}

/// What an author weighs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weight {
    pub followers: u64,
    pub tweets_per_day: f64,
}

/// Since when an author has been in a tier, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub tier: Tier,
    pub since_ms: u64,
}

/// What makes a celebrity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// So many followers.
    Followers { threshold: u64 },
    /// So many deliveries a day: a giant who rarely posts is cheaper to push than a chatty account of middling size.
    Load { deliveries_per_day: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    pub measure: Measure,
    /// The part of the limit below which a celebrity becomes normal again.
    pub demote_ratio: f64,
    /// How long an author stays in a tier at the least.
    pub dwell_ms: u64,
}

impl Policy {
    /// `true` if a tweet adds to what an author weighs.
    pub const fn counts_tweets(&self) -> bool {
        matches!(self.measure, Measure::Load { .. })
    }

    /// The flip that is due, if any: [`Tier::Promoting`] or [`Tier::Demoting`].
    #[expect(
        clippy::cast_precision_loss,
        reason = "a limit of more than 2^53 followers is not a limit"
    )]
    pub fn flip(&self, standing: Standing, weight: Weight, now_ms: u64) -> Option<Tier> {
        if now_ms < standing.since_ms.saturating_add(self.dwell_ms) {
            return None;
        }
        let (weight, limit) = match self.measure {
            Measure::Followers { threshold } => (weight.followers as f64, threshold as f64),
            Measure::Load { deliveries_per_day } => (
                weight.followers as f64 * weight.tweets_per_day,
                deliveries_per_day as f64,
            ),
        };
        match standing.tier {
            Tier::Normal if weight >= limit => Some(Tier::Promoting),
            Tier::Celebrity if weight < limit * self.demote_ratio => Some(Tier::Demoting),
            _ => None,
        }
    }
}

/// How often somebody posts: an average that forgets, so that one number is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PostingRate {
    pub tweets_per_day: f64,
    /// When it was true, in milliseconds since 1970.
    pub at_ms: u64,
}

impl PostingRate {
    const DAY_MS: f64 = 86_400_000.0;
    /// After this many days a tweet counts for about a third.
    const MEMORY_DAYS: f64 = 7.0;

    /// The rate as it is now, if nothing was posted since.
    #[expect(
        clippy::cast_precision_loss,
        reason = "milliseconds of a rate need no more than 53 bits"
    )]
    pub fn at(self, now_ms: u64) -> Self {
        let days = now_ms.saturating_sub(self.at_ms) as f64 / Self::DAY_MS;
        Self {
            tweets_per_day: self.tweets_per_day * (-days / Self::MEMORY_DAYS).exp(),
            at_ms: now_ms,
        }
    }

    /// The rate with one more tweet.
    pub fn with_tweet(self, now_ms: u64) -> Self {
        let faded = self.at(now_ms);
        Self {
            tweets_per_day: faded.tweets_per_day + 1.0 / Self::MEMORY_DAYS,
            ..faded
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY_MS: u64 = 86_400_000;

    fn by_followers(threshold: u64) -> Policy {
        Policy {
            measure: Measure::Followers { threshold },
            demote_ratio: 0.8,
            dwell_ms: 0,
        }
    }

    /// Lets the tiers settle at once and counts the flips.
    fn flips(policy: Policy, counts: impl IntoIterator<Item = u64>, step_ms: u64) -> usize {
        let (mut standing, mut flips) = (Standing::default(), 0);
        for (n, followers) in counts.into_iter().enumerate() {
            let now = (n as u64 + 1) * step_ms;
            let weight = Weight {
                followers,
                tweets_per_day: 1.0,
            };
            if let Some(tier) = policy.flip(standing, weight, now) {
                flips += 1;
                standing = Standing {
                    tier: tier.settled().expect("a flip settles"),
                    since_ms: now,
                };
            }
        }
        flips
    }

    #[test]
    fn swaying_around_the_threshold_flips_once() {
        assert_eq!(
            flips(
                by_followers(50),
                [49, 50, 51].into_iter().cycle().take(300),
                1
            ),
            1
        );
    }

    #[test]
    fn a_tier_lasts_at_least_its_dwell_time() {
        let policy = Policy {
            dwell_ms: 1_000,
            ..by_followers(50)
        };
        assert_eq!(
            flips(policy, [100, 0].into_iter().cycle().take(100), 100),
            9
        );
    }

    #[test]
    fn a_rarely_posting_giant_is_pushed_and_a_chatty_mid_size_account_is_pulled() {
        let policy = Policy {
            measure: Measure::Load {
                deliveries_per_day: 5_000_000,
            },
            ..by_followers(0)
        };
        let after_a_year = |followers, tweets_a_year: u64| {
            let mut rate = PostingRate::default();
            for n in 0..tweets_a_year {
                rate = rate.with_tweet(n * 365 * DAY_MS / tweets_a_year);
            }
            let now = 365 * DAY_MS;
            let weight = Weight {
                followers,
                tweets_per_day: rate.at(now).tweets_per_day,
            };
            policy.flip(Standing::default(), weight, now)
        };
        assert_eq!(after_a_year(2_000_000, 2), None);
        assert_eq!(after_a_year(200_000, 50 * 365), Some(Tier::Promoting));
    }

    proptest! {
        #[test]
        fn a_steady_rate_is_measured(per_day in 1..60_u64) {
            let mut rate = PostingRate::default();
            for n in 0..per_day * 90 {
                rate = rate.with_tweet(n * DAY_MS / per_day);
            }
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let error = (rate.tweets_per_day / per_day as f64 - 1.0).abs();
            prop_assert!(error < 0.1, "{per_day} a day were measured as {}", rate.tweets_per_day);
        }

        #[test]
        fn flips_alternate(counts in prop::collection::vec(0..120_u64, 0..200)) {
            let policy = by_followers(50);
            let mut tier = Tier::Normal;
            for followers in counts {
                let standing = Standing { tier, since_ms: 0 };
                match policy.flip(standing, Weight { followers, tweets_per_day: 0.0 }, 1) {
                    Some(Tier::Promoting) => {
                        prop_assert!(tier == Tier::Normal && followers >= 50);
                        tier = Tier::Celebrity;
                    }
                    Some(Tier::Demoting) => {
                        prop_assert!(tier == Tier::Celebrity && followers < 40);
                        tier = Tier::Normal;
                    }
                    Some(other) => prop_assert!(false, "no flip leads to {other:?}"),
                    None => {}
                }
            }
        }

        #[test]
        fn nothing_flips_while_a_flip_is_under_way(followers: u64, now: u64) {
            for tier in [Tier::Promoting, Tier::Demoting] {
                let weight = Weight { followers, tweets_per_day: 1.0 };
                prop_assert_eq!(by_followers(50).flip(Standing { tier, since_ms: 0 }, weight, now), None);
            }
        }
    }

    #[test]
    fn every_tier_reaches_followers_somehow() {
        for tier in [
            Tier::Normal,
            Tier::Promoting,
            Tier::Celebrity,
            Tier::Demoting,
        ] {
            assert!(tier.pushes() || tier.pulls());
            assert_eq!(Tier::parse(tier.as_str()), Some(tier));
        }
    }
}
