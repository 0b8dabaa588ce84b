//! A real Redis cluster: three masters that speak TLS only, with a certificate of a private authority, and one user.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Client, Turn};
use crate::local_cloud::fresh_folder;
use crate::patience::stretched;

const MASTERS: u16 = 3;
const SLOTS: u16 = 16_384;
const START_LIMIT: Duration = Duration::from_secs(20);
const USER: &str = "roost";
/// What functions need, and no more.
const RIGHTS: &str =
    "-@all +@read +@write +@connection +@scripting +cluster|slots +time -@dangerous";
/// If the tests are killed, they cannot stop a server, so the kernel does it if it can.
const START: &str = "if command -v setpriv >/dev/null; then exec setpriv --pdeathsig KILL -- \"$@\"; else exec \"$@\"; fi";
const ADMINISTRATOR: &str = "admin";
const PASSWORD: &str = "not-a-secret";

#[derive(Debug)]
pub struct RedisCluster {
    /// One of the masters.
    pub url: String,
    /// The authority that signed the servers' certificate, a PEM file.
    pub ca_cert: PathBuf,
    masters: Vec<Master>,
    _turn: Option<Turn>,
}

#[derive(Debug)]
struct Master {
    port: u16,
    bus_port: u16,
    child: Child,
}

impl RedisCluster {
    /// Starts one, for a test that takes no other turn.
    pub async fn start() -> Self {
        let turn = Turn::alone().await;
        Self {
            _turn: Some(turn),
            ..Self::new()
        }
    }

    /// Starts one, for a test that has its turn.
    pub fn beside(_: &Client) -> Self {
        Self::new()
    }

    fn new() -> Self {
        let folder = fresh_folder();
        let ca_cert = certificates(&folder);
        let masters: Vec<_> = (0..MASTERS).map(|n| Master::start(n, &folder)).collect();
        let cluster = Self {
            url: format!("rediss://{USER}:{PASSWORD}@127.0.0.1:{}", masters[0].port),
            ca_cert,
            masters,
            _turn: None,
        };
        cluster.wait(
            "every master answers",
            |answer| answer.contains("PONG"),
            &["PING"],
        );
        for (master, n) in cluster.masters.iter().zip(0..MASTERS) {
            let (first, next) = (SLOTS / MASTERS * n, SLOTS / MASTERS * (n + 1));
            let last = if n + 1 == MASTERS { SLOTS } else { next } - 1;
            let (first, last) = (first.to_string(), last.to_string());
            cluster.ask(master, &["CLUSTER", "ADDSLOTSRANGE", &first, &last]);
            let (port, bus) = (master.port.to_string(), master.bus_port.to_string());
            cluster.ask(
                &cluster.masters[0],
                &["CLUSTER", "MEET", "127.0.0.1", &port, &bus],
            );
        }
        cluster.wait(
            "every master knows every other",
            |info| info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3"),
            &["CLUSTER", "INFO"],
        );
        cluster
    }

    /// How many keys each master holds.
    pub fn keys(&self) -> Vec<u64> {
        let count = |master| self.ask(master, &["DBSIZE"]).trim().parse();
        self.masters
            .iter()
            .map(|master| count(master).expect("a number"))
            .collect()
    }

    /// How often each master has found something to read on a connection. Asking for it adds a few.
    pub fn reads(&self) -> Vec<u64> {
        let count = |master| {
            let stats = self.ask(master, &["INFO", "stats"]);
            let name = "total_reads_processed:";
            let line = stats.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse().ok()
        };
        self.masters
            .iter()
            .map(|master| count(master).expect("a number"))
            .collect()
    }

