use std::time::Instant;

use serde::Serialize;
use shared::domain::{
    Cursor, CursorOf, ListedTweet, Origin, PageSize, TweetId, UserId, WalkCursor,
};
use shared::flows::home_timeline::{
    Activity, Explanation, HomePage, HomeTimelines, Ranking, Reason, Troubles,
};
use shared::flows::presence::Visits;
use shared::platform::metrics;
use shared::runtime::http::{self, HttpResponse, Includes, Request, header};
use shared::{Result, Roost};

pub(crate) struct HomeTimeline {
    home: HomeTimelines,
    ranking: Ranking,
    activity: Activity,
    visits: Visits,
}

/// In which order a client wants to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Latest,
    Ranked,
}

/// A page as clients read it.
#[derive(Serialize)]
struct Body {
    data: Vec<Item>,
    includes: Includes,
    meta: Meta,
}

#[derive(Serialize)]
struct Item {
    #[serde(flatten)]
    tweet: ListedTweet,
    /// Why it is where it is, if there is more to it than the order.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    /// How it came here, if the client wants to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<Explanation>,
}

#[derive(Serialize)]
struct Meta {
    result_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest_id: Option<TweetId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_id: Option<TweetId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// The next `since_id`, if more lies above a page that was asked for by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_since_id: Option<TweetId>,
    /// Said on the page that reaches what was read before, as the read marker has it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    caught_up: bool,
    /// `true` if it is certain that nothing is missing on this page.
    complete: bool,
    /// Why it is not certain.
    #[serde(skip_serializing_if = "Troubles::is_empty")]
    reasons: Troubles,
}

impl http::Handler for HomeTimeline {
    const PARAMETERS: &[&str] = &[
        "limit", "cursor", "since", "since_id", "order", "include", "explain",
    ];

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            home: HomeTimelines::new(roost)?,
            ranking: Ranking::new(roost)?,
            activity: Activity::new(roost)?,
            visits: Visits::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let started = Instant::now();
        // Boxed, because a page is a future in a future in a future, too deep for the compiler's patience.
        let page = Box::pin(self.read(me, request));
        // Side by side: a page waits for no other answer of Redis than its own.
        let (response, ()) = tokio::join!(page, self.visits.note(me));
        let response = response?;
        let took = started.elapsed().as_millis();
        metrics::TIMELINE_READS.add(1);
        metrics::TIMELINE_READ_LATENCY.record(u64::try_from(took).unwrap_or(u64::MAX));
        Ok(response)
    }
}

impl HomeTimeline {
    async fn read(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        let where_from = http::both(http::page_size(request), http::since(request));
        let what = http::both(order(request), with_activity(request));
        let what = http::both(what, http::switch(request, "explain"));
        let ((size, since), ((order, activity), explain)) = http::both(where_from, what)?;
        if order == Order::Ranked || activity {
            if since.is_some() {
                return Err(http::wrong_parameter(
                    "since_id",
                    "a since_id goes with neither order=ranked nor include=activity",
                ));
            }
            return self
                .composed(me, request, order, activity, size, explain)
                .await;
        }
        match (http::cursor(request)?, since) {
            (Some(_), Some(_)) => Err(http::wrong_parameter(
                "since_id",
                "a page has a cursor or a since_id, not both",
            )),
            (None, Some(since)) => {
                let page = self.home.page_above(me, since, size).await;
                let (queries, explained) = (page.queries, self.explain(explain, &page).await);
                let response = http::ok(&Body::above(page, explained))?;
                Ok(http::with_queries(response, queries))
            }
            (cursor, None) => {
                // An explanation can change although the page does not.
                let known = http::known_tags(request).filter(|_| !explain);
                let below = cursor.map(Cursor::tweet);
                let page = self.home.page(me, below, size, known.as_ref()).await;
                if page.unchanged {
                    let response = http::not_modified(&page.tag)?;
                    return Ok(http::with_queries(response, page.queries));
                }
                self.below(page, size, explain).await
            }
        }
    }

    /// A page that is more than the next tweets. It has no tag: time alone changes it.
    async fn composed(
        &self,
        me: UserId,
        request: &Request,
        order: Order,
        activity: bool,
        size: PageSize,
        explain: bool,
    ) -> Result<HttpResponse> {
        let text = http::cursor_text(request);
        let page = match order {
            Order::Ranked => {
                let cursor = text.map(|text| WalkCursor::parse(text, CursorOf::Ranked, me));
                let activity = activity.then_some(&self.activity);
                metrics::RANKED_READS.add(1);
                self.home
                    .ranked_page(&self.ranking, me, cursor.transpose()?, size, activity)
                    .await
            }
            Order::Latest => {
                let cursor = text.map(|text| latest_cursor(text, me)).transpose()?;
                self.home
                    .page_with_activity(&self.activity, me, cursor, size)
                    .await
            }
        };
        let (queries, explained) = (page.queries, self.explain(explain, &page).await);
        let next = page.next.clone();
        let body = Body::new(page, explained, next, None);
        let response = http::with_queries(http::ok(&body)?, queries);
        let response = http::with_tag(response, None)?;
        let order = if order == Order::Ranked {
            "&order=ranked"
        } else {
            ""
        };
        let include = if activity { "&include=activity" } else { "" };
        with_next(response, &body, size, explain, &format!("{order}{include}"))
    }

