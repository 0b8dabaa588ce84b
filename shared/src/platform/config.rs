//! Configuration from the environment.
//!
//! Every variable Roost knows has one method here. A function has only those it needs (see template.yaml), and asks
//! for them at start, so a missing one is found then, by its name.

use std::collections::HashMap;
use std::str::FromStr;
use std::time::Duration;

use crate::domain::AffinityRule;
use crate::domain::activity::GuestRule;
use crate::domain::rank::{Content, Engagement, Formula, Weights};
use crate::domain::tier::{Measure, Policy};
use crate::domain::timeline::CAPS;
use crate::domain::walk_cursor::MOST_PAGES;
use crate::{Error, Result};

/// No number of the ranking is larger. So no sum of them is infinite.
const LARGEST: f64 = 1e6;

#[derive(Clone)]
pub struct Config {
    variables: HashMap<String, String>,
}

impl Config {
    pub fn from_env() -> Self {
        Self {
            variables: std::env::vars().collect(),
        }
    }

    /// DynamoDB table of profiles.
    pub fn users_table(&self) -> Result<&str> {
        self.text("USERS_TABLE")
    }

    /// DynamoDB table of edges, keyed by the user who is followed.
    pub fn followers_table(&self) -> Result<&str> {
        self.text("FOLLOWERS_TABLE")
    }

    /// DynamoDB table of edges, keyed by the user who follows.
    pub fn following_table(&self) -> Result<&str> {
        self.text("FOLLOWING_TABLE")
    }

    /// DynamoDB table of what people have decided about others: mutes and blocks.
    pub fn relations_table(&self) -> Result<&str> {
        self.text("RELATIONS_TABLE")
    }

    /// DynamoDB table of tweets.
    pub fn tweets_table(&self) -> Result<&str> {
        self.text("TWEETS_TABLE")
    }

    /// DynamoDB table of the hours at which each user reads.
    pub fn presence_table(&self) -> Result<&str> {
        self.text("PRESENCE_TABLE")
    }

    /// DynamoDB table of tickets and connections for live updates.
    pub fn live_table(&self) -> Result<&str> {
        self.text("LIVE_TABLE")
    }

    /// DynamoDB table of notices for connected readers.
    pub fn notices_table(&self) -> Result<&str> {
        self.text("NOTICES_TABLE")
    }

    /// Where clients connect for live updates: `wss://…/live`.
    pub fn live_url(&self) -> Result<&str> {
        self.text("LIVE_URL")
    }

    /// Where messages for connected clients are taken: the same address over HTTP.
    pub fn live_management_url(&self) -> Result<String> {
        let url = self.live_url()?;
        let rest = url.strip_prefix("ws").ok_or_else(|| Error::Config {
            name: "LIVE_URL",
            problem: format!("must begin with wss:// or ws://, not {url:?}"),
        })?;
        Ok(format!("http{rest}"))
    }

    /// DynamoDB table of what was done before: idempotency keys, counted records, positions of scheduled functions.
    pub fn ledger_table(&self) -> Result<&str> {
        self.text("LEDGER_TABLE")
    }

    /// Kinesis stream of tweets posted and deleted.
    pub fn tweet_created_stream(&self) -> Result<&str> {
        self.text("TWEET_CREATED_STREAM")
    }

    /// DynamoDB table of work on followers that one invocation leaves to another.
    pub fn handovers_table(&self) -> Result<&str> {
        self.text("HANDOVERS_TABLE")
    }

    /// DynamoDB table of timelines of which only the first page was rebuilt.
    pub fn fills_table(&self) -> Result<&str> {
        self.text("FILLS_TABLE")
    }

    /// Table of who reacted to what.
    pub fn reactions_table(&self) -> Result<&str> {
        self.text("REACTIONS_TABLE")
    }

    /// Table of who reacted to a tweet.
    pub fn reactors_table(&self) -> Result<&str> {
        self.text("REACTORS_TABLE")
    }

    /// Kinesis stream of authors whose tier flipped.
    pub fn tier_changes_stream(&self) -> Result<&str> {
        self.text("CELEBRITY_FLAG_CHANGED_STREAM")
    }

    /// What makes a celebrity, and when one becomes normal again.
    pub fn tier_policy(&self) -> Result<Policy> {
        let measure = match self.text("TIER_POLICY")? {
            "followers" => Measure::Followers {
                threshold: self.positive("CELEBRITY_THRESHOLD")?,
            },
            "load" => Measure::Load {
                deliveries_per_day: self.positive("FAN_OUT_BUDGET")?,
            },
            other => {
                return Err(Error::Config {
                    name: "TIER_POLICY",
                    problem: format!("must be followers or load, not {other:?}"),
                });
            }
        };
        Ok(Policy {
            measure,
            demote_ratio: self.demote_ratio()?,
            dwell_ms: self.number("TIER_DWELL_SECONDS")? * 1_000,
        })
    }

