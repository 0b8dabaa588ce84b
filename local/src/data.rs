//! The services that hold data: DynamoDB and Kinesis embedded in this process behind their real HTTP APIs, Redis as a
//! child process. All are empty at every start.

mod dynamodb;
mod kinesis;
mod redis;

pub(crate) use self::dynamodb::DynamoDb;
pub(crate) use self::kinesis::Kinesis;
pub(crate) use self::redis::{Redis, flush};