    async fn below(&self, page: HomePage, size: PageSize, explain: bool) -> Result<HttpResponse> {
        // What may lack something is not worth remembering.
        let tag = Some(page.tag.clone()).filter(|_| page.troubles.is_empty() && !explain);
        let (queries, explained) = (page.queries, self.explain(explain, &page).await);
        let body = Body::below(page, explained);
        let response = http::with_queries(http::ok(&body)?, queries);
        let response = http::with_tag(response, tag.as_deref())?;
        with_next(response, &body, size, explain, "")
    }

    /// How the page's tweets came there; nothing if the client did not ask.
    async fn explain(&self, explain: bool, page: &HomePage) -> Vec<Explanation> {
        if explain {
            self.home.explain(page).await
        } else {
            Vec::new()
        }
    }
}

fn order(request: &Request) -> Result<Order> {
    match http::query(request, "order") {
        None | Some("latest") => Ok(Order::Latest),
        Some("ranked") => Ok(Order::Ranked),
        Some(_) => Err(http::wrong_parameter("order", "order is latest or ranked")),
    }
}

fn with_activity(request: &Request) -> Result<bool> {
    match http::query(request, "include") {
        None => Ok(false),
        Some("activity") => Ok(true),
        Some(_) => Err(http::wrong_parameter("include", "include is activity")),
    }
}

/// A walk may also begin at any tweet, as it does without activity.
fn latest_cursor(text: &str, me: UserId) -> Result<WalkCursor> {
    match Cursor::parse(text) {
        Ok(cursor) => Ok(WalkCursor::start(cursor.tweet())),
        Err(_) => WalkCursor::parse(text, CursorOf::LatestWithActivity, me),
    }
}

/// Says where the next page is.
fn with_next(
    response: HttpResponse,
    body: &Body,
    size: PageSize,
    explain: bool,
    kind: &str,
) -> Result<HttpResponse> {
    let Some(next) = &body.meta.next_cursor else {
        return Ok(response);
    };
    let (size, explain) = (size.get(), if explain { "&explain=true" } else { "" });
    let link =
        format!("</v1/home_timeline?limit={size}{kind}&cursor={next}{explain}>; rel=\"next\"");
    http::with_header(response, header::LINK, &link)
}

impl Body {
    /// A page that is read on downwards.
    fn below(page: HomePage, explained: Vec<Explanation>) -> Self {
        let oldest = page
            .tweets
            .last()
            .map(|listed| listed.place.tweet)
            .filter(|_| page.more);
        let oldest = oldest.map(|oldest| oldest.to_string());
        Self::new(page, explained, oldest, None)
    }

    /// A page that is read on upwards.
    fn above(page: HomePage, explained: Vec<Explanation>) -> Self {
        let newest = page
            .tweets
            .first()
            .map(|listed| listed.place.tweet)
            .filter(|_| page.more);
        Self::new(page, explained, None, newest)
    }

    fn new(
        page: HomePage,
        explained: Vec<Explanation>,
        next_cursor: Option<String>,
        next_since_id: Option<TweetId>,
    ) -> Self {
        if !page.troubles.is_empty() {
            metrics::DEGRADED_PAGES.add(1);
        }
        let mut explained = explained.into_iter();
        let mut reasons = page.reasons;
        // The place of a guest is the time of a like or a reply. Nobody can read on from there without missing something.
        let own = || {
            page.tweets
                .iter()
                .filter(|it| it.place.origin != Origin::Activity)
        };
        let places = || own().map(|listed| listed.place.tweet);
        Self {
            meta: Meta {
                result_count: page.tweets.len(),
                newest_id: places().max(),
                oldest_id: places().min(),
                next_cursor,
                next_since_id,
                caught_up: page.caught_up,
                complete: page.troubles.is_empty(),
                reasons: page.troubles,
            },
            data: page
                .tweets
                .into_iter()
                .map(|tweet| Item {
                    reason: reasons.remove(&tweet.place.tweet),
                    tweet,
                    explain: explained.next(),
                })
                .collect(),
            includes: Includes { users: page.users },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/home-timeline.json");

    #[test]
    fn the_event_asks_for_the_first_page() {
        let request = test::request(EVENT);
        assert_eq!(http::subject(&request).expect("a subject"), "alice");
        assert_eq!(http::page_size(&request).expect("a limit").get(), 20);
        assert_eq!(http::cursor(&request).expect("no cursor"), None);
    }

    #[test]
    fn an_empty_page_says_that_it_is_complete() {
        let body =
            serde_json::to_value(Body::below(HomePage::default(), Vec::new())).expect("serializes");
        let meta = serde_json::json!({ "result_count": 0, "complete": true });
        assert_eq!(
            body,
            serde_json::json!({ "data": [], "includes": { "users": [] }, "meta": meta })
        );
    }
}
