//! A connection for live updates has ended.

mod handler;

use shared::runtime::{Exit, socket};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    socket::serve::<handler::DisconnectLive>().await
}
