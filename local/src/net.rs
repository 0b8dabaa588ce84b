//! Listening on this machine.

use axum::serve::{ListenerExt, TapIo};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};

/// Connections that send at once what they have: an answer must not wait for the client's acknowledgement.
pub(crate) fn without_delay(listener: TcpListener) -> TapIo<TcpListener, fn(&mut TcpStream)> {
    listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    })
}

/// How many sockets and files the process may have open, at least, if the system lets it.
const OPEN_FILES: u64 = 16 * 1024;

/// Many systems start a process with 1,024 open files, which a thousand WebSocket connections would use up.
pub(crate) fn allow_many_connections() {
    let mut limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(OPEN_FILES);
    let wanted = OPEN_FILES.min(most);
    if limit.current.is_some_and(|current| current < wanted) {
        limit.current = Some(wanted);
        // If it does not work, there are fewer connections, which is no reason not to start.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
