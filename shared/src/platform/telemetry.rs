//! Logs: lines on standard output, which Lambda hands to CloudWatch. Lambda's variables say whether they are JSON, and
//! from which level on they are kept.
//!
//! Every line of an invocation carries its request id, in the span that the runtime opens around it.

use std::env;
use std::str::FromStr;

use lambda_runtime::tracing::subscriber::filter::{LevelFilter, Targets};
use lambda_runtime::tracing::subscriber::layer::SubscriberExt;
use lambda_runtime::tracing::subscriber::util::SubscriberInitExt;
use lambda_runtime::tracing::subscriber::{fmt, registry};

/// Call once, before anything else.
pub fn init() {
    let filter = filter(level());
    let lines = fmt::layer().with_target(false);
    if env::var("AWS_LAMBDA_LOG_FORMAT").is_ok_and(|format| format.eq_ignore_ascii_case("json")) {
        // With the time: Lambda takes a line without one for INFO, whatever its level, and may drop it.
        registry().with(filter).with(lines.json()).init();
    } else {
        registry().with(filter).with(lines.without_time()).init();
    }
}

/// The least important lines to keep, as Lambda says it.
pub(super) fn level() -> LevelFilter {
    let level = env::var("AWS_LAMBDA_LOG_LEVEL").or_else(|_| env::var("RUST_LOG"));
    let level = level
        .ok()
        .and_then(|level| LevelFilter::from_str(&level).ok());
    level.unwrap_or(LevelFilter::INFO)
}

/// Below INFO, only our own lines are kept: the SDKs would write whole requests, with tweets in them. The request id is
/// in a span of the runtime, which passes at any level.
fn filter(level: LevelFilter) -> Targets {
    Targets::new()
        .with_default(level.min(LevelFilter::INFO))
        .with_target("shared", level)
        .with_target("lambda_runtime", LevelFilter::INFO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lambda_runtime::tracing::Level;

    #[test]
    fn dependencies_say_nothing_below_info_and_the_request_id_is_always_there() {
        let most = filter(LevelFilter::TRACE);
        assert!(most.would_enable("shared::stores::redis", &Level::TRACE));
        assert!(most.would_enable("home_timeline::handler", &Level::INFO));
        for crate_name in [
            "aws_smithy_runtime",
            "hyper",
            "lambda_runtime",
            "lambda_http",
        ] {
            assert!(
                !most.would_enable(crate_name, &Level::DEBUG),
                "{crate_name}"
            );
        }
        let least = filter(LevelFilter::ERROR);
        assert!(least.would_enable("lambda_runtime::layers::trace", &Level::INFO));
        assert!(!least.would_enable("shared::flows::fan_out", &Level::WARN));
    }
}
