use shared::domain::UserId;
use shared::runtime::http::{self, HttpResponse, Request};
use shared::runtime::people::PeopleLists;
use shared::stores::Followers;
use shared::{Result, Roost};

pub(crate) struct ListFollowers {
    followers: Followers,
    lists: PeopleLists,
}

impl http::Handler for ListFollowers {
    const PARAMETERS: &[&str] = &["limit", "cursor", "expand"];

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            followers: Followers::new(roost)?,
            lists: PeopleLists::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        self.lists
            .page(me, request, |of, after, limit| {
                self.followers.list(of, after, limit)
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use shared::domain::UserId;
    use shared::runtime::http::{self, test};

    const EVENT: &str = include_str!("../../../events/list-followers.json");

    #[test]
    fn the_event_asks_for_a_page() {
        let request = test::request(EVENT);
        assert!(UserId::parse(http::path(&request, "id")).is_ok());
        assert_eq!(http::page_size(&request).expect("a limit").get(), 10);
    }
}
