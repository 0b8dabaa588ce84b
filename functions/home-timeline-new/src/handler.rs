use serde::Serialize;
use shared::domain::{TweetId, UserId};
use shared::flows::home_timeline::{HomeTimelines, News, Troubles};
use shared::runtime::http::{self, HttpResponse, Request};
use shared::{Result, Roost};

pub(crate) struct HomeTimelineNew {
    home: HomeTimelines,
}

/// What clients read.
#[derive(Serialize)]
struct Body {
    /// At most [`News::MOST`].
    count: usize,
    /// `true` if there are more than were counted.
    capped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest_id: Option<TweetId>,
    complete: bool,
    #[serde(skip_serializing_if = "Troubles::is_empty")]
    reasons: Troubles,
}

impl http::Handler for HomeTimelineNew {
    const PARAMETERS: &[&str] = &["since", "since_id"];

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            home: HomeTimelines::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let since = http::since(request)?.ok_or_else(|| {
            http::wrong_parameter("since", "since is missing: the newest id you have seen")
        })?;
        let News {
            count,
            capped,
            newest,
            troubles,
        } = self.home.news(me, since).await;
        http::ok(&Body {
            count,
            capped,
            newest_id: newest,
            complete: troubles.is_empty(),
            reasons: troubles,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/home-timeline-new.json");

    #[test]
    fn the_event_says_what_was_seen_last() {
        assert!(http::since(&test::request(EVENT)).expect("an id").is_some());
    }
}
