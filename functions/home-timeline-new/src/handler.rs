use lambda_http::Request;
use serde::Serialize;
use shared::domain::TweetId;
use shared::flows::home_timeline::{HomeTimelines, News, Troubles};
use shared::runtime::http::{self, HttpResponse};
use shared::stores::Identities;
use shared::{Error, Result};

pub(crate) struct HomeTimelineNew {
    pub(crate) home: HomeTimelines,
    pub(crate) identities: Identities,
}

/// What clients read.
#[derive(Serialize)]
struct Body {
    /// At most [`News::MOST`].
    count: usize,
    /// Are there more than were counted?
    capped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest_id: Option<TweetId>,
    complete: bool,
    #[serde(skip_serializing_if = "Troubles::is_empty")]
    reasons: Troubles,
}

impl HomeTimelineNew {
    pub(crate) async fn handle(&self, request: Request) -> Result<HttpResponse> {
        let me = http::caller(&request, &self.identities).await?;
        let since = http::tweet_id(&request, "since")?;
        let since = since.ok_or_else(|| {
            Error::Malformed("since is missing: the newest id you have seen".to_owned())
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
        assert!(
            http::tweet_id(&test::request(EVENT), "since")
                .expect("an id")
                .is_some()
        );
    }
}
