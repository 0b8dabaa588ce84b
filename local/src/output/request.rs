//! A request as one line: `POST /v1/tweets 201 14 ms alice`, and for one that was refused, why.

use std::time::Duration;

use super::paint::{Paint, harmless};

/// A request that was answered.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path with the query.
    pub(crate) target: String,
    pub(crate) status: u16,
    pub(crate) took: Duration,
    /// The `sub` of the token; `None` if there was no valid one.
    pub(crate) caller: Option<String>,
    /// Why the request was refused.
    pub(crate) reason: Option<String>,
}

impl Request {
    pub(super) fn text(&self, paint: Paint) -> String {
        let caller = harmless(self.caller.as_deref().unwrap_or("-"));
        let mut line = format!(
            "{} {} {} {} ms {caller}",
            self.method,
            harmless(&self.target),
            paint.status(self.status),
            self.took.as_millis()
        );
        if let Some(reason) = &self.reason {
            line.push_str("  ");
            line.push_str(&harmless(reason));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted() -> Request {
        Request {
            method: "POST".to_owned(),
            target: "/v1/tweets".to_owned(),
            status: 201,
            took: Duration::from_micros(14_900),
            caller: Some("alice".to_owned()),
            reason: None,
        }
    }

    #[test]
    fn an_answered_request_says_what_was_asked_by_whom_and_how_long_it_took() {
        assert_eq!(
            posted().text(Paint::new(false)),
            "POST /v1/tweets 201 14 ms alice"
        );
        assert_eq!(
            posted().text(Paint::new(true)),
            "POST /v1/tweets \x1b[32m201\x1b[0m 14 ms alice"
        );
    }

    #[test]
    fn a_refused_request_says_why() {
        let refused = Request {
            target: "/v1/home_timeline?limit=0".to_owned(),
            status: 400,
            caller: None,
            reason: Some("limit must be 1 to 100.".to_owned()),
            ..posted()
        };
        assert_eq!(
            refused.text(Paint::new(false)),
            "POST /v1/home_timeline?limit=0 400 14 ms -  limit must be 1 to 100."
        );
    }

    #[test]
    fn a_caller_cannot_write_commands_to_the_terminal() {
        let strange = Request {
            caller: Some("al\x1b[2Jice\r\n".to_owned()),
            ..posted()
        };
        assert_eq!(
            strange.text(Paint::new(false)),
            "POST /v1/tweets 201 14 ms al [2Jice  "
        );
    }
}
