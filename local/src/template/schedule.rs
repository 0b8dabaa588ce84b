//! A schedule: a function that is called at a rate.

use std::time::Duration;

use super::intrinsics::Unresolved;
use super::properties::{Known, Properties};

#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    pub(crate) name: String,
    pub(crate) period: Duration,
    /// What the function gets instead of the scheduled event.
    pub(crate) input: Option<String>,
}

pub(super) const SCHEDULE: Known = Known {
    of: "a schedule",
    file: file!(),
    read: &[
        "Enabled",
        "Input",
        "Schedule",
        "ScheduleExpression",
        "State",
    ],
    no_effect: &["Description", "Name"],
};

impl Schedule {
    /// `None` for a schedule that is switched off.
    pub(super) fn read(
        name: String,
        properties: &Properties<'_>,
    ) -> Result<Option<Self>, Unresolved> {
        // `Schedule` says it one way, `ScheduleV2` the other.
        let (key, expression) = ["Schedule", "ScheduleExpression"]
            .into_iter()
            .find_map(|key| Some((key, properties.text(key)?)))
            .ok_or_else(|| properties.mistake("Schedule", "is missing"))?;
        let Some(period) = parse_rate(&expression) else {
            let message = format!(
                "{expression} is not a rate such as rate(5 minutes), the only kind known here"
            );
            return Err(properties.mistake(key, message));
        };
        let enabled = properties.flag("Enabled")?.unwrap_or(true)
            && properties
                .text("State")
                .is_none_or(|state| state != "DISABLED");
        Ok(enabled.then(|| Self {
            name,
            period,
            input: properties.text("Input"),
        }))
    }
}

/// `rate(5 minutes)`.
fn parse_rate(expression: &str) -> Option<Duration> {
    let (count, unit) = expression
        .strip_prefix("rate(")?
        .strip_suffix(')')?
        .trim()
        .split_once(' ')?;
    let seconds = match unit.trim().trim_end_matches('s') {
        "minute" => 60,
        "hour" => 3_600,
        "day" => 86_400,
        _ => return None,
    };
    let count: u64 = count.parse().ok().filter(|count| *count > 0)?;
    Some(Duration::from_secs(count.checked_mul(seconds)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read() {
        assert_eq!(parse_rate("rate(1 minute)"), Some(Duration::from_secs(60)));
        assert_eq!(
            parse_rate("rate(2 hours)"),
            Some(Duration::from_secs(7_200))
        );
        assert_eq!(parse_rate("rate(0 hours)"), None);
        assert_eq!(parse_rate("cron(0 12 * * ? *)"), None);
    }
}
