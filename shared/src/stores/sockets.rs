//! The other end of connections for live updates: API Gateway, which sends what it is given.

use aws_sdk_apigatewaymanagement::error::SdkError;
use aws_sdk_apigatewaymanagement::operation::delete_connection::DeleteConnectionError;
use aws_sdk_apigatewaymanagement::operation::post_to_connection::PostToConnectionError;
use aws_sdk_apigatewaymanagement::primitives::Blob;
use aws_sdk_apigatewaymanagement::{Client, config};

use crate::domain::live::ToClient;
use crate::platform::Roost;
use crate::{Error, Result};

#[derive(Clone)]
pub struct Sockets {
    client: Client,
}

impl Sockets {
    pub fn new(roost: &Roost) -> Result<Self> {
        let url = roost.config.live_management_url()?;
        Ok(Self {
            client: roost.aws.api_gateway(&url),
        })
    }

    /// `false` if nobody is there any more.
    pub async fn send(&self, connection_id: &str, message: &ToClient) -> Result<bool> {
        let text = serde_json::to_vec(message).map_err(Error::unreadable("a message to write"))?;
        let post = self
            .client
            .post_to_connection()
            .connection_id(connection_id)
            .data(Blob::new(text));
        match post.send().await {
            Ok(_) => Ok(true),
            Err(error) if is_gone(&error, PostToConnectionError::is_gone_exception) => Ok(false),
            Err(error) => Err(failed("PostToConnection", error)),
        }
    }

    /// Ends a connection, if it has not ended by itself.
    pub async fn close(&self, connection_id: &str) -> Result<()> {
        let delete = self.client.delete_connection().connection_id(connection_id);
        match delete.send().await {
            Ok(_) => Ok(()),
            Err(error) if is_gone(&error, DeleteConnectionError::is_gone_exception) => Ok(()),
            Err(error) => Err(failed("DeleteConnection", error)),
        }
    }
}

/// An id that is not one any more is answered with 410, and one that never was with 400.
fn is_gone<E>(
    error: &SdkError<E, config::http::HttpResponse>,
    is_gone: impl Fn(&E) -> bool,
) -> bool {
    let status = error
        .raw_response()
        .map(|response| response.status().as_u16());
    error.as_service_error().is_some_and(is_gone) || matches!(status, Some(400 | 410))
}

fn failed<E: std::error::Error + Send + Sync + 'static>(
    operation: &'static str,
    source: E,
) -> Error {
    Error::ApiGateway {
        operation,
        source: Box::new(source),
    }
}
