use shared::domain::{Ticket, UserId};
use shared::platform::now_millis;
use shared::runtime::socket::Authorizer;
use shared::stores::Tickets;
use shared::{Result, Roost};

pub(crate) struct AuthorizeLive {
    tickets: Tickets,
}

impl Authorizer for AuthorizeLive {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            tickets: Tickets::new(roost)?,
        })
    }

    async fn user(&self, ticket: &str) -> Result<Option<UserId>> {
        let Some(ticket) = Ticket::parse(ticket) else {
            return Ok(None);
        };
        let is_good = self.tickets.redeem(&ticket, now_millis()).await?;
        if !is_good {
            tracing::info!("a ticket was refused");
        }
        Ok(is_good.then_some(ticket.user))
    }
}
