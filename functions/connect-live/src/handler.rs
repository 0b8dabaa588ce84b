use shared::domain::live::ToClient;
use shared::flows::live::Listening;
use shared::platform::now_millis;
use shared::runtime::socket::{Call, SocketHandler};
use shared::stores::{Connections, Users};
use shared::{Error, Result, Roost};

pub(crate) struct ConnectLive {
    users: Users,
    connections: Connections,
    listening: Listening,
}

impl SocketHandler for ConnectLive {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            connections: Connections::new(roost)?,
            listening: Listening::new(roost)?,
        })
    }

    async fn handle(&self, call: &Call) -> Result<Option<ToClient>> {
        let (user, id) = (call.user, &call.connection_id);
        self.connections.add(user, id, now_millis()).await?;
        // Looked at after the write: an account that is deleted from now on takes its connections along.
        if !self.users.still_exists(user).await? {
            self.connections.remove(user, id).await?;
            return Err(Error::NoProfile);
        }
        if let Err(error) = self.listening.begin(user).await {
            // Without Redis nobody is told anything. It is made good by the client's next ping, or once Redis has forgotten
            // everybody.
            tracing::warn!(error = error.chain(), "a connection is not known yet");
        }
        tracing::info!(user_id = %user, "connected");
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use shared::domain::UserId;
    use shared::runtime::socket::test;

    const EVENT: &str = include_str!("../../../events/connect-live.json");

    #[test]
    fn the_event_is_a_connection_of_a_user_whom_the_authorizer_named() {
        let call = test::call(EVENT);
        assert_eq!(call.user, UserId::new(115_601_729_126_400_256));
        assert_eq!(call.connection_id, "L0SM9cOFvHcCIhw=");
    }
}
