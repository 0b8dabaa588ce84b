//! Stands between one function and its stores, and sees every single request.
//!
//! Requests and answers are taken apart far enough to know where each ends, and are carried one by one: a pipeline of
//! seven commands is seven requests here, and the next is not read before the last was answered. Each has to go through
//! a [`Door`], which may write it down or hold it back.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::patience::{now_seconds, stretched};

/// Gets the text of a request, and decides when it is carried out and what becomes of the answer.
pub(crate) type Door =
    Arc<dyn Fn(&str, &mut dyn FnMut(Answer) -> io::Result<()>) -> io::Result<()> + Send + Sync>;

/// What the asking side gets.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// What was answered.
    Whole,
    /// Nothing, and the connection ends: the request was carried out, and nobody hears of it.
    Lost,
    /// Something else, without asking.
    Instead(Vec<u8>),
}

impl Answer {
    /// Carries one request out.
    fn carry(
        self,
        ask: impl FnOnce() -> io::Result<Vec<u8>>,
        mut answered: &TcpStream,
    ) -> io::Result<()> {
        match self {
            Self::Whole => answered.write_all(&ask()?),
            Self::Lost => {
                ask()?;
                answered.shutdown(Shutdown::Both)?;
                Err(ErrorKind::ConnectionAborted.into())
            }
            Self::Instead(answer) => answered.write_all(&answer),
        }
    }
}

/// How long a test waits for a request that should be held.
const HELD_LIMIT: Duration = Duration::from_secs(10);

/// Enough of a request to tell which one it is.
const TEXT: usize = 600;

/// Listens before a Redis, and gives the URL to use instead.
pub(crate) fn before_redis(url: &str, door: Door) -> String {
    let server = url
        .trim_start_matches("redis://")
        .trim_end_matches('/')
        .to_owned();
    let carry = move |client: &_, server: &_| carry_redis(client, server, &door);
    format!("redis://{}", listen(server, carry))
}

/// Listens before a DynamoDB, and gives the URL to use instead.
pub(crate) fn before_dynamodb(url: &str, door: Door) -> String {
    let server = url
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    let carry = move |client: &_, server: &_| carry_http(client, server, &door);
    format!("http://{}", listen(server, carry))
}

/// Serves until the process ends: clients come and go.
pub(crate) fn listen(
    server: String,
    carry: impl Fn(&TcpStream, &TcpStream) -> io::Result<()> + Clone + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound port").to_string();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let (server, carry) = (server.clone(), carry.clone());
            // An error is a side that is gone; the other one is told by the end of its connection.
            thread::spawn(move || -> io::Result<()> {
                let server = TcpStream::connect(server)?;
                client.set_nodelay(true)?;
                server.set_nodelay(true)?;
                carry(&client, &server)
            });
        }
    });
    address
}

fn carry_redis(client: &TcpStream, server: &TcpStream, door: &Door) -> io::Result<()> {
    let (mut asking, mut answering) = (BufReader::new(client), BufReader::new(server));
    let mut asked = server;
    loop {
        let mut command = Vec::new();
        read_value(&mut asking, &mut command)?;
        let text = String::from_utf8_lossy(&command);
        // Neither `*3` nor `$4`, which say how much comes.
        let words = text
            .split("\r\n")
            .filter(|word| !word.starts_with(['*', '$']));
        let text: String = words.flat_map(|word| [word, " "]).collect();
        door(cut(&text), &mut |answer| {
            let ask = || {
                asked.write_all(&command)?;
                let mut reply = Vec::new();
                read_value(&mut answering, &mut reply)?;
                Ok(reply)
            };
            answer.carry(ask, client)
        })?;
    }
}

