//! A cluster: which node has which slots, and each command sent to the node of its keys.
//!
//! However many commands there are, each node gets one pipeline, and all nodes are asked at once; so it takes about
//! one round trip, like with a single node. The map of slots is read on first use and again when a node says that it
//! is out of date. (ElastiCache Serverless is a cluster of which all slots are behind one address.)

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{join_all, select_ok};
use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind, Value, from_redis_value};

use super::batch::Batch;
use super::node::{Node, Question};
use super::renewable::{Lease, Renewable};
use super::server::Server;
use super::slot;

/// How often a command is sent on before we give up: its slot may move, and move again.
const MOST_ROUNDS: usize = 4;
/// How long a slot that is just moving is left alone.
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Clone)]
pub(super) struct Cluster {
    seed: Arc<Node>,
    /// By address, host and port. The connections outlive the map of slots.
    nodes: Arc<Mutex<HashMap<String, Arc<Node>>>>,
    slots: Arc<Renewable<Arc<SlotMap>>>,
}

/// Ranges of slots by their first, ascending.
struct SlotMap(Vec<Range>);

struct Range {
    first: u16,
    last: u16,
    node: Arc<Node>,
}

/// What to do with an answer.
enum Next {
    Keep,
    /// Our map is out of date.
    LookUp,
    /// The slot is moving, and this key has moved already: ask there, this once.
    AskAt(String),
    Wait,
}

impl Cluster {
    pub(super) fn new(seed: Server) -> Self {
        let address = seed.address();
        let seed = Arc::new(Node::new(seed));
        Self {
            nodes: Arc::new(Mutex::new(HashMap::from([(address, seed.clone())]))),
            slots: Arc::default(),
            seed,
        }
    }

    /// The answers in order. `prelude` is a command that runs on every node that is asked, before anything else, and is not
    /// answered.
    pub(super) async fn ask(&self, prelude: &[u8], batch: &Batch) -> RedisResult<Vec<Value>> {
        let mut answers: Vec<Value> = vec![Value::Nil; batch.len()];
        let mut open: Vec<Open> = (0..batch.len()).map(Open::first).collect();
        for _ in 0..MOST_ROUNDS {
            let lease = self.lease();
            let generation = lease.generation;
            let map = match lease.making.await {
                Ok(map) => map,
                Err(error) => {
                    self.slots.forget(generation);
                    return Err(error);
                }
            };
            let mut shards: Vec<Shard> = Vec::new();
            for command in open.drain(..) {
                let there;
                let node = if let Some(address) = &command.ask_at {
                    there = self.node(address);
                    &there
                } else {
                    let slot = batch.slot_of(command.number);
                    map.node(slot).unwrap_or(&self.seed)
                };
                let shard = match shards
                    .iter_mut()
                    .find(|shard| Arc::ptr_eq(&shard.node, node))
                {
                    Some(shard) => shard,
                    None => shards.push_mut(Shard::new(node.clone(), prelude)),
                };
                shard.add(&command, batch);
            }
            let mut waits = false;
            for (places, answered) in join_all(shards.into_iter().map(Shard::ask)).await {
                // A node that is gone may have been replaced: the next caller looks.
                let answered = answered.inspect_err(|_| self.slots.forget(generation))?;
                let answered = places.into_iter().zip(answered);
                for (number, answer) in answered.filter_map(|(it, answer)| Some((it?, answer))) {
                    let ask_at = match next(&answer) {
                        Next::Keep => {
                            answers[number] = answer;
                            continue;
                        }
                        Next::LookUp => {
                            self.slots.forget(generation);
                            None
                        }
                        Next::AskAt(address) => Some(address),
                        Next::Wait => {
                            waits = true;
                            None
                        }
                    };
                    open.push(Open { number, ask_at });
                    answers[number] = answer;
                }
            }
            if open.is_empty() {
                break;
            }
            if waits {
                tokio::time::sleep(PAUSE).await;
            }
        }
        Ok(answers)
    }

    /// The address of the node that has this key.
    pub(super) async fn address_of(&self, key: &str) -> RedisResult<String> {
        Ok(self.node_beside(key).await?.server().address())
    }

    /// Asks the node that has this key, whatever the commands are about.
    pub(super) async fn ask_beside(
        &self,
        key: &str,
        question: Question,
    ) -> RedisResult<Vec<Value>> {
        self.node_beside(key).await?.ask(question).await
    }

    async fn node_beside(&self, key: &str) -> RedisResult<Arc<Node>> {
        let lease = self.lease();
        let generation = lease.generation;
        let map = lease.making.await;
        let map = map.inspect_err(|_| self.slots.forget(generation))?;
        let slot = slot::of_key(key.as_bytes());
        Ok(map.node(Some(slot)).unwrap_or(&self.seed).clone())
    }

