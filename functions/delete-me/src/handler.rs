use lambda_http::Request;
use shared::flows::erase::Eraser;
use shared::runtime::http::{self, HttpResponse};
use shared::stores::{Erasures, Identities, Users};
use shared::{Error, Result};

pub(crate) struct DeleteMe {
    pub(crate) users: Users,
    pub(crate) identities: Identities,
    pub(crate) erasures: Erasures,
    pub(crate) eraser: Eraser,
}

impl DeleteMe {
    pub(crate) async fn handle(&self, request: Request) -> Result<HttpResponse> {
        let me = http::caller(&request, &self.identities).await?;
        let row = self.users.row(me).await?.ok_or(Error::NoProfile)?;
        self.erasures.begin(&row).await?;
        // The account is gone. A cache that fails here must not make a client believe otherwise; `erase-users` comes
        // by once more.
        if let Err(error) = self.eraser.hide(me, &row.sub).await {
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
