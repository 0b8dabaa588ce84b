//! WebSockets: from API Gateway's event to a handler, and back.
//!
//! The user on the other end is known since the connection was opened: the authorizer put the user's id into the context
//! of the connection, and API Gateway hands it to every function. Nothing that a client sends says who they are.

use lambda_runtime::{LambdaEvent, service_fn};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Exit;
use super::guard::guarded;
use crate::domain::UserId;
use crate::domain::live::ToClient;
use crate::platform::{Roost, metrics};
use crate::{Error, Result};

/// What happened on a connection.
pub struct Call {
    pub user: UserId,
    pub connection_id: String,
    /// What the client sent.
    pub text: String,
}

/// What happens when a connection is opened or closed, or when a client says something.
pub trait SocketHandler: Sized {
    fn new(roost: &Roost) -> Result<Self>;

    /// Gives what to say to the client, if anything.
    fn handle(&self, call: &Call) -> impl Future<Output = Result<Option<ToClient>>>;
}

/// Decides who may open a connection.
pub trait Authorizer: Sized {
    fn new(roost: &Roost) -> Result<Self>;

    /// The user whose ticket this is, if it is good.
    fn user(&self, ticket: &str) -> impl Future<Output = Result<Option<UserId>>>;
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    request_context: Context,
    #[serde(default)]
    body: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    connection_id: String,
    authorizer: Authorized,
}

/// What [`policy`] put there.
#[derive(Deserialize)]
struct Authorized {
    user_id: UserId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    method_arn: String,
    query_string_parameters: Option<Query>,
}

#[derive(Default, Deserialize)]
struct Query {
    #[serde(default)]
    ticket: String,
}

/// What API Gateway makes of a function's result.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    status_code: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

/// Runs a function behind the WebSocket API.
pub async fn serve<H: SocketHandler>() -> Exit {
    let handler = H::new(&Roost::start().await?)?;
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Value>| {
        let result = async { handler.handle(&read(event.payload)?).await };
        let answer = answer(guarded(result).await);
        metrics::flush();
        Ok::<_, lambda_runtime::Error>(answer)
    }))
    .await
}

/// Runs the function that decides who may connect.
pub async fn serve_authorizer<A: Authorizer>() -> Exit {
    let authorizer = A::new(&Roost::start().await?)?;
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Value>| {
        let decided = async { decide(&authorizer, event.payload).await };
        let decided = guarded(decided).await;
        metrics::flush();
        // Never the event itself: it holds the ticket.
        decided.map_err(|error| {
            tracing::error!(error = error.chain(), "nobody could be let in");
            lambda_runtime::Error::from(error)
        })
    }))
    .await
}

async fn decide(authorizer: &impl Authorizer, event: Value) -> Result<Value> {
    let question: Question =
        serde_json::from_value(event).map_err(Error::unreadable("a question who may connect"))?;
    let ticket = question.query_string_parameters.unwrap_or_default().ticket;
    let user = authorizer.user(&ticket).await?;
    Ok(policy(&question.method_arn, user))
}

/// What API Gateway understands: may this connection be opened, and for whom.
fn policy(method_arn: &str, user: Option<UserId>) -> Value {
    let effect = if user.is_some() { "Allow" } else { "Deny" };
    let statement =
        json!({ "Action": "execute-api:Invoke", "Effect": effect, "Resource": method_arn });
    let document = json!({ "Version": "2012-10-17", "Statement": [statement] });
    match user {
        Some(user) => json!({
            "principalId": user,
            "policyDocument": document,
            "context": { "user_id": user },
        }),
        None => json!({ "principalId": "nobody", "policyDocument": document }),
    }
}

fn read(event: Value) -> Result<Call> {
    let event: Event =
        serde_json::from_value(event).map_err(Error::unreadable("an event of a connection"))?;
    Ok(Call {
        user: event.request_context.authorizer.user_id,
        connection_id: event.request_context.connection_id,
        text: event.body.unwrap_or_default(),
    })
}

/// What is ours stays in the log.
fn answer(result: Result<Option<ToClient>>) -> Answer {
    let status_code = match result {
        Ok(message) => {
            let body = message.and_then(|message| serde_json::to_string(&message).ok());
            return Answer {
                status_code: 200,
                body,
            };
        }
        Err(Error::NoProfile) => 403,
        Err(error) => {
            tracing::error!(error = error.chain(), "connection failed");
            500
        }
    };
    Answer {
        status_code,
        body: None,
    }
}

/// For tests of handlers.
pub mod test {
    use super::{Call, Value, read};

    /// An event of `events/`, as a handler gets it.
    pub fn call(event: &str) -> Call {
        let event: Value = serde_json::from_str(event).unwrap_or_default();
        read(event).unwrap_or_else(|error| panic!("{}", error.chain()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct OnlySeven;

    impl Authorizer for OnlySeven {
        fn new(_: &Roost) -> Result<Self> {
            Ok(Self)
        }

        async fn user(&self, ticket: &str) -> Result<Option<UserId>> {
            Ok((ticket == "seven").then(|| UserId::new(7)))
        }
    }

    #[tokio::test]
    async fn only_the_owner_of_a_ticket_is_let_in() {
        let ask = async |query: Value| {
            let event = json!({ "methodArn": "arn:live", "queryStringParameters": query });
            decide(&OnlySeven, event).await.expect("a decision")
        };
        let allowed = ask(json!({ "ticket": "seven" })).await;
        assert_eq!(allowed["context"]["user_id"], "7");
        let statement = &allowed["policyDocument"]["Statement"][0];
        assert_eq!(
            (&statement["Effect"], &statement["Resource"]),
            (&json!("Allow"), &json!("arn:live"))
        );
        for query in [json!({ "ticket": "eight" }), json!({})] {
            let denied = ask(query).await;
            assert_eq!(denied["policyDocument"]["Statement"][0]["Effect"], "Deny");
            assert!(denied.get("context").is_none());
        }
    }

    #[test]
    fn what_goes_wrong_is_a_status_and_nothing_else() {
        let status = |result| answer(result).status_code;
        assert_eq!(status(Ok(None)), 200);
        assert_eq!(status(Err(Error::NoProfile)), 403);
        let failed = answer(Err(Error::GaveUp("a secret")));
        assert_eq!((failed.status_code, failed.body), (500, None));
    }
}
