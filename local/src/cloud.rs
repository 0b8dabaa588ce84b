//! The whole: starts every service in the order of need, says so, and ends everything it started.

mod ready;

use std::collections::BTreeMap;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::{Config, Port};
use crate::data::{DynamoDb, Kinesis, Redis};
use crate::error::StartError;
use crate::http_api::{self, Gateway, Page, Ready, Services};
use crate::jwt::Issuer;
use crate::lambda::{Lambda, serve_invoke_api};
use crate::net::allow_many_connections;
use crate::output::{self, say};
use crate::template::{Machine, REGION, Stack, Template};
use crate::websocket_api::{self, ACCESS_KEY, WebSocketGateway};
use crate::{event_source, schedule};

/// The audience of local tokens unless `JWT_AUDIENCE` says otherwise.
const AUDIENCE: &str = "roost";
/// The secret that holds the URL of the Redis that is started here.
const REDIS_URL_SECRET: &str = "arn:aws:secretsmanager:us-east-1:000000000000:secret:redis-url";
/// Passed on from this process's environment to the functions.
const PASSED_ON: [&str; 4] = ["PATH", "HOME", "RUST_LOG", "RUST_BACKTRACE"];

const ENDPOINTS: &str = "endpoints.json";
const PARENT_POLL: Duration = Duration::from_millis(500);

struct Urls {
    http: String,
    dynamodb: String,
    kinesis: String,
    redis: String,
    lambda: String,
    websocket: String,
}

/// The ports, open before there is a service behind them, so that every URL is known when the template is resolved.
struct Listeners {
    http: TcpListener,
    dynamodb: TcpListener,
    kinesis: TcpListener,
    invoke: TcpListener,
    websocket: TcpListener,
}

/// Starts the system and runs it until it is told to stop.
pub(crate) async fn run(config: Config) -> Result<(), StartError> {
    let started = Instant::now();
    output::set_verbose(config.verbose);
    allow_many_connections();
    let stop = StopSignals::listen()?;
    let template = Template::read(&config.template)?;
    prepare_state(&config.state)?;
    let (http, http_port) = listen(config.http).await?;
    let (dynamodb, dynamodb_port) = listen(config.dynamodb).await?;
    let (kinesis, kinesis_port) = listen(config.kinesis).await?;
    let (invoke, lambda_port) = listen(config.lambda).await?;
    let (websocket, websocket_port) = listen(config.websocket).await?;
    let listeners = Listeners {
        http,
        dynamodb,
        kinesis,
        invoke,
        websocket,
    };
    let redis = Redis::start(config.redis).await?;
    let urls = Urls {
        http: format!("http://127.0.0.1:{http_port}"),
        dynamodb: format!("http://127.0.0.1:{dynamodb_port}"),
        kinesis: format!("http://127.0.0.1:{kinesis_port}"),
        redis: format!("redis://127.0.0.1:{}", redis.port),
        lambda: format!("http://127.0.0.1:{lambda_port}"),
        // A name as at AWS: browsers take pages and sockets of localhost for neighbours.
        websocket: format!("ws://localhost:{websocket_port}"),
    };
    let ended = operate(
        &config, &template, listeners, &urls, redis.port, stop, started,
    )
    .await;
    redis.stop().await;
    ended
}

/// Everything between the start of Redis and its end.
async fn operate(
    config: &Config,
    template: &Template,
    listeners: Listeners,
    urls: &Urls,
    redis_port: u16,
    mut stop: StopSignals,
    started: Instant,
) -> Result<(), StartError> {
    let gateway = Ready::default();
    tokio::spawn(http_api::serve(listeners.http, Arc::clone(&gateway)));
    let audience = variable("JWT_AUDIENCE").unwrap_or_else(|| AUDIENCE.to_owned());
    let origins = variable("CORS_ORIGINS").unwrap_or_else(|| http_api::LOCAL_ORIGINS.to_owned());
    let given = BTreeMap::from([
        ("CorsOrigins", origins),
        ("RedisUrlSecretArn", REDIS_URL_SECRET.to_owned()),
        ("JwtIssuer", urls.http.clone()),
        ("JwtAudience", audience.clone()),
    ]);
    let machine = Machine {
        secrets: BTreeMap::from([(REDIS_URL_SECRET.to_owned(), urls.redis.clone())]),
        websocket_url: urls.websocket.clone(),
    };
    let stack = template.resolve(&given, machine, variable)?;
    // Functions behind a route have something to say only if there is trouble, unless all is shown.
    let writers = stack
        .functions
        .iter()
        .filter(|function| config.verbose || function.routes.is_empty());
    let widths = writers.map(|function| function.binary.len());
    output::set_name_width(widths.max().unwrap_or(5));

    let issuer_url = urls.http.clone();
    let issuer = tokio::task::spawn_blocking(move || Issuer::new(issuer_url, audience));
    let environment = service_environment(urls);
    let lambda = Arc::new(Lambda::start(&stack.functions, &config.binaries, &environment).await?);
    let dynamodb = DynamoDb::start(listeners.dynamodb, &stack.tables)?;
    let kinesis = Kinesis::start(listeners.kinesis, &stack.streams).await?;
    let issuer = issuer
        .await
        .map_err(|error| StartError::Issuer(error.to_string()))??;

    tokio::spawn(serve_invoke_api(listeners.invoke, Arc::clone(&lambda)));
    let sockets = stack
        .websocket_api
        .as_ref()
        .map(|api| Arc::new(WebSocketGateway::new(api, &lambda)));
    tokio::spawn(websocket_api::serve(listeners.websocket, sockets));
    start_event_sources(&stack, &lambda, &dynamodb, &kinesis, config)?;
    write_state(&config.state, urls, &stack, &environment)?;
    let page = Page::new(config.web.clone());
    let has_page = page.exists();
    let services = Services {
        issuer,
        lambda: Arc::clone(&lambda),
        endpoints: urls.as_json(),
        page,
        database: dynamodb.database.clone(),
        redis_port,
    };
    // Nobody else sets it.
    let _ = gateway.set(Gateway::new(&stack, services));
    let took = started.elapsed();
    output::show(&ready::message(urls, has_page, &config.state, took));

    stop.received().await;
    say("stopping");
    lambda.stop().await;
    Ok(())
}

