//! The limit: commands that were encoded beforehand, written to a socket as fast as it takes them, while answers are only
//! counted. Nobody who speaks to Redis over one connection is faster.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

/// One connection.
pub(crate) struct Raw(TcpStream);

impl Raw {
    pub(crate) fn connect(port: u16) -> Self {
        let socket = TcpStream::connect(("127.0.0.1", port)).expect("a Redis");
        socket.set_nodelay(true).expect("a socket that can be set");
        Self(socket)
    }

    /// Sends the commands and reads so many answers of one line each.
    pub(crate) fn send(&mut self, commands: &[u8], answers: usize) {
        let mut writing = self.0.try_clone().expect("a second handle");
        thread::scope(|scope| {
            scope.spawn(move || writing.write_all(commands).expect("a Redis that reads"));
            let mut left = answers;
            let mut buffer = vec![0; 64 * 1024];
            while left > 0 {
                let read = self.0.read(&mut buffer).expect("a Redis that answers");
                assert!(read > 0, "Redis has closed the connection");
                left -= buffer[..read].iter().filter(|byte| **byte == b'\n').count();
            }
        });
    }
}

/// A command as it goes over the wire.
pub(crate) fn encode(words: &[&[u8]], into: &mut Vec<u8>) {
    into.extend(format!("*{}\r\n", words.len()).bytes());
    for word in words {
        into.extend(format!("${}\r\n", word.len()).bytes());
        into.extend_from_slice(word);
        into.extend_from_slice(b"\r\n");
    }
}

/// How long it takes to send each of these to its connection, all at once.
pub(crate) fn time(connections: &mut [Raw], commands: &[(Vec<u8>, usize)]) -> Duration {
    let started = Instant::now();
    thread::scope(|scope| {
        for (connection, (bytes, answers)) in connections.iter_mut().zip(commands) {
            scope.spawn(move || connection.send(bytes, *answers));
        }
    });
    started.elapsed()
}