    fn demote_ratio(&self) -> Result<f64> {
        let (name, text) = ("DEMOTE_RATIO", self.text("DEMOTE_RATIO")?);
        f64::from_str(text)
            .ok()
            .filter(|ratio| (0.0..=1.0).contains(ratio))
            .ok_or_else(|| Error::Config {
                name,
                problem: format!("must be a number from 0 to 1, not {text:?}"),
            })
    }

    /// Users that one reconciliation of the counts looks at.
    pub fn reconcile_sample(&self) -> Result<usize> {
        Ok(usize::try_from(self.positive("RECONCILE_SAMPLE")?).unwrap_or(usize::MAX))
    }

    /// Users that one audit looks at.
    pub fn audit_sample(&self) -> Result<usize> {
        Ok(usize::try_from(self.positive("AUDIT_SAMPLE")?).unwrap_or(usize::MAX))
    }

    /// Lists that are made in a minute before their readers come; 0 makes none.
    pub fn warming_rate(&self) -> Result<usize> {
        Ok(usize::try_from(self.number("WARMING_RATE")?).unwrap_or(usize::MAX))
    }

    /// How long one run of the cache's watch lasts; given in seconds.
    pub fn cache_watch(&self) -> Result<Duration> {
        Ok(Duration::from_secs(self.number("CACHE_WATCH_SECONDS")?))
    }

    /// Valkey or Redis, as `redis://` or `rediss://` URL.
    pub fn redis_url(&self) -> Result<&str> {
        self.text("REDIS_URL")
    }

