//! One function's binary, run by a test instead of the local cloud, so that the test can stand between it and Redis.
//!
//! Both servers here serve one client on the same machine; plain threads are enough for that. They end with the process
//! that they serve.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::local_cloud::{LocalCloud, beside_the_tests, signal};
use crate::patience::stretched;

const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// The binary of one function, waiting for invocations.
#[derive(Debug)]
pub struct Function {
    name: String,
    child: Child,
    events: Sender<Value>,
    answers: Mutex<Receiver<Value>>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Function {
    /// Starts it in the environment of a local cloud, with these variables changed.
    pub fn start(cloud: &LocalCloud, name: &str, changed: &[(&str, &str)]) -> Self {
        Self::start_in(cloud.environment(), name, changed)
    }

    /// Starts it in an environment, with these variables changed.
    pub fn start_in(
        mut environment: BTreeMap<String, String>,
        name: &str,
        changed: &[(&str, &str)],
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a port was bound");
        let (events, next_event) = channel();
        let (answer, answers) = channel();
        thread::spawn(move || serve_runtime_api(&listener, next_event, &answer));
        environment.extend(
            changed
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let mut child = Command::new(beside_the_tests().join(name))
            .env_clear()
            .envs(environment)
            .env("AWS_LAMBDA_RUNTIME_API", address.to_string())
            .env("AWS_LAMBDA_FUNCTION_NAME", name)
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
            .env("AWS_LAMBDA_LOG_GROUP_NAME", name)
            .env("AWS_LAMBDA_LOG_STREAM_NAME", name)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{name} does not start: {e}"));
        let log = Arc::<Mutex<Vec<String>>>::default();
        if let Some(output) = child.stdout.take() {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    log.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(line);
                }
            });
        }
        Self {
            name: name.to_owned(),
            child,
            events,
            answers: Mutex::new(answers),
            log,
        }
    }

    /// What it has logged so far, line by line. The last lines may still be on their way.
    pub fn log(&self) -> Vec<String> {
        self.log
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The same as one text.
    pub fn output(&self) -> String {
        self.log().join("\n")
    }

    /// Its answer to one event. Blocks: nothing else may have to happen meanwhile.
    pub fn invoke(&self, event: Value) -> Value {
        self.invoke_within(event, ANSWER_LIMIT)
    }

    /// Like [`Self::invoke`], for work that may take this long.
    pub fn invoke_within(&self, event: Value, limit: Duration) -> Value {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        self.events
            .send(event)
            .expect("the runtime API has not ended");
        let answer = answers.recv_timeout(stretched(limit));
        answer.unwrap_or_else(|e| panic!("{} gives no answer: {e}", self.name))
    }

    /// Gives it an event and does not wait for an answer: it will be killed before there is one.
    pub fn begin(&self, event: Value) {
        self.events
            .send(event)
            .expect("the runtime API has not ended");
    }

    /// Stops it where it is, as Lambda does with a sandbox between invocations.
    pub fn freeze(&self) {
        assert!(signal("STOP", self.child.id()), "{} is gone", self.name);
    }

    pub fn thaw(&self) {
        assert!(signal("CONT", self.child.id()), "{} is gone", self.name);
    }
}

/// The JSON that a function answered a request with. The answer must have this status.
#[track_caller]
pub fn body_of(answer: &Value, status: u16) -> Value {
    assert_eq!(answer["statusCode"], status, "{answer}");
    let body = answer["body"].as_str().unwrap_or_default();
    serde_json::from_str(body).unwrap_or_else(|e| panic!("not JSON: {e}: {answer}"))
}

/// The ids of the tweets on a page.
#[track_caller]
pub fn page_ids(page: &Value) -> Vec<u64> {
    let tweets = page["data"].as_array().expect("tweets");
    let id = |tweet: &Value| tweet["id"].as_str().and_then(|id| id.parse().ok());
    tweets
        .iter()
        .map(|tweet| id(tweet).expect("an id"))
        .collect()
}

impl Drop for Function {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As much of the Lambda Runtime API as one sandbox needs: the next event, and a place for its answer.
fn serve_runtime_api(listener: &TcpListener, events: Receiver<Value>, answers: &Sender<Value>) {
    let events = Arc::new(Mutex::new(events));
    for connection in listener.incoming().flatten() {
        let (events, answers) = (Arc::clone(&events), answers.clone());
        // An error is a client that is gone, and with it the reason to go on.
        thread::spawn(move || serve_sandbox(&connection, &events, &answers));
    }
}

fn serve_sandbox(
    connection: &TcpStream,
    events: &Mutex<Receiver<Value>>,
    answers: &Sender<Value>,
) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection);
    let mut writer = connection;
    loop {
        let (path, body) = read_request(&mut reader)?;
        if path.ends_with("/next") {
            let next = events.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(event) = next else { return Ok(()) };
            let event = event.to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 lambda-runtime-aws-request-id: {:032x}\r\nlambda-runtime-deadline-ms: {}\r\n\
                 lambda-runtime-invoked-function-arn: arn:aws:lambda:us-east-1:000000000000:function:test\r\n\r\n",
                event.len(),
                fastrand::u128(..),
                deadline_ms()
            );
            writer.write_all((head + &event).as_bytes())?;
        } else {
            let answer = serde_json::from_slice(&body).unwrap_or_default();
            let _ = answers.send(answer);
            writer.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")?;
        }
    }
}