    fn lease(&self) -> Lease<Arc<SlotMap>> {
        self.slots.get(|| {
            let cluster = self.clone();
            async move { cluster.read_slots().await.map(Arc::new) }.boxed()
        })
    }

    /// Asks every node that is known; the first answer counts.
    async fn read_slots(&self) -> RedisResult<SlotMap> {
        let known: Vec<Arc<Node>> = {
            let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
            nodes.values().cloned().collect()
        };
        let asked = known.into_iter().map(|node| {
            async move {
                let mut batch = Batch::new(false, 1);
                batch.add(&[b"CLUSTER", b"SLOTS"]);
                let answer = node.ask(batch.into()).await?.pop().unwrap_or(Value::Nil);
                self.slot_map(answer.extract_error()?, &node.server().host)
            }
            .boxed()
        });
        select_ok(asked).await.map(|(map, _)| map)
    }

    /// Out of `[[first, last, [host, port, …], replica …] …]`.
    fn slot_map(&self, answer: Value, asked_host: &str) -> RedisResult<SlotMap> {
        let ranges: Vec<Vec<Value>> = from_redis_value(answer)?;
        let mut ranges = ranges
            .into_iter()
            .map(|range| {
                let mut fields = range.into_iter();
                let mut field = || fields.next().ok_or_else(unreadable);
                let (first, last) = (from_redis_value(field()?)?, from_redis_value(field()?)?);
                let master: Vec<Value> = from_redis_value(field()?)?;
                let [host, port, ..] = master.as_slice() else {
                    return Err(unreadable());
                };
                let host: Option<String> = from_redis_value(host.clone())?;
                // Left empty by a node that does not know its name: then it is the one that we know it by.
                let host = host.filter(|host| !host.is_empty() && host != "?");
                let port: u16 = from_redis_value(port.clone())?;
                let address = format!("{}:{port}", host.as_deref().unwrap_or(asked_host));
                Ok(Range {
                    first,
                    last,
                    node: self.node(&address),
                })
            })
            .collect::<RedisResult<Vec<_>>>()?;
        ranges.sort_unstable_by_key(|range| range.first);
        Ok(SlotMap(ranges))
    }

    /// The node at `host:port`. It is reached like the seed: with its user, its password and its TLS.
    fn node(&self, address: &str) -> Arc<Node> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let node = nodes
            .entry(address.to_owned())
            .or_insert_with(|| Arc::new(Node::new(self.seed.server().beside(address))));
        Arc::clone(node)
    }
}

impl SlotMap {
    /// The node that has the slot; any node for a command without a key.
    fn node(&self, slot: Option<u16>) -> Option<&Arc<Node>> {
        let slot = slot?;
        let after = self.0.partition_point(|range| range.first <= slot);
        let range = self.0.get(after.checked_sub(1)?)?;
        (slot <= range.last).then_some(&range.node)
    }
}

/// A command that has no answer yet.
struct Open {
    /// Which of all commands it is.
    number: usize,
    /// The address of the node that has its key already, while its slot is moving.
    ask_at: Option<String>,
}

impl Open {
    const fn first(number: usize) -> Self {
        Self {
            number,
            ask_at: None,
        }
    }
}

/// What one node is asked in one round.
struct Shard {
    node: Arc<Node>,
    commands: Vec<u8>,
    /// Which of all commands each one is; `None` if nobody wants its answer.
    places: Vec<Option<usize>>,
}

impl Shard {
    fn new(node: Arc<Node>, prelude: &[u8]) -> Self {
        Self {
            node,
            commands: prelude.to_vec(),
            places: vec![None; usize::from(!prelude.is_empty())],
        }
    }

    fn add(&mut self, open: &Open, batch: &Batch) {
        if open.ask_at.is_some() {
            self.commands.extend_from_slice(b"*1\r\n$6\r\nASKING\r\n");
            self.places.push(None);
        }
        self.commands.extend_from_slice(batch.bytes_of(open.number));
        self.places.push(Some(open.number));
    }

    async fn ask(self) -> (Vec<Option<usize>>, RedisResult<Vec<Value>>) {
        let question = Question {
            commands: self.commands.into(),
            answers: self.places.len(),
        };
        let answered = self.node.ask(question).await;
        (self.places, answered)
    }
}

fn next(answer: &Value) -> Next {
    let Value::ServerError(error) = answer else {
        return Next::Keep;
    };
    match error.kind() {
        Some(ServerErrorKind::Moved | ServerErrorKind::ReadOnly) => Next::LookUp,
        Some(ServerErrorKind::Ask) => RedisError::from(error.clone())
            .redirect_node()
            .map_or(Next::LookUp, |(address, _)| Next::AskAt(address.to_owned())),
        Some(ServerErrorKind::TryAgain) => Next::Wait,
        _ => Next::Keep,
    }
}

fn unreadable() -> RedisError {
    RedisError::from((ErrorKind::UnexpectedReturnType, "cannot read CLUSTER SLOTS"))
}
