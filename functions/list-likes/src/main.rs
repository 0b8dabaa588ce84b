//! `GET /v1/users/me/likes`: the tweets that the caller likes.

mod handler;

use shared::runtime::{Exit, http};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Exit {
    http::serve::<handler::ListLikes>().await
}
