//! A client has opened a connection for live updates.

mod handler;

use shared::runtime::{Exit, socket};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    socket::serve::<handler::ConnectLive>().await
}
