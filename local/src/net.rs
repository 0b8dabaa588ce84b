//! Listening on this machine.

use axum::serve::{ListenerExt, TapIo};
use tokio::net::{TcpListener, TcpStream};

/// Connections that send at once what they have: an answer must not wait for the client's acknowledgement.
pub(crate) fn without_delay(listener: TcpListener) -> TapIo<TcpListener, fn(&mut TcpStream)> {
    listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    })
}