/// When an invocation that begins now has to have ended.
fn deadline_ms() -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    (now.unwrap_or_default() + ANSWER_LIMIT).as_millis()
}

/// The path and the body, whose length is given: the runtime sends whole answers.
fn read_request(reader: &mut impl BufRead) -> io::Result<(String, Vec<u8>)> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((path, body))
}

/// How long nothing has to come for a request to count as whole. A long pipeline comes in several pieces.
const PIECES_WITHIN: Duration = Duration::from_millis(5);

/// Stands between one function and Redis and counts how often the function had to wait for Redis.
///
/// A round trip begins when something is asked after something was answered. Whatever is asked before the answer to what
/// came before belongs to the same one.
#[derive(Clone, Debug)]
pub struct RedisProxy {
    pub url: String,
    round_trips: Arc<Mutex<RoundTrips>>,
    connections: Arc<Mutex<Vec<Connection>>>,
}

/// One of the function's connections.
#[derive(Debug)]
struct Connection {
    client: TcpStream,
    swallowed: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct RoundTrips {
    /// What was asked in each.
    asked: VecDeque<Vec<u8>>,
    answered: bool,
}

impl RoundTrips {
    fn ask(&mut self, request: &[u8]) {
        if self.answered || self.asked.is_empty() {
            self.asked.push_back(Vec::new());
        }
        self.answered = false;
        if let Some(last) = self.asked.back_mut() {
            last.extend_from_slice(request);
        }
    }
}

impl RedisProxy {
    pub fn start(cloud: &LocalCloud) -> Self {
        Self::before(&cloud.environment()["REDIS_URL"])
    }

    /// Stands before the Redis at this URL.
    pub fn before(redis: &str) -> Self {
        let redis = redis
            .trim_start_matches("redis://")
            .trim_end_matches('/')
            .to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("redis://{}", listener.local_addr().expect("a bound port"));
        let round_trips = Arc::<Mutex<RoundTrips>>::default();
        let connections = Arc::<Mutex<Vec<Connection>>>::default();
        let proxy = Self {
            url,
            round_trips: Arc::clone(&round_trips),
            connections: Arc::clone(&connections),
        };
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&redis).expect("Redis answers");
                let swallowed = Arc::<AtomicBool>::default();
                let _ = connect(&client, &server, &round_trips, &swallowed);
                lock(&connections).push(Connection { client, swallowed });
            }
        });
        proxy
    }

    /// Closes every connection, as a server does that was restarted.
    pub fn cut(&self) {
        for connection in lock(&self.connections).drain(..) {
            let _ = connection.client.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Keeps every connection open and answers nothing on it any more, as a network does that forgot about it.
    pub fn swallow(&self) {
        for connection in lock(&self.connections).iter() {
            connection.swallowed.store(true, Ordering::Relaxed);
        }
    }

    /// What was asked in each round trip since the last call of this.
    pub fn take_round_trips(&self) -> Vec<String> {
        let requests = self.take_requests().into_iter();
        requests
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect()
    }

    /// The same as it was sent.
    pub fn take_requests(&self) -> Vec<Vec<u8>> {
        lock(&self.round_trips).asked.drain(..).collect()
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn connect(
    client: &TcpStream,
    server: &TcpStream,
    round_trips: &Arc<Mutex<RoundTrips>>,
    swallowed: &Arc<AtomicBool>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut asking, mut asked) = (client.try_clone()?, server.try_clone()?);
    let (mut answering, mut answered) = (server.try_clone()?, client.try_clone()?);
    let counted = Arc::clone(round_trips);
    let swallowed = Arc::clone(swallowed);
    thread::spawn(move || -> io::Result<()> {
        while let Some(request) = read_whole(&mut asking)? {
            if swallowed.load(Ordering::Relaxed) {
                continue;
            }
            lock(&counted).ask(&request);
            asked.write_all(&request)?;
        }
        asked.shutdown(std::net::Shutdown::Both)
    });
    let counted = Arc::clone(round_trips);
    thread::spawn(move || -> io::Result<()> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let length = answering.read(&mut buffer)?;
            if length == 0 {
                return answered.shutdown(std::net::Shutdown::Both);
            }
            lock(&counted).answered = true;
            answered.write_all(&buffer[..length])?;
        }
    });
    Ok(())
}

/// All that comes without a pause; `None` at the end.
fn read_whole(from: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut buffer = vec![0; 1 << 16];
    from.set_read_timeout(None)?;
    let mut length = from.read(&mut buffer)?;
    if length == 0 {
        return Ok(None);
    }
    let mut whole = Vec::new();
    from.set_read_timeout(Some(PIECES_WITHIN))?;
    loop {
        whole.extend_from_slice(&buffer[..length]);
        match from.read(&mut buffer) {
            Ok(0) => return Ok(Some(whole)),
            Ok(more) => length = more,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Ok(Some(whole));
            }
            Err(e) => return Err(e),
        }
    }
}
