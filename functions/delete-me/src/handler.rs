use shared::flows::erase::Hider;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::stores::users::UserRow;
use shared::stores::{Erasures, Users};
use shared::{Result, Roost};

pub(crate) struct DeleteMe {
    users: Users,
    erasures: Erasures,
    hider: Hider,
}

impl http::SubjectHandler for DeleteMe {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            erasures: Erasures::new(roost)?,
            hider: Hider::new(roost)?,
        })
    }

    /// Repeating it is harmless: if there is no profile (any more), nothing is left to do.
    async fn handle(&self, subject: &str, _: &Request) -> Result<HttpResponse> {
        let Some(row) = self.row(subject).await? else {
            return http::no_content();
        };
        let me = row.id();
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

impl DeleteMe {
    async fn row(&self, subject: &str) -> Result<Option<UserRow>> {
        match self.users.find_by_sub(subject).await? {
            Some(me) => self.users.row(me).await,
            None => Ok(None),
        }
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