fn start_event_sources(
    stack: &Stack,
    lambda: &Lambda,
    dynamodb: &DynamoDb,
    kinesis: &Kinesis,
    config: &Config,
) -> Result<(), StartError> {
    for declared in &stack.functions {
        let Some(function) = lambda.function(&declared.logical_id) else {
            continue;
        };
        for mapping in &declared.event_sources {
            let (state, polls) = (&config.state, config.lambda_polling);
            event_source::start(function, mapping, dynamodb, kinesis, state, polls)
                .map_err(StartError::DynamoDb)?;
        }
        for one in &declared.schedules {
            schedule::start(function, one.clone());
        }
    }
    Ok(())
}

impl Urls {
    fn as_json(&self) -> Value {
        json!({
            "http": self.http,
            "dynamodb": self.dynamodb,
            "kinesis": self.kinesis,
            "redis": self.redis,
            "lambda": self.lambda,
            "websocket": self.websocket,
        })
    }
}

/// What every function finds in its environment: where the services are, and credentials. Only the API that sends to
/// WebSocket connections looks at those.
fn service_environment(urls: &Urls) -> BTreeMap<String, String> {
    let mut environment: BTreeMap<String, String> = PASSED_ON
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), variable(name)?)))
        .collect();
    // Somebody who counts what functions ask stands in between.
    let between = |name: &str, url: &str| variable(name).unwrap_or_else(|| url.to_owned());
    let services = [
        (
            "AWS_ENDPOINT_URL_DYNAMODB",
            between("FUNCTIONS_DYNAMODB_URL", &urls.dynamodb),
        ),
        (
            "AWS_ENDPOINT_URL_KINESIS",
            between("FUNCTIONS_KINESIS_URL", &urls.kinesis),
        ),
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "local".to_owned()),
        ("AWS_REGION", REGION.to_owned()),
        ("AWS_DEFAULT_REGION", REGION.to_owned()),
    ];
    environment.extend(services.map(|(name, value)| (name.to_owned(), value)));
    environment
}

/// The state folder, without the endpoints of an earlier run: a test that waits for the file must not find those.
fn prepare_state(state: &Path) -> Result<(), StartError> {
    let _ = std::fs::remove_file(state.join(ENDPOINTS));
    std::fs::create_dir_all(state).map_err(|source| StartError::StateDirectory {
        path: state.to_owned(),
        source,
    })
}

/// `endpoints.json` for tests and scripts, `env` for `cargo lambda watch --env-file`.
fn write_state(
    state: &Path,
    urls: &Urls,
    stack: &Stack,
    environment: &BTreeMap<String, String>,
) -> Result<(), StartError> {
    let mut all = environment.clone();
    all.retain(|name, _| !PASSED_ON.contains(&name.as_str()));
    all.extend(
        stack
            .functions
            .iter()
            .flat_map(|function| function.environment.clone()),
    );
    let lines: String = all
        .iter()
        .map(|(name, value)| line_of_env(name, value))
        .collect();
    let mut endpoints = urls.as_json();
    endpoints["pid"] = json!(std::process::id());
    let unfinished = state.join(".endpoints.json");
    std::fs::write(state.join("env"), lines)
        .and_then(|()| std::fs::write(&unfinished, endpoints.to_string()))
        .and_then(|()| std::fs::rename(&unfinished, state.join(ENDPOINTS)))
        .map_err(|source| StartError::StateDirectory {
            path: state.to_owned(),
            source,
        })
}

/// In quotes, because `cargo lambda watch` refuses a value with an equals sign otherwise, and some parameters have several.
fn line_of_env(name: &str, value: &str) -> String {
    format!("{name}='{value}'\n")
}

async fn listen(port: Port) -> Result<(TcpListener, u16), StartError> {
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::AddrInUse => StartError::PortTaken {
            port: port.number,
            variable: port.variable,
        },
        _ => StartError::Listen {
            port: port.number,
            variable: port.variable,
            source,
        },
    };
    let listener = TcpListener::bind(("127.0.0.1", port.number))
        .await
        .map_err(failed)?;
    let chosen = listener.local_addr().map_err(failed)?.port();
    Ok((listener, chosen))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// What ends the system: Ctrl-C, SIGTERM and, for tests, the end of the process that started it.
struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    parent: Option<u32>,
}

impl StopSignals {
    fn listen() -> Result<Self, StartError> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(StartError::Signals)?,
            terminate: signal(SignalKind::terminate()).map_err(StartError::Signals)?,
            parent: variable("ROOST_STOP_WITH_PARENT").map(|_| parent_id()),
        })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = parent_ended(self.parent) => {}
        }
    }
}

/// A test run that is killed cannot stop this process. But then this process gets another parent, which can be seen.
async fn parent_ended(parent: Option<u32>) {
    let Some(parent) = parent else {
        return std::future::pending().await;
    };
    while parent_id() == parent {
        tokio::time::sleep(PARENT_POLL).await;
    }
}
