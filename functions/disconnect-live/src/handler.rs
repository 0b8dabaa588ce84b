use shared::domain::live::ToClient;
use shared::flows::live::Leaving;
use shared::runtime::socket::{Call, SocketHandler};
use shared::stores::Connections;
use shared::{Result, Roost};

pub(crate) struct DisconnectLive {
    connections: Connections,
    leaving: Leaving,
}

impl SocketHandler for DisconnectLive {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            connections: Connections::new(roost)?,
            leaving: Leaving::new(roost)?,
        })
    }

    async fn handle(&self, call: &Call) -> Result<Option<ToClient>> {
        self.connections
            .remove(call.user, &call.connection_id)
            .await?;
        if let Err(error) = self.leaving.end(call.user).await {
            // The next notice for this user finds no connection, and does it.
            tracing::warn!(error = error.chain(), "a listener is not forgotten yet");
        }
        tracing::info!(user_id = %call.user, "disconnected");
        Ok(None)
    }
}