    /// `true` if the URL names one node of a cluster. Absent: `false`.
    pub fn redis_cluster(&self) -> Result<bool> {
        let name = "REDIS_CLUSTER";
        match self.variables.get(name).map(String::as_str) {
            None | Some("" | "false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(Error::Config {
                name,
                problem: format!("must be true or false, not {other:?}"),
            }),
        }
    }

    /// The authority that signed the certificate of a `rediss://` server, as PEM. The variable is the path of a file.
    /// Absent: one of the public authorities.
    pub fn redis_ca_cert(&self) -> Result<Option<Vec<u8>>> {
        let name = "REDIS_CA_CERT";
        let path = self.variables.get(name).filter(|path| !path.is_empty());
        path.map(std::fs::read)
            .transpose()
            .map_err(|error| Error::Config {
                name,
                problem: format!("names a file that cannot be read: {error}"),
            })
    }

    /// The namespace of the metrics, which names the deployment.
    pub fn metrics_namespace(&self) -> Result<&str> {
        self.text("METRICS_NAMESPACE")
    }

    /// Reads that one person may make in a minute; 0 is no limit.
    pub fn reads_per_minute(&self) -> Result<u64> {
        self.number("READS_PER_MINUTE")
    }

    /// Writes that one person may make in a minute; 0 is no limit.
    pub fn writes_per_minute(&self) -> Result<u64> {
        self.number("WRITES_PER_MINUTE")
    }

    /// How long an unread timeline is kept, in seconds; given in days.
    pub fn timeline_ttl_seconds(&self) -> Result<u64> {
        Ok(self.positive("TIMELINE_TTL_DAYS")? * 24 * 3600)
    }

    /// How many entries a cached timeline keeps.
    pub fn timeline_cap(&self) -> Result<usize> {
        let name = "TIMELINE_CAP";
        let cap = usize::try_from(self.positive(name)?).unwrap_or(usize::MAX);
        if CAPS.contains(&cap) {
            return Ok(cap);
        }
        Err(Error::Config {
            name,
            problem: format!("must be from {} to {}, not {cap}", CAPS.start(), CAPS.end()),
        })
    }

    /// How many people one may follow.
    pub fn follow_limit(&self) -> Result<u64> {
        self.positive("FOLLOW_LIMIT")
    }

    /// Followers that one invocation of the fan-out serves.
    pub fn fan_out_page_size(&self) -> Result<usize> {
        Ok(usize::try_from(self.positive("FAN_OUT_PAGE_SIZE")?).unwrap_or(usize::MAX))
    }

    /// Authors with at most so many followers are delivered before their POST is answered; 0 is nobody.
    pub fn sync_fan_out_followers(&self) -> Result<usize> {
        Ok(usize::try_from(self.number("SYNC_FAN_OUT_FOLLOWERS")?).unwrap_or(usize::MAX))
    }

    /// What the scores of the ranked order are made with.
    pub fn formula(&self) -> Result<Formula> {
        let names = ["recency", "engagement", "affinity", "content"];
        let [recency, engagement, affinity, content] = self.numbers("RANKING_WEIGHTS", names)?;
        let weights = Weights {
            recency,
            engagement,
            affinity,
            content,
        };
        let names = ["likes", "replies", "reposts", "scale"];
        let [likes, replies, reposts, scale] = self.numbers("RANKING_ENGAGEMENT", names)?;
        let [video, image, text] = self.numbers("RANKING_CONTENT", ["video", "image", "text"])?;
        let [half_life_hours] = self.numbers("RANKING_RECENCY", ["half_life_hours"])?;
        let (_, unknown_affinity) = self.affinity()?;
        let formula = Formula {
            weights,
            half_life_hours,
            engagement: Engagement {
                likes,
                replies,
                reposts,
                scale,
            },
            unknown_affinity,
            content: Content { video, image, text },
        };
        let parts = [unknown_affinity, video, image, text];
        let positive = [half_life_hours, scale];
        let not_negative = [
            recency, engagement, affinity, content, likes, replies, reposts,
        ];
        let problems = [
            (
                "RANKING_WEIGHTS, RANKING_ENGAGEMENT",
                not_negative.iter().all(|it| *it >= 0.0),
                "must not be negative",
            ),
            (
                "RANKING_RECENCY, RANKING_ENGAGEMENT",
                positive.iter().all(|it| *it > 0.0),
                "must have a half-life and a scale above 0",
            ),
            (
                "RANKING_CONTENT, RANKING_AFFINITY",
                parts.iter().all(|it| (0.0..=1.0).contains(it)),
                "must have parts from 0 to 1",
            ),
        ];
        match problems.into_iter().find(|(_, is_fine, _)| !is_fine) {
            Some((name, _, problem)) => Err(Error::Config {
                name,
                problem: problem.to_owned(),
            }),
            None => Ok(formula),
        }
    }

    /// How close readers are to authors.
    pub fn affinity_rule(&self) -> Result<AffinityRule> {
        self.affinity().map(|(rule, _)| rule)
    }

    fn affinity(&self) -> Result<(AffinityRule, f64)> {
        let name = "RANKING_AFFINITY";
        let names = [
            "like",
            "reply",
            "repost",
            "hide",
            "unknown",
            "days",
            "half_life_days",
        ];
        let [like, reply, repost, hide, unknown, days, half_life_days] =
            self.numbers(name, names)?;
        let signs_fit = [like, reply, repost].iter().all(|it| *it >= 0.0) && hide <= 0.0;
        if !(days > 0.0 && half_life_days > 0.0 && signs_fit) {
            return Err(Error::Config {
                name,
                problem: "must have days and half_life_days above 0, no hide above 0, and nothing else below 0"
                    .to_owned(),
            });
        }
        let rule = AffinityRule {
            like,
            reply,
            repost,
            hide,
            days,
            half_life_days,
        };
        Ok((rule, unknown))
    }

    /// Of how many pages a window of the ranked order consists.
    pub fn window_pages(&self) -> Result<usize> {
        let name = "RANKING_WINDOW";
        let pages = usize::try_from(self.positive(name)?).unwrap_or(usize::MAX);
        if pages > MOST_PAGES {
            return Err(Error::Config {
                name,
                problem: format!("must be a number from 1 to {MOST_PAGES}"),
            });
        }
        Ok(pages)
    }

    /// Who brings guests to a page, and how many.
    pub fn guest_rule(&self) -> Result<GuestRule> {
        let name = "ACTIVITY_BOUNDS";
        let numbers = self.numbers(name, ["people", "days", "one_in"])?;
        let [people, days, one_in] = numbers;
        let are_whole = numbers.iter().all(|it| it.fract() == 0.0);
        let fit = (0.0..=100.0).contains(&people)
            && (1.0..=30.0).contains(&days)
            && (2.0..=100.0).contains(&one_in);
        if !(are_whole && fit) {
            return Err(Error::Config {
                name,
                problem: "must have whole numbers: people up to 100, days from 1 to 30, one_in from 2 to 100"
                    .to_owned(),
            });
        }
        Ok(GuestRule {
            people: people as usize,
            days: days as u64,
            one_in: one_in as usize,
        })
    }

    /// After how many milliseconds without reading posts may have been missed, and how many of them are shown.
    pub fn missed_posts(&self) -> Result<(u64, usize)> {
        let name = "MISSED_POSTS";
        let [after_hours, most] = self.numbers(name, ["after_hours", "most"])?;
        if after_hours < 0.0 || most.fract() != 0.0 || !(0.0..=100.0).contains(&most) {
            return Err(Error::Config {
                name,
                problem: "must have hours from 0 on, and a whole number from 0 to 100".to_owned(),
            });
        }
        Ok(((after_hours * 3_600_000.0) as u64, most as usize))
    }

    fn text(&self, name: &'static str) -> Result<&str> {
        match self.variables.get(name).map(String::as_str) {
            Some("") => Err(Error::Config {
                name,
                problem: "is empty".to_owned(),
            }),
            Some(value) => Ok(value),
            None => Err(Error::Config {
                name,
                problem: "is not set".to_owned(),
            }),
        }
    }

    /// Numbers with their names, like `video=0.9,image=0.7`: all of these, in any order, and no others.
    fn numbers<const N: usize>(&self, name: &'static str, wanted: [&str; N]) -> Result<[f64; N]> {
        let text = self.text(name)?;
        let wrong = || Error::Config {
            name,
            problem: format!("must have a number for each of {wanted:?}, not {text:?}"),
        };
        let mut numbers = [None; N];
        for pair in text.split(',') {
            let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
            let index = wanted.iter().position(|it| *it == key.trim());
            let number = f64::from_str(value.trim()).ok();
            let number = number.filter(|it| it.abs() <= LARGEST);
            let place = index.map(|index| &mut numbers[index]);
            match place.filter(|place| place.is_none()) {
                Some(place) => *place = Some(number.ok_or_else(wrong)?),
                None => return Err(wrong()),
            }
        }
        let mut found = [0.0; N];
        for (found, number) in found.iter_mut().zip(numbers) {
            *found = number.ok_or_else(wrong)?;
        }
        Ok(found)
    }

    fn number(&self, name: &'static str) -> Result<u64> {
        let text = self.text(name)?;
        u64::from_str(text).map_err(|_| Error::Config {
            name,
            problem: format!("must be a number, not {text:?}"),
        })
    }

    fn positive(&self, name: &'static str) -> Result<u64> {
        let text = self.text(name)?;
        u64::from_str(text)
            .ok()
            .filter(|value| *value > 0)
            .ok_or_else(|| Error::Config {
                name,
                problem: format!("must be a positive number, not {text:?}"),
            })
    }
}

