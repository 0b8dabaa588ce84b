//! Redis servers of our own, on free ports, without persistence. They end with this process.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use redis::{Client, Connection, cmd};

pub(crate) const SLOTS: u16 = 16_384;
const START_LIMIT: Duration = Duration::from_secs(20);
/// A cluster's second port is so much higher by default.
const BUS: u16 = 10_000;

/// One server, or the masters of a cluster.
pub(crate) struct Servers {
    pub(crate) ports: Vec<u16>,
    children: Vec<Child>,
}

impl Servers {
    pub(crate) fn single() -> Self {
        Self::start(1, &[])
    }

    /// A cluster without TLS: encryption would be most of what is measured.
    pub(crate) fn cluster() -> Self {
        let servers = Self::start(3, &["--cluster-enabled", "yes"]);
        let count = u16::try_from(servers.ports.len()).unwrap_or(1);
        for (n, port) in (0..count).zip(&servers.ports) {
            let (first, next) = (SLOTS / count * n, SLOTS / count * (n + 1));
            let last = if n + 1 == count { SLOTS } else { next } - 1;
            let mut connection = connect(*port);
            let mut add = cmd("CLUSTER");
            add.arg("ADDSLOTSRANGE").arg(first).arg(last);
            add.exec(&mut connection).expect("slots");
            let mut meet = cmd("CLUSTER");
            meet.arg("MEET").arg("127.0.0.1").arg(servers.ports[0]);
            meet.exec(&mut connection).expect("a cluster");
        }
        for port in &servers.ports {
            wait("the masters know each other", || {
                let info: String = cmd("CLUSTER")
                    .arg("INFO")
                    .query(&mut connect(*port))
                    .unwrap_or_default();
                info.contains("cluster_state:ok")
            });
        }
        servers
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.ports[0])
    }

    pub(crate) fn is_cluster(&self) -> bool {
        self.ports.len() > 1
    }

    fn start(count: usize, more: &[&str]) -> Self {
        let ports: Vec<u16> = (0..count).map(|_| free_port()).collect();
        let children = ports.iter().map(|port| {
            let config = format!("nodes-bench-{port}.conf");
            Command::new("redis-server")
                .args(["--port", &port.to_string()])
                .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
                .args(["--daemonize", "no", "--loglevel", "warning"])
                .args(["--cluster-config-file", &config])
                .args(more)
                .current_dir(std::env::temp_dir())
                .stdout(Stdio::null())
                .spawn()
                .expect("redis-server is installed: run make bench, which sees to it")
        });
        let servers = Self {
            children: children.collect(),
            ports,
        };
        for port in &servers.ports {
            wait("redis-server answers", || {
                TcpStream::connect(("127.0.0.1", *port)).is_ok()
            });
        }
        servers
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for (child, port) in self.children.iter_mut().zip(&self.ports) {
            let _ = child.kill();
            let _ = child.wait();
            let config = std::env::temp_dir().join(format!("nodes-bench-{port}.conf"));
            let _ = std::fs::remove_file(config);
        }
    }
}

/// The slot of each key, as a cluster's server says.
pub(crate) fn key_slots(port: u16, keys: impl Iterator<Item = String>) -> Vec<usize> {
    let mut pipeline = redis::pipe();
    for key in keys {
        pipeline.cmd("CLUSTER").arg("KEYSLOT").arg(key);
    }
    pipeline.query(&mut connect(port)).expect("slots")
}

pub(crate) fn connect(port: u16) -> Connection {
    Client::open(format!("redis://127.0.0.1:{port}"))
        .and_then(|client| client.get_connection())
        .expect("a Redis")
}

/// A port whose companion for the cluster exists as well.
fn free_port() -> u16 {
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        if port < u16::MAX - BUS {
            return port;
        }
    }
}

fn wait(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < START_LIMIT, "not in time: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}
