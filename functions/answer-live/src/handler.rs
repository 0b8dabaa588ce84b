use shared::domain::TweetId;
use shared::domain::live::{FromClient, ToClient};
use shared::flows::live::Listening;
use shared::platform::now_millis;
use shared::runtime::socket::{Call, SocketHandler};
use shared::stores::notices::Notice;
use shared::stores::rate_limits::Kind;
use shared::stores::{Connections, Notices, RateLimits};
use shared::{Result, Roost};

pub(crate) struct AnswerLive {
    connections: Connections,
    notices: Notices,
    listening: Listening,
    limits: RateLimits,
}

impl SocketHandler for AnswerLive {
    fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            connections: Connections::new(roost)?,
            notices: Notices::new(roost)?,
            listening: Listening::new(roost)?,
            limits: RateLimits::new(roost)?,
        })
    }

    async fn handle(&self, call: &Call) -> Result<Option<ToClient>> {
        // A budget of its own: what an app says in the background must not keep its user from posting.
        let budget = format!("live:{}", call.user);
        let verdict = self.limits.take(&budget, Kind::Write).await;
        if verdict.is_some_and(|verdict| !verdict.allowed) {
            return Ok(Some(error("too many messages; wait some seconds")));
        }
        Ok(match FromClient::parse(&call.text) {
            Ok(FromClient::Ping) => {
                self.still_there(call).await;
                Some(ToClient::Pong)
            }
            Ok(FromClient::Seen(newest)) => match self.seen(call, newest).await {
                Ok(()) => None,
                Err(failed) => {
                    tracing::error!(error = failed.chain(), "what a client saw is not noted");
                    Some(error("that was not noted; say it again"))
                }
            },
            Err(detail) => Some(error(detail)),
        })
    }
}

impl AnswerLive {
    async fn seen(&self, call: &Call, newest: TweetId) -> Result<()> {
        self.connections
            .seen(call.user, &call.connection_id, newest)
            .await?;
        // What is newer than that is told soon.
        let notice = Notice::new(call.user, now_millis());
        self.notices.put(&[notice]).await
    }

    /// A pong says that the connection works, whatever Redis does.
    async fn still_there(&self, call: &Call) {
        if let Err(error) = self.listening.go_on(call.user).await {
            tracing::warn!(error = error.chain(), "a listener was not renewed");
        }
    }
}

fn error(detail: &str) -> ToClient {
    ToClient::Error {
        detail: detail.to_owned(),
    }
}
