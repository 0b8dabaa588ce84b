//! What a page asks of Redis, written down, so that the same can be asked without Roost.

use std::io::{BufReader, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use roost_tests::{RedisProxy, read_value};

/// Commands as they went over the wire, by round trip.
pub(crate) struct Recording(Vec<Vec<Vec<u8>>>);

/// Bytes that Redis answers with.
#[derive(Clone, Copy, Default)]
pub(crate) struct Answered {
    /// The tweets themselves: their texts, and whose they are.
    pub(crate) tweets: usize,
    pub(crate) rest: usize,
}

impl Recording {
    /// What was asked since the last call of this.
    pub(crate) fn take(proxy: &RedisProxy) -> Self {
        let requests = proxy.take_requests().into_iter();
        Self(requests.map(|request| commands(&request)).collect())
    }

    pub(crate) fn round_trips(&self) -> usize {
        self.0.len()
    }
}

fn commands(mut request: &[u8]) -> Vec<Vec<u8>> {
    let mut commands = Vec::new();
    while !request.is_empty() {
        let mut command = Vec::new();
        read_value(&mut request, &mut command).expect("a whole command");
        commands.push(command);
    }
    commands
}

/// A connection that sends bytes and takes answers apart only so far that it knows where they end.
pub(crate) struct Wire(BufReader<TcpStream>);

impl Wire {
    pub(crate) fn connect(port: u16) -> Self {
        let socket = TcpStream::connect(("127.0.0.1", port)).expect("a Redis");
        socket.set_nodelay(true).expect("a socket that can be set");
        Self(BufReader::with_capacity(64 * 1024, socket))
    }

    /// One small question and its answer.
    pub(crate) fn round_trip(&mut self) -> Duration {
        let started = Instant::now();
        self.ask(b"*1\r\n$4\r\nPING\r\n", 1);
        started.elapsed()
    }

    /// The whole recording, each round trip after the one before.
    pub(crate) fn replay(&mut self, recording: &Recording) -> Duration {
        let requests: Vec<(Vec<u8>, usize)> = recording
            .0
            .iter()
            .map(|commands| (commands.concat(), commands.len()))
            .collect();
        let started = Instant::now();
        for (request, answers) in &requests {
            self.ask(request, *answers);
        }
        started.elapsed()
    }

    /// How much the recording makes Redis send.
    pub(crate) fn weigh(&mut self, recording: &Recording) -> Answered {
        let mut answered = Answered::default();
        for command in recording.0.iter().flatten() {
            let bytes = self.ask(command, 1);
            if command.windows(7).any(|part| part == b"tweet:{") {
                answered.tweets += bytes;
            } else {
                answered.rest += bytes;
            }
        }
        answered
    }

    /// Gives the bytes of so many answers.
    fn ask(&mut self, request: &[u8], answers: usize) -> usize {
        self.0
            .get_ref()
            .write_all(request)
            .expect("a Redis that reads");
        let mut read = Vec::new();
        for _ in 0..answers {
            read_value(&mut self.0, &mut read).expect("a Redis that answers");
        }
        read.len()
    }
}
