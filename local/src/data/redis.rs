//! Redis: a real `redis-server` or `valkey-server`, which keeps nothing on disk. If it ends, it is started again,
//! empty and on the same port, as a cache node is replaced.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use uuid::Uuid;

use crate::config::Port;
use crate::error::StartError;
use crate::output::say;

const START_LIMIT: Duration = Duration::from_secs(10);
/// The time between the end of a Redis and the start of the next.
const RESTART_PAUSE: Duration = Duration::from_millis(200);

/// How long an answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);
/// The same for an answer that has to wait until every key is gone.
const FLUSH_LIMIT: Duration = Duration::from_secs(10);
/// Counts the keys and removes them, in one transaction, so that none comes in between.
const EMPTY: &str = "MULTI\r\nDBSIZE\r\nFLUSHALL\r\nEXEC\r\nQUIT\r\n";

/// A free port may be somebody else's by the time Redis opens it; then another one is tried.
const ATTEMPTS: usize = 5;

pub(crate) struct Redis {
    pub(crate) port: u16,
    stop: oneshot::Sender<()>,
    supervisor: JoinHandle<()>,
}

impl Redis {
    pub(crate) async fn start(port: Port) -> Result<Self, StartError> {
        let program = find_program("redis-server").or_else(|| find_program("valkey-server"));
        let program = program.ok_or(StartError::RedisMissing)?;
        let mut attempt = 1;
        let (port, child) = loop {
            let chosen = choose_port(port)?;
            match start_on(&program, chosen).await {
                Ok(child) => break (chosen, child),
                Err(_) if port.number == 0 && attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
            }
        };
        let (stop, stopped) = oneshot::channel();
        let supervisor = tokio::spawn(supervise(program, port, child, stopped));
        Ok(Self {
            port,
            stop,
            supervisor,
        })
    }

    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.supervisor.await;
    }
}

/// Removes every key of the Redis at this port, and gives how many there were.
pub(crate) async fn flush(port: u16) -> std::io::Result<u64> {
    let answer = ask(port, EMPTY, FLUSH_LIMIT).await?;
    let (_, answers) = answer.split_once("*2\r\n:").unwrap_or_default();
    let keys = answers.split_once("\r\n+OK\r\n");
    let keys = keys.and_then(|(keys, _)| keys.parse().ok());
    keys.ok_or_else(|| std::io::Error::other(format!("it answered {answer:?}")))
}

/// The port that Redis is to have: the configured one, which must be free, or any free one.
fn choose_port(port: Port) -> Result<u16, StartError> {
    let chosen =
        TcpListener::bind((Ipv4Addr::LOCALHOST, port.number)).and_then(|free| free.local_addr());
    match chosen {
        Ok(address) => Ok(address.port()),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Err(StartError::PortTaken {
            port: port.number,
            variable: port.variable,
        }),
        Err(source) => Err(StartError::Listen {
            port: port.number,
            variable: port.variable,
            source,
        }),
    }
}

async fn start_on(program: &Path, port: u16) -> Result<Child, StartError> {
    let mut child = spawn(program, port)?;
    let started = Instant::now();
    while !answers(port, child.id()).await {
        let reason = match child.try_wait() {
            Ok(Some(status)) => Some(format!("it ended with {status}; is port {port} taken?")),
            Ok(None) => (started.elapsed() > START_LIMIT).then(|| "it does not answer".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(reason) = reason {
            return Err(StartError::RedisFailed {
                program: program.display().to_string(),
                reason,
            });
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(child)
}

async fn supervise(
    program: PathBuf,
    port: u16,
    mut child: Child,
    mut stopped: oneshot::Receiver<()>,
) {
    loop {
        tokio::select! {
            _ = &mut stopped => {
                let _ = child.kill().await;
                return;
            }
            _ = child.wait() => say("redis ended; it starts again, empty"),
        }
        tokio::time::sleep(RESTART_PAUSE).await;
        match spawn(&program, port) {
            Ok(restarted) => child = restarted,
            Err(error) => say(error.to_string()),
        }
    }
}

fn spawn(program: &Path, port: u16) -> Result<Child, StartError> {
    // If this process is killed outright, it cannot stop Redis. If the system has setpriv, the kernel stops it then.
    let mut command = match find_program("setpriv") {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL", "--"]).arg(program);
            command
        }
        None => Command::new(program),
    };
    command
        .args([
            "--bind",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--save",
            "",
            "--appendonly",
            "no",
        ])
        // A name that no file has: Redis loads what it finds there, and a replica may make it write.
        .args([
            "--dir",
            "/tmp",
            "--dbfilename",
            &format!("{}.rdb", Uuid::new_v4()),
        ])
        .args(["--daemonize", "no"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // Ctrl-C is for this process, which then stops its children in order.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| StartError::RedisFailed {
            program: program.display().to_string(),
            reason: error.to_string(),
        })
}

/// Whether the Redis at this port is ready and is the one that was started. Another one would answer as well.
async fn answers(port: u16, process: Option<u32>) -> bool {
    let Ok(answer) = ask(port, "INFO server\r\nQUIT\r\n", ANSWER_LIMIT).await else {
        return false;
    };
    let told = answer
        .lines()
        .find_map(|line| line.strip_prefix("process_id:")?.trim().parse().ok());
    told.is_some() && told == process
}

/// What the Redis at this port answers to these commands, the last of which must be `QUIT`.
async fn ask(port: u16, commands: &str, limit: Duration) -> std::io::Result<String> {
    let ask = async {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        connection.write_all(commands.as_bytes()).await?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await?;
        Ok(answer)
    };
    tokio::time::timeout(limit, ask).await?
}

fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}
