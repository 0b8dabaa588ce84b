//! Small pieces that every table needs: attributes, rows, and reading many items at once.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeValue, DeleteRequest, KeysAndAttributes, PutRequest, TransactWriteItem, WriteRequest,
};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Error, Result};

pub(super) type Item = HashMap<String, AttributeValue>;

/// The most keys that one BatchGetItem takes.
const BATCH: usize = 100;
/// The most items that one BatchWriteItem takes.
const WRITE_BATCH: usize = 25;
/// Requests of [`put_all`] under way at once.
const CONCURRENCY: usize = 8;
const ATTEMPTS: u32 = 6;

/// Turns what the SDK reports into our error, keeping the chain of causes for the log.
pub(super) fn failed<E: StdError + Send + Sync + 'static>(
    operation: &'static str,
) -> impl FnOnce(E) -> Error {
    move |source| Error::Dynamo {
        operation,
        source: Box::new(source),
    }
}

pub(super) fn number(n: u64) -> AttributeValue {
    AttributeValue::N(n.to_string())
}

pub(super) fn signed(n: i64) -> AttributeValue {
    AttributeValue::N(n.to_string())
}

pub(super) fn string(s: impl Into<String>) -> AttributeValue {
    AttributeValue::S(s.into())
}

pub(super) fn to_item(row: &impl Serialize) -> Result<Item> {
    serde_dynamo::to_item(row).map_err(Error::unreadable("a row to write"))
}

pub(super) fn from_item<T: DeserializeOwned>(what: &'static str, item: Item) -> Result<T> {
    serde_dynamo::from_item(item).map_err(Error::unreadable(what))
}

/// The items with these keys, in no order; keys without an item are left out.
pub(super) async fn get_many(
    client: &Client,
    table: &str,
    keys: Vec<Item>,
    consistent: bool,
) -> Result<Vec<Item>> {
    let mut found = Vec::with_capacity(keys.len());
    for chunk in keys.chunks(BATCH) {
        let mut missing = chunk.to_vec();
        for attempt in 0.. {
            if missing.is_empty() {
                break;
            }
            if attempt == ATTEMPTS {
                return Err(Error::GaveUp("reading items in a batch"));
            }
            back_off(attempt).await;
            let request = KeysAndAttributes::builder()
                .set_keys(Some(missing))
                .consistent_read(consistent)
                .build();
            let answer = client
                .batch_get_item()
                .request_items(table, request.map_err(failed("BatchGetItem"))?)
                .send()
                .await
                .map_err(failed("BatchGetItem"))?;
            found.extend(
                answer
                    .responses
                    .unwrap_or_default()
                    .remove(table)
                    .unwrap_or_default(),
            );
            let unprocessed = answer.unprocessed_keys.unwrap_or_default().remove(table);
            missing = unprocessed.map(|request| request.keys).unwrap_or_default();
        }
    }
    Ok(found)
}

/// Deletes items, each given by its table and key. What is not there is deleted already.
pub(super) async fn delete_many(client: &Client, keys: Vec<(String, Item)>) -> Result<()> {
    let delete = |key: Item| {
        let delete = DeleteRequest::builder().set_key(Some(key)).build();
        let delete = delete.map_err(failed("BatchWriteItem"))?;
        Ok(WriteRequest::builder().delete_request(delete).build())
    };
    write_many(client, keys, delete).await
}

/// Puts items, each given with its table, whatever was there before.
pub(super) async fn put_many(client: &Client, items: Vec<(String, Item)>) -> Result<()> {
    let put = |item: Item| {
        let put = PutRequest::builder().set_item(Some(item)).build();
        let put = put.map_err(failed("BatchWriteItem"))?;
        Ok(WriteRequest::builder().put_request(put).build())
    };
    write_many(client, items, put).await
}

