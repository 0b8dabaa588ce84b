use shared::domain::{Relation, UserId};
use shared::runtime::http::{self, HttpResponse, Request};
use shared::runtime::people;
use shared::stores::{Relations, Users};
use shared::{Result, Roost};

pub(crate) struct ListBlocks {
    relations: Relations,
    users: Users,
}

impl http::Handler for ListBlocks {
    const PARAMETERS: &[&str] = &["limit", "cursor"];

    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            relations: Relations::new(roost)?,
            users: Users::new(roost)?,
        })
    }

    async fn handle(&self, me: UserId, request: &Request) -> Result<HttpResponse> {
        people::related(&self.users, &self.relations, Relation::Block, me, request).await
    }
}

#[cfg(test)]
mod tests {
    use shared::runtime::http::{self, test};

    const EVENT: &str = include_str!("../../../events/list-blocks.json");

    #[test]
    fn the_event_asks_for_a_page() {
        let request = test::request(EVENT);
        assert_eq!(http::page_size(&request).expect("a limit").get(), 10);
        assert_eq!(http::cursor_text(&request), None);
    }
}
