//! What it takes to start each function, beside an empty Lambda that was built in the same way.
//!
//! Init is the time from the start of the process to its first question for an event, as Lambda counts it. Memory is what
//! the process holds at that moment. The zip is the binary after the deflate of `gzip`, which zips use as well.
//!
//! Zips are those of binaries that were built as `make deploy` builds them, with link-time optimisation. That takes long, so
//! `make bench` builds only those that are told here.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use roost_tests::{LocalCloud, beside_the_tests, workspace};

use crate::one_thread;
use crate::page::percentile;
use crate::report::{Goal, Pair, Row, Unit};

const PART: &str = "start";
const EMPTY: &str = "empty";
/// How often each function is started, in turn with the empty one.
const ROUNDS: usize = 9;
/// Those that are told beside the worst.
const KNOWN: [&str; 2] = ["home-timeline", "post-tweet"];
/// Where `make bench` puts what it builds as `make deploy` does.
const DEPLOYED: &str = "target/deployed/release";

/// One function.
struct Measured {
    name: String,
    pairs: Vec<Pair>,
    memory: f64,
}

pub(crate) fn measure() -> Vec<Row> {
    let environment = environment();
    let names = http_functions();
    println!("start: {} HTTP functions, {ROUNDS} rounds", names.len());
    let (mut all, mut empty_memory) = (Vec::new(), 0.0);
    for name in names {
        let (mut pairs, mut memory) = (Vec::new(), 0.0);
        for round in 0..=ROUNDS {
            let (limit, of_empty) = start(EMPTY, &environment);
            let (ours, of_function) = start(&name, &environment);
            // The first start reads the binary from the disk.
            if round > 0 {
                pairs.push(Pair { ours, limit });
                memory = of_function.max(memory);
                empty_memory = of_empty.max(empty_memory);
            }
        }
        let init: Vec<Duration> = pairs.iter().map(|pair| pair.ours).collect();
        let (init, megabytes) = (percentile(&init, 50), memory / 1e6);
        println!("  {name}: {init:.1?}, {megabytes:.1} MB");
        all.push(Measured {
            name,
            pairs,
            memory,
        });
    }
    rows(&all, empty_memory)
}

fn rows(all: &[Measured], empty_memory: f64) -> Vec<Row> {
    let known = all.iter().filter(|it| KNOWN.contains(&it.name.as_str()));
    let known: Vec<&Measured> = known.collect();
    let slowest = all.iter().max_by(|a, b| a.init().total_cmp(&b.init()));
    let largest = all.iter().max_by(|a, b| a.memory.total_cmp(&b.memory));
    let mut rows = Vec::new();
    for (of, function) in named(&known, slowest) {
        let what = format!("init of {of}");
        let goal = Goal::AtMost(3.0);
        rows.push(Row::times(
            PART,
            what,
            "an empty function",
            goal,
            &function.pairs,
        ));
    }
    for (of, function) in named(&known, largest) {
        let what = format!("memory after init of {of}");
        let goal = Goal::AtMost(10e6);
        rows.push(Row::figure(PART, what, Unit::Bytes, function.memory, goal));
    }
    let what = "memory after init of the empty function";
    rows.push(Row::figure(
        PART,
        what,
        Unit::Bytes,
        empty_memory,
        Goal::Told,
    ));
    // Without link-time optimisation, which makes all of them smaller by about the same part.
    let heaviest = all.iter().max_by_key(|it| size_of(&it.name));
    for (of, function) in named(&known, heaviest) {
        let what = format!("zip of {of}");
        let zip = zipped(&workspace().join(DEPLOYED).join(&function.name));
        rows.push(Row::figure(PART, what, Unit::Bytes, zip, Goal::AtMost(4e6)));
    }
    let what = "zip of the empty function, without link-time optimisation";
    let zip = zipped(&beside_the_tests().join(EMPTY));
    rows.push(Row::figure(PART, what, Unit::Bytes, zip, Goal::Told));
    rows
}

impl Measured {
    fn init(&self) -> f64 {
        let init: Vec<Duration> = self.pairs.iter().map(|pair| pair.ours).collect();
        percentile(&init, 50).as_secs_f64()
    }
}

/// The known ones by their names, and then the worst of all.
fn named<'a>(known: &[&'a Measured], worst: Option<&'a Measured>) -> Vec<(String, &'a Measured)> {
    let known = known.iter().map(|it| (it.name.clone(), *it));
    let worst = worst.map(|it| (format!("the worst HTTP function ({})", it.name), it));
    known.chain(worst).collect()
}

/// The functions that answer requests, as their `main.rs` says.
fn http_functions() -> Vec<String> {
    let folder = workspace().join("functions");
    let functions = fs::read_dir(&folder).expect("the folder of functions");
    let answers_requests = |folder: &Path| {
        let main = fs::read_to_string(folder.join("src/main.rs"));
        main.is_ok_and(|main| main.contains("http::serve"))
    };
    let functions = functions.flatten().map(|entry| entry.path());
    let functions = functions.filter(|folder| answers_requests(folder));
    let mut names: Vec<String> = functions
        .filter_map(|folder| Some(folder.file_name()?.to_str()?.to_owned()))
        .collect();
    names.sort_unstable();
    names
}

/// What functions have in their environment. The cloud that says so need not run any longer: nothing connects at start.
fn environment() -> BTreeMap<String, String> {
    let cloud = one_thread().block_on(LocalCloud::start(&[("WARMING_RATE", "0")]));
    cloud.environment()
}

/// How long it takes to start, and the bytes that it holds then.
fn start(name: &str, environment: &BTreeMap<String, String>) -> (Duration, f64) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound port").to_string();
    let mut command = Command::new(beside_the_tests().join(name));
    command
        .env_clear()
        .envs(environment)
        .env("AWS_LAMBDA_RUNTIME_API", address)
        .env("AWS_LAMBDA_FUNCTION_NAME", name)
        .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
        .env("AWS_LAMBDA_LOG_GROUP_NAME", name)
        .env("AWS_LAMBDA_LOG_STREAM_NAME", name)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let started = Instant::now();
    let mut child = command
        .spawn()
        .unwrap_or_else(|e| panic!("{name} does not start: {e}"));
    let (mut connection, _) = listener.accept().expect("a function that connects");
    let mut asked = [0; 64];
    let read = connection.read(&mut asked).expect("a question");
    let took = started.elapsed();
    let asked = String::from_utf8_lossy(&asked[..read]).into_owned();
    assert!(asked.contains("/invocation/next"), "{name} asks {asked}");
    let memory = high_water(child.id());
    let _ = child.kill();
    let _ = child.wait();
    (took, memory)
}

/// The most that a process has held so far.
fn high_water(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: Option<f64> =
        line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kilobytes.expect("a number of kilobytes") * 1_024.0
}

fn size_of(name: &str) -> u64 {
    let file = fs::metadata(beside_the_tests().join(name));
    file.map_or(0, |file| file.len())
}

fn zipped(binary: &Path) -> f64 {
    assert!(
        binary.exists(),
        "{} is missing: `make bench` builds it",
        binary.display()
    );
    let gzip = Command::new("gzip")
        .arg("--stdout")
        .arg(binary)
        .output()
        .expect("gzip is installed");
    assert!(gzip.status.success(), "gzip: {}", gzip.status);
    gzip.stdout.len() as f64
}
