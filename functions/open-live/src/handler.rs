use serde::Serialize;
use shared::domain::UserId;
use shared::domain::id::rfc3339;
use shared::platform::now_millis;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::Tickets;
use shared::{Result, Roost};

pub(crate) struct OpenLive {
    tickets: Tickets,
    /// Where clients connect.
    url: String,
}

/// What clients read.
#[derive(Serialize)]
struct Body {
    url: String,
    expires_at: String,
}

impl http::Handler for OpenLive {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            tickets: Tickets::new(roost)?,
            url: roost.config.live_url()?.to_owned(),
        })
    }

    async fn handle(&self, me: UserId, _: &Request) -> Result<HttpResponse> {
        let (ticket, ends_at) = self.tickets.issue(me, now_millis()).await?;
        let response = http::created(&Body {
            url: format!("{}?ticket={}", self.url, ticket.to_text()),
            expires_at: rfc3339(ends_at),
        })?;
        // The ticket is for the caller alone.
        http::with_header(response, http::header::CACHE_CONTROL, "no-store")
    }
}
