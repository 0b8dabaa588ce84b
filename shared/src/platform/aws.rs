//! The AWS clients of one sandbox. They share their configuration, and connect on first use.
//!
//! A cold start waits for all that is made here, so it is kept small:
//! - There is one client of each kind, however many stores ask for it.
//! - Region and credentials are those of the environment, where Lambda puts them. The places where a laptop or a container
//!   would look for them are not linked into functions.
//! - All clients share their connections. The authorities that may sign a server's certificate are read by the first call,
//!   once for all. The SDK would read them for every client, also if the request needs nothing but Redis.

use std::env;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::timeout::TimeoutConfig;
use aws_config::{AppName, BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{HttpClient, SharedCredentialsProvider, SharedHttpClient};
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::http_client_fn;

#[derive(Clone)]
pub struct Aws {
    config: SdkConfig,
    /// Where the services are, if they are not AWS' own.
    dynamodb_url: Option<String>,
    kinesis_url: Option<String>,
    dynamodb: Arc<OnceLock<aws_sdk_dynamodb::Client>>,
    kinesis: Arc<OnceLock<aws_sdk_kinesis::Client>>,
}

impl Aws {
    pub fn from_env() -> Self {
        // Well under every function's own timeout, so that a slow call ends in an error that is logged and retried.
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(1))
            .operation_attempt_timeout(Duration::from_secs(3))
            .operation_timeout(Duration::from_secs(8))
            .build();
        let credentials = EnvironmentVariableCredentialsProvider::new();
        let mut config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(env::var("AWS_REGION").ok().map(Region::new))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .http_client(http_client())
            .timeout_config(timeouts);
        config.set_app_name(app_name());
        Self {
            dynamodb_url: url_of("DYNAMODB"),
            kinesis_url: url_of("KINESIS"),
            ..Self::from(config.build())
        }
    }

    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        let client = || {
            let mut config = aws_sdk_dynamodb::config::Builder::from(&self.config);
            if self.dynamodb_url.is_some() {
                config.set_endpoint_url(self.dynamodb_url.clone());
            }
            aws_sdk_dynamodb::Client::from_conf(config.build())
        };
        self.dynamodb.get_or_init(client).clone()
    }

    pub fn kinesis(&self) -> aws_sdk_kinesis::Client {
        let client = || {
            let mut config = aws_sdk_kinesis::config::Builder::from(&self.config);
            if self.kinesis_url.is_some() {
                config.set_endpoint_url(self.kinesis_url.clone());
            }
            aws_sdk_kinesis::Client::from_conf(config.build())
        };
        self.kinesis.get_or_init(client).clone()
    }

    /// For the connections of one WebSocket API, whose address is part of its name.
    pub fn api_gateway(&self, url: &str) -> aws_sdk_apigatewaymanagement::Client {
        let config = aws_sdk_apigatewaymanagement::config::Builder::from(&self.config);
        let config = config.endpoint_url(url).build();
        aws_sdk_apigatewaymanagement::Client::from_conf(config)
    }
}

/// Also for tests: clients that do not depend on the environment.
impl From<SdkConfig> for Aws {
    fn from(config: SdkConfig) -> Self {
        Self {
            config,
            dynamodb_url: None,
            kinesis_url: None,
            dynamodb: Arc::default(),
            kinesis: Arc::default(),
        }
    }
}

/// The environment says where a service is if it is not AWS' own, as in the local cloud.
fn url_of(service: &str) -> Option<String> {
    let of_service = env::var(format!("AWS_ENDPOINT_URL_{service}"));
    of_service.or_else(|_| env::var("AWS_ENDPOINT_URL")).ok()
}

/// What requests say of their sender. The SDK reads it only where it searches for its configuration itself.
fn app_name() -> Option<AppName> {
    let name = env::var("AWS_SDK_UA_APP_ID").ok()?;
    AppName::new(name).ok()
}

fn http_client() -> SharedHttpClient {
    let client = aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
        .build_https();
    // The SDK prepares a client of its own once more for each service, unless it is wrapped.
    http_client_fn(move |settings, components| client.http_connector(settings, components))
}