/// Puts many items of one table, each under another key: several requests at a time, and in no order.
pub(super) async fn put_all(client: &Client, table: &str, items: Vec<Item>) -> Result<()> {
    let batches = items.chunks(WRITE_BATCH).map(|items| {
        let items = items.iter().map(|item| (table.to_owned(), item.clone()));
        put_many(client, items.collect())
    });
    let batches: Vec<_> = batches.collect();
    stream::iter(batches)
        .buffer_unordered(CONCURRENCY)
        .try_collect()
        .await
}

async fn write_many(
    client: &Client,
    items: Vec<(String, Item)>,
    request: impl Fn(Item) -> Result<WriteRequest>,
) -> Result<()> {
    for chunk in items.chunks(WRITE_BATCH) {
        let mut missing: HashMap<String, Vec<WriteRequest>> = HashMap::new();
        for (table, item) in chunk {
            let requests = missing.entry(table.clone()).or_default();
            requests.push(request(item.clone())?);
        }
        for attempt in 0.. {
            if missing.is_empty() {
                break;
            }
            if attempt == ATTEMPTS {
                return Err(Error::GaveUp("writing items in a batch"));
            }
            back_off(attempt).await;
            let answer = client
                .batch_write_item()
                .set_request_items(Some(missing))
                .send()
                .await
                .map_err(failed("BatchWriteItem"))?;
            missing = answer.unprocessed_items.unwrap_or_default();
        }
    }
    Ok(())
}

/// Waits before a repeated attempt: not at all before the first, then longer each time, never in step with others.
pub(super) async fn back_off(attempt: u32) {
    if attempt > 0 {
        let most = 20_u64 << attempt.min(6);
        tokio::time::sleep(Duration::from_millis(fastrand::u64(most / 2..=most))).await;
    }
}

/// Changes an item if the update's condition holds. `false` if it does not.
pub(super) async fn update_if(update: UpdateItemFluentBuilder) -> Result<bool> {
    match update.send().await {
        Ok(_) => Ok(true),
        Err(error)
            if error
                .as_service_error()
                .is_some_and(UpdateItemError::is_conditional_check_failed_exception) =>
        {
            Ok(false)
        }
        Err(error) => Err(failed("UpdateItem")(error)),
    }
}

/// The reason that a transaction gives for an item whose condition did not hold.
pub(super) const CONDITION_FAILED: &str = "ConditionalCheckFailed";

/// Why each item of a cancelled transaction was refused ("None" if it was not); `None` for any other failure.
pub(super) fn cancellation<R>(error: &SdkError<TransactWriteItemsError, R>) -> Option<Vec<String>> {
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
        error.as_service_error()
    else {
        return None;
    };
    Some(
        cancelled
            .cancellation_reasons()
            .iter()
            .map(|reason| reason.code().unwrap_or("None").to_owned())
            .collect(),
    )
}

/// Writes all of it or nothing. A condition that fails means that the work was done before. Says whether it was written
/// now.
pub(super) async fn write_once(
    client: &Client,
    writes: Vec<TransactWriteItem>,
    what: &'static str,
) -> Result<bool> {
    let refusals = write_or_refusals(client, writes, what).await?;
    Ok(refusals.is_none())
}

/// Writes all of it or nothing. If a condition fails, gives for each write the reason why it was refused, see
/// [`cancellation`]. Another transaction in the way means try again.
///
/// The SDK gives every attempt of one call the same token. So if an answer is lost and the SDK asks again, it hears that it
/// was written, not that a condition failed.
pub(super) async fn write_or_refusals(
    client: &Client,
    writes: Vec<TransactWriteItem>,
    what: &'static str,
) -> Result<Option<Vec<String>>> {
    for attempt in 0..ATTEMPTS {
        back_off(attempt).await;
        let answer = client
            .transact_write_items()
            .set_transact_items(Some(writes.clone()))
            .send()
            .await;
        let Err(error) = answer else {
            return Ok(None);
        };
        match cancellation(&error) {
            Some(reasons) if reasons.iter().any(|reason| reason == CONDITION_FAILED) => {
                return Ok(Some(reasons));
            }
            Some(_) => {}
            None => return Err(failed("TransactWriteItems")(error)),
        }
    }
    Err(Error::GaveUp(what))
}