/// For tests: a configuration that does not depend on the environment.
impl<const N: usize> From<[(&str, &str); N]> for Config {
    fn from(variables: [(&str, &str); N]) -> Self {
        Self {
            variables: variables
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        }
    }
}

/// For benchmarks: the configuration of a local cloud, read in another process.
impl FromIterator<(String, String)> for Config {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Self {
        Self {
            variables: variables.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_names_come_in_any_order_and_none_is_missing_or_unknown() {
        let read = |text: &str| {
            let config = Config::from([("MISSED_POSTS", text)]);
            config.missed_posts()
        };
        let expected = (86_400_000, 3);
        for text in ["after_hours=24,most=3", "most=3, after_hours=24.0"] {
            assert_eq!(read(text).expect("numbers"), expected);
        }
        for text in [
            "most=3",
            "after_hours=24,most=three",
            "after_hours=24,most=3,more=1",
            "after_hours=24,most=3,most=4",
            "after_hours=24,most=NaN",
            "24,3",
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains("MISSED_POSTS must have a number"), "{error}");
        }
    }

    #[test]
    fn a_timeline_keeps_neither_too_few_entries_nor_too_many() {
        let read = |text: &str| Config::from([("TIMELINE_CAP", text)]).timeline_cap();
        for (text, cap) in [("100", 100), ("800", 800), ("3200", 3_200)] {
            assert_eq!(read(text).expect("a cap"), cap);
        }
        for text in ["0", "99", "3201", "-1", "many"] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains("TIMELINE_CAP must be"), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_the_variables_name() {
        let config = Config::from([
            ("REDIS_URL", ""),
            ("FAN_OUT_PAGE_SIZE", "0"),
            ("TIMELINE_TTL_DAYS", "30"),
        ]);
        let said = |error: Option<Error>| error.map(|e| e.to_string()).unwrap_or_default();
        assert_eq!(
            said(config.users_table().err()),
            "environment variable USERS_TABLE is not set"
        );
        assert_eq!(
            said(config.redis_url().err()),
            "environment variable REDIS_URL is empty"
        );
        assert!(
            said(config.fan_out_page_size().err())
                .starts_with("environment variable FAN_OUT_PAGE_SIZE must be")
        );
        assert_eq!(
            config.timeline_ttl_seconds().expect("thirty days"),
            2_592_000
        );
    }
}
