//! The AWS clients of one sandbox. They share their configuration and connect on first use.
//!
//! There is one client of each kind, however many stores ask for it: to make one takes a good part of a millisecond, which
//! every cold start would pay for every store.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};

#[derive(Clone)]
pub struct Aws {
    config: SdkConfig,
    dynamodb: Arc<OnceLock<aws_sdk_dynamodb::Client>>,
    kinesis: Arc<OnceLock<aws_sdk_kinesis::Client>>,
}

impl Aws {
    pub async fn from_env() -> Self {
        // Well under every function's own timeout, so that a slow call ends in an error that is logged and retried.
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(1))
            .operation_attempt_timeout(Duration::from_secs(3))
            .operation_timeout(Duration::from_secs(8))
            .build();
        let config = aws_config::defaults(BehaviorVersion::latest());
        Self::from(config.timeout_config(timeouts).load().await)
    }

    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        let client = || aws_sdk_dynamodb::Client::new(&self.config);
        self.dynamodb.get_or_init(client).clone()
    }

    pub fn kinesis(&self) -> aws_sdk_kinesis::Client {
        let client = || aws_sdk_kinesis::Client::new(&self.config);
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
            dynamodb: Arc::default(),
            kinesis: Arc::default(),
        }
    }
}
