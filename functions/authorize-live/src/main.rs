//! Lets a connection for live updates in if its ticket is good, and uses the ticket up.

mod handler;

use shared::runtime::{Exit, socket};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    socket::serve_authorizer::<handler::AuthorizeLive>().await
}
