//! Hands messages for connected readers to API Gateway, and ends connections that are to end.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::SendNews>().await
}
