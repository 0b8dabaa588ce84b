//! How much one person may ask for: a budget of reads and a smaller one of writes, each refilled steadily.
//!
//! The budgets are in Redis, so all functions share them. If Redis does not answer, nobody is refused.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::keys;
use crate::platform::Roost;
use crate::platform::redis::{Redis, Script};
use crate::{Error, Result};

const MINUTE: Duration = Duration::from_secs(60);
/// A budget holds what is refilled in ten seconds: the sixth part of what a minute allows.
const BURSTS_PER_MINUTE: u64 = 6;
/// The most that one answer can cost, in full budgets: nobody waits longer than a minute for one of them.
const MOST_CHARGED_BURSTS: u64 = 6;
/// A budget that cannot be looked up in this time does not count. A Redis that is well takes a millisecond.
const PATIENCE: Duration = Duration::from_millis(200);

#[derive(Clone)]
pub struct RateLimits {
    redis: Redis,
    script: Arc<Script>,
    reads: Option<Limit>,
    writes: Option<Limit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit {
    /// Until one request is refilled.
    refill: Duration,
    /// Requests that may be made at once.
    burst: u64,
}

/// What a budget says to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub allowed: bool,
    /// What a full budget holds.
    pub limit: u64,
    pub remaining: u64,
    /// Until the next request is allowed.
    pub retry_after: Duration,
    /// Until the budget is full again.
    pub reset_after: Duration,
}

impl RateLimits {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            redis: roost.redis()?,
            script: Arc::new(Script::new(include_str!("scripts/rate.lua"))),
            reads: Limit::per_minute(roost.config.reads_per_minute()?),
            writes: Limit::per_minute(roost.config.writes_per_minute()?),
        })
    }

    /// Takes one request out of the budget of a token's owner; `None` if there is no limit or no answer.
    pub async fn take(&self, sub: &str, kind: Kind) -> Option<Verdict> {
        self.ask(sub, kind, 0).await
    }

    /// Takes so many requests more out of a budget, for an answer that was given already. The budget may go below zero;
    /// then its owner waits until it is refilled.
    pub async fn charge(&self, sub: &str, kind: Kind, requests: u64) {
        self.ask(sub, kind, requests).await;
    }

    /// `charged` is 0 for a request that is to be allowed or refused.
    async fn ask(&self, sub: &str, kind: Kind, charged: u64) -> Option<Verdict> {
        let (limit, name) = match kind {
            Kind::Read => (self.reads?, "read"),
            Kind::Write => (self.writes?, "write"),
        };
        let charged = charged.min(limit.burst * MOST_CHARGED_BURSTS);
        let arguments = [limit.refill.as_micros(), limit.burst.into(), charged.into()];
        let call = (
            vec![keys::rate(sub, name)],
            arguments
                .map(|number: u128| number.to_string().into_bytes())
                .to_vec(),
        );
        let asked = timeout(PATIENCE, self.redis.run_script(&self.script, [call])).await;
        let answers: Vec<(bool, u64, u64, u64)> = match asked {
            Ok(Ok(answers)) => answers,
            Ok(Err(Error::RedisDown)) => return None,
            Ok(Err(error)) => {
                tracing::warn!(error = error.chain(), "rate limit not checked");
                return None;
            }
            Err(_) => {
                tracing::warn!("rate limit not checked in time");
                return None;
            }
        };
        let (allowed, remaining, retry_micros, reset_micros) = answers.into_iter().next()?;
        Some(Verdict {
            allowed,
            limit: limit.burst,
            remaining,
            retry_after: Duration::from_micros(retry_micros),
            reset_after: Duration::from_micros(reset_micros),
        })
    }
}

impl Limit {
    /// 0 is no limit.
    fn per_minute(requests: u64) -> Option<Self> {
        let micros = u64::try_from(MINUTE.as_micros())
            .ok()?
            .checked_div(requests)?;
        Some(Self {
            refill: Duration::from_micros(micros.max(1)),
            burst: requests.div_ceil(BURSTS_PER_MINUTE),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_holds_ten_seconds_worth_and_zero_is_no_limit() {
        let limit =
            |per_minute| Limit::per_minute(per_minute).map(|l| (l.refill.as_micros(), l.burst));
        assert_eq!(limit(900), Some((66_666, 150)));
        assert_eq!(limit(120), Some((500_000, 20)));
        assert_eq!(limit(1), Some((60_000_000, 1)));
        assert_eq!(limit(0), None);
    }
}
