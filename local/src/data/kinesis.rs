//! Kinesis, by ferrokinesis: an in-memory store behind the real HTTP API.
//!
//! ferrokinesis 0.7 gives a record its sequence number first and stores it later, so of two writers the second may be
//! stored first, and a reader that has passed it never sees the other one. Kinesis does not lose records that way:
//! here writers take turns.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ferrokinesis::actions::{Operation, dispatch};
use ferrokinesis::store::{Store, StoreOptions};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, watch};

use crate::error::StartError;
use crate::net::without_delay;
use crate::template::{ACCOUNT, REGION, Stream};

/// PutRecords takes 500 records and 10 MiB at most, here in base64.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

pub(crate) struct Kinesis {
    pub(crate) store: Store,
    /// Changes after every write.
    pub(crate) written: watch::Sender<u64>,
    shard_counts: BTreeMap<String, u32>,
}

#[derive(Clone)]
struct Writers {
    turn: Arc<Mutex<()>>,
    written: watch::Sender<u64>,
}

impl Kinesis {
    /// Serves on `listener` with the template's streams in place.
    pub(crate) async fn start(
        listener: TcpListener,
        streams: &[Stream],
    ) -> Result<Self, StartError> {
        let (router, store) = ferrokinesis::create_app(StoreOptions {
            create_stream_ms: 0,
            shard_limit: 10_000,
            retention_check_interval_secs: 60,
            aws_account_id: ACCOUNT.to_owned(),
            aws_region: REGION.to_owned(),
            ..StoreOptions::default()
        });
        let mut shard_counts = BTreeMap::new();
        for stream in streams {
            let request = json!({"StreamName": stream.name, "ShardCount": stream.shard_count});
            dispatch(&store, Operation::CreateStream, request)
                .await
                .map_err(|error| StartError::Kinesis(format!("{}: {error:?}", stream.name)))?;
            shard_counts.insert(
                stream.name.clone(),
                u32::try_from(stream.shard_count).unwrap_or(1),
            );
        }
        let written = watch::Sender::new(0);
        let writers = Writers {
            turn: Arc::default(),
            written: written.clone(),
        };
        let router = router.layer(axum::middleware::from_fn_with_state(writers, write_in_turn));
        tokio::spawn(async move { axum::serve(without_delay(listener), router).await });
        let kinesis = Self {
            store,
            written,
            shard_counts,
        };
        kinesis.wait_until_active().await;
        Ok(kinesis)
    }

    pub(crate) fn shard_count(&self, stream: &str) -> u32 {
        self.shard_counts.get(stream).copied().unwrap_or_default()
    }

    /// Streams are created in the background.
    async fn wait_until_active(&self) {
        for stream in self.shard_counts.keys() {
            while self
                .store
                .get_stream(stream)
                .await
                .is_ok_and(|stream| stream.shards.is_empty())
            {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        }
    }
}

async fn write_in_turn(State(writers): State<Writers>, request: Request, next: Next) -> Response {
    let target = request
        .headers()
        .get("x-amz-target")
        .and_then(|target| target.to_str().ok())
        .unwrap_or_default();
    if !target.ends_with(".PutRecord") && !target.ends_with(".PutRecords") {
        return next.run(request).await;
    }
    // Read to the end first: a slow sender must not hold up the others.
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY_BYTES).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let response = {
        let _turn = writers.turn.lock().await;
        next.run(Request::from_parts(parts, Body::from(body))).await
    };
    writers.written.send_modify(|times| *times += 1);
    response
}
