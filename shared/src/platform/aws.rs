//! The AWS clients of one sandbox. They share their configuration and connect on first use.

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};

#[derive(Clone)]
pub struct Aws {
    config: SdkConfig,
}

impl Aws {
    pub async fn from_env() -> Self {
        // Well under every function's own timeout, so that a slow call ends in an error that is logged and retried.
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(1))
            .operation_attempt_timeout(Duration::from_secs(3))
            .operation_timeout(Duration::from_secs(8))
            .build();
        Self {
            config: aws_config::defaults(BehaviorVersion::latest())
                .timeout_config(timeouts)
                .load()
                .await,
        }
    }

    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::new(&self.config)
    }

    pub fn kinesis(&self) -> aws_sdk_kinesis::Client {
        aws_sdk_kinesis::Client::new(&self.config)
    }

    /// For the connections of one WebSocket API, whose address is part of its name.
    pub fn api_gateway(&self, url: &str) -> aws_sdk_apigatewaymanagement::Client {
        let config = aws_sdk_apigatewaymanagement::config::Builder::from(&self.config);
        let config = config.endpoint_url(url).build();
        aws_sdk_apigatewaymanagement::Client::from_conf(config)
    }
}

/// For tests: clients that do not depend on the environment.
impl From<SdkConfig> for Aws {
    fn from(config: SdkConfig) -> Self {
        Self { config }
    }
}
