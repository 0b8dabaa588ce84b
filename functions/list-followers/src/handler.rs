use lambda_http::Request;
use shared::Result;
use shared::domain::{Cursor, UserId};
use shared::runtime::http::{self, HttpResponse, Page};
use shared::stores::{Follows, Identities, Users};

pub(crate) struct ListFollowers {
    pub(crate) follows: Follows,
    pub(crate) users: Users,
    pub(crate) identities: Identities,
}

impl ListFollowers {
    pub(crate) async fn handle(&self, request: Request) -> Result<HttpResponse> {
        http::caller(&request, &self.identities).await?;
        let id = UserId::parse(http::path(&request, "id"))?;
        let (size, cursor) = (http::page_size(&request)?, http::cursor(&request)?);
        self.users.get(id).await?;
        let page = self
            .follows
            .followers_page(id, cursor.map(Cursor::user), size.get())
            .await?;
        let next_cursor = page
            .ids
            .last()
            .filter(|_| page.more)
            .map(ToString::to_string);
        http::ok(&Page::new(self.users.list(&page.ids).await?, next_cursor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::runtime::http::test;

    const EVENT: &str = include_str!("../../../events/list-followers.json");

    #[test]
    fn the_event_asks_for_a_page() {
        let request = test::request(EVENT);
        assert!(UserId::parse(http::path(&request, "id")).is_ok());
        assert_eq!(http::page_size(&request).expect("a limit").get(), 10);
    }
}
