//! One connection. What several callers ask goes out together, and answers come back in the order of the questions.
//!
//! A task of its own writes and reads. It ends when the connection is lost, or when nobody can ask any more.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::{Buf, Bytes, BytesMut};
use redis::{RedisError, RedisResult, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt, split};
use tokio::sync::{mpsc, oneshot};

use super::batch::Batch;
use super::resp;
use super::server::{Server, Stream};

/// Requests that go out in one write.
const TOGETHER: usize = 64;
/// Room for what arrives at once. A page's answers are some kilobytes.
const ARRIVING: usize = 32 * 1024;

#[derive(Clone)]
pub(super) struct Connection {
    requests: mpsc::UnboundedSender<Request>,
    /// Why it ended. Whoever asks next or still waits says so, because only they know for which request.
    end: Arc<OnceLock<io::Error>>,
}

struct Request {
    commands: Bytes,
    answers: usize,
    asker: oneshot::Sender<Vec<Value>>,
}

/// A request that was written.
struct Waiting {
    answers: Vec<Value>,
    /// How many are wanted.
    wanted: usize,
    asker: oneshot::Sender<Vec<Value>>,
}

impl Connection {
    pub(super) async fn open(server: &Server) -> RedisResult<Self> {
        let stream = server.connect().await?;
        let (sender, requests) = mpsc::unbounded_channel();
        let end = Arc::<OnceLock<io::Error>>::default();
        let connection = Self {
            requests: sender,
            end: Arc::clone(&end),
        };
        tokio::spawn(async move {
            if let Err(error) = serve(stream, requests).await {
                let _ = end.set(error);
            }
        });
        let mut greeting = Batch::new(false, 2);
        for command in server.greeting() {
            greeting.push(&command);
        }
        let count = greeting.len();
        if count > 0 {
            let bytes = greeting.into_bytes().into();
            for answer in connection.ask(bytes, count).await? {
                answer.extract_error()?;
            }
        }
        Ok(connection)
    }

    /// The answers to commands that were written one behind the other. Errors of single commands are among them.
    pub(super) async fn ask(&self, commands: Bytes, answers: usize) -> RedisResult<Vec<Value>> {
        let (asker, answered) = oneshot::channel();
        let request = Request {
            commands,
            answers,
            asker,
        };
        let lost = || {
            let why = self.end.get().map(ToString::to_string);
            let why = why.unwrap_or_else(|| "the connection was lost".to_owned());
            RedisError::from(io::Error::new(io::ErrorKind::BrokenPipe, why))
        };
        self.requests.send(request).map_err(|_| lost())?;
        answered.await.map_err(|_| lost())
    }
}

async fn serve(
    stream: Box<dyn Stream>,
    mut requests: mpsc::UnboundedReceiver<Request>,
) -> io::Result<()> {
    let (mut reading, mut writing) = split(stream);
    let waiting = Mutex::new(VecDeque::new());
    let write = async {
        let (mut together, mut outgoing) = (Vec::new(), Vec::new());
        while requests.recv_many(&mut together, TOGETHER).await > 0 {
            outgoing.clear();
            for request in together.drain(..) {
                outgoing.extend_from_slice(&request.commands);
                lock(&waiting).push_back(Waiting {
                    answers: Vec::with_capacity(request.answers),
                    wanted: request.answers,
                    asker: request.asker,
                });
            }
            writing.write_all(&outgoing).await?;
            writing.flush().await?;
        }
        // Nobody can ask any more, and nobody waits for an answer.
        Err::<(), _>(io::ErrorKind::NotConnected.into())
    };
    let read = async {
        let mut arrived = BytesMut::new();
        loop {
            arrived.reserve(ARRIVING);
            if reading.read_buf(&mut arrived).await? == 0 {
                return Err::<(), _>(io::ErrorKind::UnexpectedEof.into());
            }
            let rest = answer(&mut lock(&waiting), &arrived)?.len();
            arrived.advance(arrived.len() - rest);
        }
    };
    tokio::try_join!(write, read).map(drop)
}

/// Gives what has arrived to those that wait for it, and what is left of it.
fn answer<'a>(waiting: &mut VecDeque<Waiting>, mut arrived: &'a [u8]) -> io::Result<&'a [u8]> {
    while let Some((value, rest)) = resp::read(arrived)? {
        arrived = rest;
        let Some(first) = waiting.front_mut() else {
            return Err(io::Error::other("redis answers although nobody has asked"));
        };
        first.answers.push(value);
        if first.answers.len() >= first.wanted
            && let Some(first) = waiting.pop_front()
        {
            // Whoever asked may have lost patience.
            let _ = first.asker.send(first.answers);
        }
    }
    Ok(arrived)
}

fn lock(waiting: &Mutex<VecDeque<Waiting>>) -> MutexGuard<'_, VecDeque<Waiting>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