    /// Gives all slots of one master to another, with what is in them. Clients find out when they ask the wrong one.
    pub fn move_all_slots(&self, from: usize, to: usize) {
        let (from, to) = (&self.masters[from], &self.masters[to]);
        let id = |master| self.ask(master, &["CLUSTER", "MYID"]).trim().to_owned();
        let output = self
            .cli(to)
            .args([
                "--cluster",
                "reshard",
                &format!("127.0.0.1:{}", to.port),
                "--cluster-yes",
            ])
            .args(["--cluster-from", &id(from), "--cluster-to", &id(to)])
            .args([
                "--cluster-slots",
                &SLOTS.to_string(),
                "--cluster-pipeline",
                "100",
            ])
            .output()
            .expect("redis-cli runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }

    fn ask(&self, master: &Master, words: &[&str]) -> String {
        let output = self
            .cli(master)
            .args(words)
            .output()
            .expect("redis-cli runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn cli(&self, master: &Master) -> Command {
        let mut command = Command::new("redis-cli");
        command
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                &master.port.to_string(),
                "--tls",
                "--cacert",
            ])
            .arg(&self.ca_cert)
            .args(["--user", ADMINISTRATOR, "--pass", PASSWORD])
            .arg("--no-auth-warning");
        command
    }

    fn wait(&self, what: &str, is: impl Fn(&str) -> bool, words: &[&str]) {
        let started = Instant::now();
        for master in &self.masters {
            loop {
                let answer = self.ask(master, words);
                if is(&answer) {
                    break;
                }
                let waited = started.elapsed();
                assert!(
                    waited < stretched(START_LIMIT),
                    "not so after {waited:?}: {what}\n{answer}"
                );
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

impl Master {
    /// Somebody else may take a port after we found it free. Then the server ends at once, and gets others.
    fn start(n: u16, folder: &Path) -> Self {
        for _ in 0..5 {
            let mut master = Self::try_start(n, folder);
            if master.listens() {
                return master;
            }
        }
        panic!("redis-server does not listen");
    }

    fn listens(&mut self) -> bool {
        let until = Instant::now() + stretched(START_LIMIT);
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            let listens = [self.port, self.bus_port]
                .iter()
                .all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok());
            thread::sleep(Duration::from_millis(50));
            if listens {
                return matches!(self.child.try_wait(), Ok(None));
            }
        }
        false
    }

    fn try_start(n: u16, folder: &Path) -> Self {
        let (port, bus_port) = (free_port(), free_port());
        let own = folder.join(n.to_string());
        fs::create_dir_all(&own).expect("a folder of our own");
        let file = |name: &str| folder.join(name).display().to_string();
        let password = format!(">{PASSWORD}");
        let child = Command::new("sh")
            .args(["-c", START, "sh"])
            .args(["redis-server", "--bind", "127.0.0.1", "--port", "0"])
            .args([
                "--tls-port",
                &port.to_string(),
                "--cluster-port",
                &bus_port.to_string(),
            ])
            .args([
                "--cluster-enabled",
                "yes",
                "--tls-cluster",
                "yes",
                "--tls-replication",
                "yes",
            ])
            .args([
                "--tls-auth-clients",
                "no",
                "--tls-ca-cert-file",
                &file("ca.pem"),
            ])
            .args([
                "--tls-cert-file",
                &file("server.pem"),
                "--tls-key-file",
                &file("server.key"),
            ])
            .args([
                "--user",
                "default",
                "off",
                "--save",
                "",
                "--appendonly",
                "no",
            ])
            .args(["--user", ADMINISTRATOR, "on", &password, "~*", "+@all"])
            .args(["--user", USER, "on", &password, "~*"])
            .args(RIGHTS.split(' '))
            .args(["--masteruser", ADMINISTRATOR, "--masterauth", PASSWORD])
            .args([
                "--cluster-config-file",
                "nodes",
                "--dir",
                &own.display().to_string(),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server starts");
        Self {
            port,
            bus_port,
            child,
        }
    }
}

impl Drop for Master {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("a bound port").port()
}

/// An authority, and a certificate of the machine that it signed. Gives the authority's file.
fn certificates(folder: &Path) -> PathBuf {
    let openssl = |arguments: &[&str]| {
        let output = Command::new("openssl")
            .current_dir(folder)
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
            ])
            .args(["-nodes", "-days", "2"])
            .args(arguments)
            .output()
            .expect("openssl is installed");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    openssl(&[
        "-subj",
        "/CN=Roost tests",
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
    ]);
    openssl(&[
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=IP:127.0.0.1,DNS:localhost",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-keyout",
        "server.key",
        "-out",
        "server.pem",
    ]);
    folder.join("ca.pem")
}
