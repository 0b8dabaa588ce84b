//! Delivers one range of an author's followers and hands over what is left of it.

mod handler;

use shared::runtime::{Exit, batch};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    batch::serve::<handler::FanOutPages>().await
}
