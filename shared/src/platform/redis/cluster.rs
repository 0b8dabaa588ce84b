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
use redis::{
    Client, Cmd, ConnectionAddr, ErrorKind, Pipeline, RedisError, RedisResult, ServerErrorKind,
    Value, cmd, from_redis_value,
};

use super::node::Node;
use super::renewable::{Lease, Renewable};
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
    pub(super) fn new(seed: Client) -> Self {
        let address = seed.get_connection_info().addr().to_string();
        let seed = Arc::new(Node::new(seed));
        Self {
            nodes: Arc::new(Mutex::new(HashMap::from([(address, seed.clone())]))),
            slots: Arc::default(),
            seed,
        }
    }

    /// The answers in order. `prelude` runs on every node that is asked, before anything else, and is not answered.
    pub(super) async fn ask(
        &self,
        prelude: Option<&Cmd>,
        commands: Vec<Cmd>,
    ) -> RedisResult<Vec<Value>> {
        let mut answers: Vec<Value> = vec![Value::Nil; commands.len()];
        let mut open: Vec<Open> = commands
            .into_iter()
            .enumerate()
            .map(|(number, command)| Open {
                number,
                command,
                ask_at: None,
            })
            .collect();
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
                    let slot = slot::of(&command.command);
                    map.node(slot).unwrap_or(&self.seed)
                };
                let shard = match shards
                    .iter_mut()
                    .find(|shard| Arc::ptr_eq(&shard.node, node))
                {
                    Some(shard) => shard,
                    None => shards.push_mut(Shard::new(node.clone(), prelude)),
                };
                shard.add(command);
            }
            let mut waits = false;
            for (shard, answered) in join_all(shards.into_iter().map(Shard::ask)).await {
                // A node that is gone may have been replaced: the next caller looks.
                let answered = answered.inspect_err(|_| self.slots.forget(generation))?;
                for (place, answer) in shard.places.iter().zip(answered) {
                    let ask_at = match next(&answer) {
                        Next::Keep => {
                            answers[place.number] = answer;
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
                    open.extend(shard.again(*place, ask_at));
                    answers[place.number] = answer;
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
        Ok(self.node_beside(key).await?.address())
    }

    /// Asks the node that has this key, whatever the commands are about.
    pub(super) async fn ask_beside(
        &self,
        key: &str,
        commands: &Pipeline,
    ) -> RedisResult<Vec<Value>> {
        self.node_beside(key).await?.ask(commands).await
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
                let mut pipeline = Pipeline::new();
                pipeline.add_command(cmd("CLUSTER").arg("SLOTS").take());
                let answer = node.ask(&pipeline).await?.pop().unwrap_or(Value::Nil);
                let (ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. }) =
                    node.client().get_connection_info().addr()
                else {
                    return Err(unreadable());
                };
                self.slot_map(answer.extract_error()?, host)
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
        if let Some(node) = nodes.get(address) {
            return node.clone();
        }
        let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
        let (host, port) = (host.to_owned(), port.parse().unwrap_or(6379));
        let seed = self.seed.client().get_connection_info().clone();
        let there = match seed.addr().clone() {
            ConnectionAddr::TcpTls {
                insecure,
                tls_params,
                ..
            } => ConnectionAddr::TcpTls {
                host,
                port,
                insecure,
                tls_params,
            },
            _ => ConnectionAddr::Tcp(host, port),
        };
        // Opening a client connects nothing, and cannot fail on what was a client's already.
        let node = Client::open(seed.set_addr(there))
            .map_or_else(|_| self.seed.clone(), |client| Arc::new(Node::new(client)));
        nodes.insert(address.to_owned(), node.clone());
        node
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
    command: Cmd,
    /// The address of the node that has its key already, while its slot is moving.
    ask_at: Option<String>,
}

/// What one node is asked in one round.
struct Shard {
    node: Arc<Node>,
    pipeline: Pipeline,
    places: Vec<Place>,
}

/// Where a command stands.
#[derive(Clone, Copy)]
struct Place {
    /// Which of all commands it is.
    number: usize,
    in_pipeline: usize,
}

impl Shard {
    fn new(node: Arc<Node>, prelude: Option<&Cmd>) -> Self {
        let mut pipeline = Pipeline::new();
        pipeline.ignore_errors();
        if let Some(prelude) = prelude {
            pipeline.add_command(prelude.clone()).ignore();
        }
        Self {
            node,
            pipeline,
            places: Vec::new(),
        }
    }

    fn add(&mut self, open: Open) {
        if open.ask_at.is_some() {
            self.pipeline.cmd("ASKING").ignore();
        }
        self.places.push(Place {
            number: open.number,
            in_pipeline: self.pipeline.len(),
        });
        self.pipeline.add_command(open.command);
    }

    /// The command once more, for another node or a later time.
    fn again(&self, place: Place, ask_at: Option<String>) -> Option<Open> {
        let command = self.pipeline.cmd_iter().nth(place.in_pipeline)?.clone();
        Some(Open {
            number: place.number,
            command,
            ask_at,
        })
    }

    async fn ask(self) -> (Self, RedisResult<Vec<Value>>) {
        let answered = self.node.ask(&self.pipeline).await;
        (self, answered)
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