/// One value of Redis' protocol, be it a command or a reply.
pub fn read_value(reader: &mut impl BufRead, value: &mut Vec<u8>) -> io::Result<()> {
    let start = value.len();
    if reader.read_until(b'\n', value)? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let line = String::from_utf8_lossy(&value[start..]).into_owned();
    let length: i64 = line[1..].trim_end().parse().unwrap_or_default();
    match line.as_bytes()[0] {
        b'$' | b'!' | b'=' if length >= 0 => {
            let bytes = usize::try_from(length).unwrap_or_default() + 2;
            let read = reader.take(bytes as u64).read_to_end(value)?;
            if read < bytes {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        b'*' | b'~' | b'>' => {
            for _ in 0..length {
                read_value(reader, value)?;
            }
        }
        b'%' => {
            for _ in 0..2 * length {
                read_value(reader, value)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn carry_http(client: &TcpStream, server: &TcpStream, door: &Door) -> io::Result<()> {
    let (mut asking, mut answering) = (BufReader::new(client), BufReader::new(server));
    let mut asked = server;
    loop {
        let (head, body) = read_message(&mut asking)?;
        // `x-amz-target: DynamoDB_20120810.Query`
        let target = head
            .lines()
            .find(|line| line.to_ascii_lowercase().starts_with("x-amz-target:"))
            .and_then(|line| line.rsplit('.').next())
            .unwrap_or_default();
        let text = format!("{target} {}", String::from_utf8_lossy(&body));
        door(cut(&text), &mut |answer| {
            let ask = || {
                asked.write_all(head.as_bytes())?;
                asked.write_all(&body)?;
                let (head, body) = read_message(&mut answering)?;
                Ok([head.as_bytes(), &body].concat())
            };
            answer.carry(ask, client)
        })?;
    }
}

/// The URL of a DynamoDB that takes no time for a query that it has answered before: it gives the same answer again.
pub fn dynamodb_by_heart(url: &str) -> String {
    let server = url.trim_start_matches("http://").trim_end_matches('/');
    let learnt = Arc::<Mutex<HashMap<Vec<u8>, Vec<u8>>>>::default();
    let carry = move |client: &TcpStream, server: &TcpStream| {
        let (mut asking, mut answering) = (BufReader::new(client), BufReader::new(server));
        let (mut asked, mut answered) = (server, client);
        loop {
            let (head, body) = read_message(&mut asking)?;
            let known = {
                let learnt = learnt.lock().unwrap_or_else(PoisonError::into_inner);
                learnt.get(&body).cloned()
            };
            if let Some(answer) = known {
                answered.write_all(&answer)?;
                continue;
            }
            asked.write_all(&[head.as_bytes(), &body].concat())?;
            let (status, text) = read_message(&mut answering)?;
            let answer = [status.as_bytes(), &text].concat();
            answered.write_all(&answer)?;
            if head.contains("DynamoDB_20120810.Query") {
                let mut learnt = learnt.lock().unwrap_or_else(PoisonError::into_inner);
                learnt.insert(body, answer);
            }
        }
    };
    format!("http://{}", listen(server.to_owned(), carry))
}

/// Head and body of a request or an answer of HTTP/1.1. The length must be given, as DynamoDB and its clients do.
pub(crate) fn read_message(reader: &mut impl BufRead) -> io::Result<(String, Vec<u8>)> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let start = head.len();
        if reader.read_line(&mut head)? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let line = head[start..].to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
        assert!(
            !line.starts_with("transfer-encoding:"),
            "a message without its length: {head}"
        );
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((head, body))
}

fn cut(text: &str) -> &str {
    let end = (0..=TEXT.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

/// Stands between one function and DynamoDB and holds back what a test wants held.
#[derive(Clone, Debug)]
pub struct DynamoGate {
    pub url: String,
    state: Arc<(Mutex<Held>, Condvar)>,
}

#[derive(Debug, Default)]
struct Held {
    /// What waits now, in the order in which it came.
    waiting: VecDeque<String>,
    /// How many came so far, and how many of them were let through.
    came: usize,
    let_through: usize,
}

impl DynamoGate {
    /// Every request of which `holds` says so waits until it is let through.
    pub fn start(dynamodb: &str, holds: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        let state = Arc::<(Mutex<Held>, Condvar)>::default();
        let gate = Arc::clone(&state);
        let door: Door = Arc::new(move |text, exchange| {
            if holds(text) {
                let mut held = lock(&gate.0);
                held.waiting.push_back(text.to_owned());
                held.came += 1;
                let number = held.came;
                gate.1.notify_all();
                // Without an end: the test lets it through, or ends with it.
                while held.let_through < number {
                    held = gate.1.wait(held).unwrap_or_else(PoisonError::into_inner);
                }
            }
            exchange(Answer::Whole)
        });
        Self {
            url: before_dynamodb(dynamodb, door),
            state,
        }
    }

    /// Waits until a request is held, and gives its text.
    pub fn wait_until_held(&self) -> String {
        let limit = stretched(HELD_LIMIT);
        let nobody = |held: &mut Held| held.waiting.is_empty();
        let waited = self
            .state
            .1
            .wait_timeout_while(lock(&self.state.0), limit, nobody);
        let (held, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let first = held.waiting.front().cloned();
        first.expect("nothing was asked that is held")
    }

    /// Lets the request through that has waited longest.
    pub fn let_through(&self) {
        let mut held = lock(&self.state.0);
        if held.waiting.pop_front().is_some() {
            held.let_through += 1;
        }
        drop(held);
        self.state.1.notify_all();
    }
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The URL of a Redis whose clock is so many seconds ahead of this one's.
pub fn redis_ahead_by(redis: &str, seconds: u64) -> String {
    let door: Door = Arc::new(move |text, exchange| {
        if text.trim() != "TIME" {
            return exchange(Answer::Whole);
        }
        let now = (now_seconds() + seconds).to_string();
        let time = format!("*2\r\n${}\r\n{now}\r\n$1\r\n0\r\n", now.len());
        exchange(Answer::Instead(time.into_bytes()))
    });
    before_redis(redis, door)
}

/// The URL of a Redis that lets `look` see what is there after each single command.
pub fn redis_watched(redis: &str, look: impl Fn(&str) + Send + Sync + 'static) -> String {
    let door: Door = Arc::new(move |text, exchange| {
        let done = exchange(Answer::Whole);
        look(text);
        done
    });
    before_redis(redis, door)
}

/// Stands between functions and DynamoDB and writes down what they ask.
#[derive(Clone, Debug)]
pub struct DynamoProxy {
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl DynamoProxy {
    pub fn start(dynamodb: &str) -> Self {
        Self::losing_answers(dynamodb, |_| false)
    }

    /// Loses answers: `is_lost` gets what was asked.
    pub fn losing_answers(
        dynamodb: &str,
        is_lost: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let written = Arc::clone(&asked);
        let door: Door = Arc::new(move |text, exchange| {
            let mut asked = written.lock().unwrap_or_else(PoisonError::into_inner);
            asked.push(text.to_owned());
            drop(asked);
            exchange(if is_lost(text) {
                Answer::Lost
            } else {
                Answer::Whole
            })
        });
        Self {
            url: before_dynamodb(dynamodb, door),
            asked,
        }
    }

    /// What was asked since the last call of this: the operation, and its body as JSON.
    pub fn take(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut asked)
    }
}
