use shared::domain::UserId;
use shared::flows::erase::Hider;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::{Erasures, Users};
use shared::{Error, Result, Roost};

pub(crate) struct DeleteMe {
    users: Users,
    erasures: Erasures,
    hider: Hider,
}

impl http::Handler for DeleteMe {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            erasures: Erasures::new(roost)?,
            hider: Hider::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, _: &Request) -> Result<HttpResponse> {
        let row = self.users.row(me).await?.ok_or(Error::NoProfile)?;
        self.erasures.begin(&row).await?;
        // The account is gone. A cache that fails here must not make a client believe otherwise; `erase-users` comes
        // by once more.
        if let Err(error) = self.hider.hide(me, &row.sub).await {
            tracing::warn!(error = error.chain(), "deleted account still cached");
        }
        tracing::info!(user_id = %me, "account deleted");
        http::no_content()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/delete-me.json");

    #[test]
    fn the_event_is_alices() {
        let subject = http::subject(&test::request(EVENT));
        assert_eq!(subject.expect("a subject"), "alice");
    }
}
