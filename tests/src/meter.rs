//! Stands between functions and their tables and streams, and counts what they use, as AWS would bill it.
//!
//! DynamoDB counts by itself: each request is made to ask for the capacity that it consumes, and the answer tells it, by
//! DynamoDB's rules for sizes, transactions and indexes. A write whose condition does not hold tells nothing and is
//! billed all the same, here as one unit. Of Kinesis, records and their bytes are counted.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::proxy::{listen, read_message};

/// Kinesis bills records in units of so many bytes.
const PUT_UNIT_BYTES: u64 = 25 * 1024;

/// What one function used of one table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TableUse {
    pub requests: u64,
    /// Read request units: 4 KB, or 8 KB if the read may lag behind.
    pub reads: f64,
    /// Write request units: 1 KB, with those of indexes.
    pub writes: f64,
}

/// What one function put on one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamUse {
    pub requests: u64,
    pub records: u64,
    pub bytes: u64,
    /// What Kinesis bills: 25 KB each, at least one for a record.
    pub units: u64,
}

/// By function and table, or by function and stream. Names are without the stack's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metered {
    pub tables: BTreeMap<(String, String), TableUse>,
    pub streams: BTreeMap<(String, String), StreamUse>,
}

/// The meter, and what a local cloud needs to be measured by it.
#[derive(Clone, Debug)]
pub struct Meter {
    counted: Arc<Mutex<Metered>>,
    parameters: [(&'static str, String); 4],
}

impl Meter {
    /// Listens for functions. The local cloud that is started with [`Self::parameters`] sends them here.
    pub fn start() -> Self {
        let counted = Arc::<Mutex<Metered>>::default();
        let (tables, streams) = (free_port(), free_port());
        let meter = Arc::clone(&counted);
        let dynamodb = listen(format!("127.0.0.1:{tables}"), move |client, server| {
            carry(client, server, asking_for_capacity, |exchange| {
                count_table_use(&meter, exchange);
            })
        });
        let meter = Arc::clone(&counted);
        let kinesis = listen(format!("127.0.0.1:{streams}"), move |client, server| {
            carry(client, server, unchanged, |exchange| {
                count_stream_use(&meter, exchange);
            })
        });
        Self {
            counted,
            parameters: [
                ("DYNAMODB_PORT", tables.to_string()),
                ("KINESIS_PORT", streams.to_string()),
                ("FUNCTIONS_DYNAMODB_URL", format!("http://{dynamodb}")),
                ("FUNCTIONS_KINESIS_URL", format!("http://{kinesis}")),
            ],
        }
    }

    pub fn parameters(&self) -> impl Iterator<Item = (&str, &str)> {
        let parameters = self.parameters.iter();
        parameters.map(|(name, value)| (*name, value.as_str()))
    }

    /// Everything that was counted since the last call of this.
    pub fn take(&self) -> Metered {
        std::mem::take(&mut *lock(&self.counted))
    }
}

fn lock(counted: &Mutex<Metered>) -> std::sync::MutexGuard<'_, Metered> {
    counted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("a bound port").port()
}

/// A request and its answer.
struct Exchange {
    function: String,
    /// `PutItem`
    operation: String,
    asked: Value,
    is_done: bool,
    answered: Value,
}

fn carry(
    client: &TcpStream,
    server: &TcpStream,
    prepare: fn(&str, Value) -> Value,
    count: impl Fn(&Exchange),
) -> io::Result<()> {
    let (mut asking, mut answering) = (BufReader::new(client), BufReader::new(server));
    let (mut asked, mut answered) = (server, client);
    loop {
        let (head, body) = read_message(&mut asking)?;
        let operation = header(&head, "x-amz-target")
            .and_then(|target| target.rsplit('.').next())
            .unwrap_or_default()
            .to_owned();
        let Ok(request) = serde_json::from_slice(&body) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let request = prepare(&operation, request);
        let body = request.to_string();
        asked.write_all(with_length(&head, body.len()).as_bytes())?;
        asked.write_all(body.as_bytes())?;
        let (answer_head, answer) = read_message(&mut answering)?;
        answered.write_all(&[answer_head.as_bytes(), &answer].concat())?;
        count(&Exchange {
            function: function_of(&head),
            operation,
            asked: request,
            is_done: answer_head.starts_with("HTTP/1.1 200"),
            answered: serde_json::from_slice(&answer).unwrap_or_default(),
        });
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// The SDK says in whose name it asks.
fn function_of(head: &str) -> String {
    let agent = header(head, "user-agent").unwrap_or_default();
    let name = agent.split(' ').find_map(|word| word.strip_prefix("app/"));
    name.unwrap_or("unknown").to_owned()
}

fn with_length(head: &str, length: usize) -> String {
    let lines = head.split_inclusive("\r\n").map(|line| {
        let is_length = line.to_ascii_lowercase().starts_with("content-length:");
        if is_length {
            format!("content-length: {length}\r\n")
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

fn unchanged(_: &str, request: Value) -> Value {
    request
}

fn asking_for_capacity(operation: &str, mut request: Value) -> Value {
    let tells = ["Item", "Query", "Scan"];
    if tells.iter().any(|word| operation.contains(word)) {
        request["ReturnConsumedCapacity"] = json!("INDEXES");
    }
    request
}

fn count_table_use(counted: &Mutex<Metered>, exchange: &Exchange) {
    let is_read = ["Get", "Query", "Scan"]
        .iter()
        .any(|word| exchange.operation.contains(word));
    let told = &exchange.answered["ConsumedCapacity"];
    let told: Vec<&Value> = match told {
        Value::Array(tables) => tables.iter().collect(),
        Value::Object(_) => vec![told],
        _ => vec![],
    };
    let mut counted = lock(counted);
    let mut count = |table: &str, requests: u64, units: f64| {
        let key = (exchange.function.clone(), short(table));
        let used = counted.tables.entry(key).or_default();
        used.requests += requests;
        if is_read {
            used.reads += units;
        } else {
            used.writes += units;
        }
    };
    for (number, table) in told.iter().enumerate() {
        let units = table["CapacityUnits"].as_f64().unwrap_or_default();
        let name = table["TableName"].as_str().unwrap_or_default();
        count(name, u64::from(number == 0), units);
    }
    // Nothing was done, and yet DynamoDB had to look.
    if !exchange.is_done {
        let name = exchange.asked["TableName"].as_str().unwrap_or("several");
        count(name, 1, 1.0);
    }
}

fn count_stream_use(counted: &Mutex<Metered>, exchange: &Exchange) {
    let asked = &exchange.asked;
    let records: Vec<&Value> = match exchange.operation.as_str() {
        "PutRecord" => vec![asked],
        "PutRecords" => asked["Records"].as_array().into_iter().flatten().collect(),
        _ => return,
    };
    // `StreamName`, or the end of `StreamARN`.
    let name = asked["StreamName"]
        .as_str()
        .or_else(|| asked["StreamARN"].as_str()?.rsplit('/').next());
    let mut counted = lock(counted);
    let key = (exchange.function.clone(), short(name.unwrap_or_default()));
    let used = counted.streams.entry(key).or_default();
    used.requests += 1;
    for record in records {
        let length = |name: &str| record[name].as_str().map_or(0, str::len) as u64;
        // Four letters of base64 are three bytes.
        let bytes = length("Data") * 3 / 4 + length("PartitionKey");
        used.records += 1;
        used.bytes += bytes;
        used.units += bytes.div_ceil(PUT_UNIT_BYTES).max(1);
    }
}

/// `tweets` of `roost-tweets`, also out of an ARN.
fn short(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.strip_prefix("roost-").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_body_gets_its_length_and_other_headers_stay() {
        let head =
            "POST / HTTP/1.1\r\nContent-Length: 7\r\nuser-agent: aws app/post-tweet x\r\n\r\n";
        let changed = with_length(head, 12);
        assert!(changed.contains("content-length: 12\r\n"), "{changed}");
        assert!(changed.ends_with("app/post-tweet x\r\n\r\n"), "{changed}");
        assert_eq!(function_of(&changed), "post-tweet");
    }

    #[test]
    fn units_are_counted_by_function_and_table_and_a_refused_write_is_one() {
        let counted = Mutex::default();
        let exchange = |is_done, answered| Exchange {
            function: "like-tweet".to_owned(),
            operation: "TransactWriteItems".to_owned(),
            asked: json!({}),
            is_done,
            answered,
        };
        let units = |table: &str, units: f64| json!({"TableName": table, "CapacityUnits": units});
        let told =
            json!({"ConsumedCapacity": [units("roost-reactions", 4.0), units("roost-users", 2.0)]});
        count_table_use(&counted, &exchange(true, told));
        count_table_use(&counted, &exchange(false, json!({})));
        let found = lock(&counted).tables.clone();
        let of = |table: &str| found[&("like-tweet".to_owned(), table.to_owned())];
        assert_eq!((of("reactions").requests, of("reactions").writes), (1, 4.0));
        assert_eq!((of("users").requests, of("users").writes), (0, 2.0));
        assert_eq!((of("several").requests, of("several").writes), (1, 1.0));
    }

    #[test]
    fn records_are_billed_in_units_of_25_kilobytes() {
        let counted = Mutex::default();
        let data = |length: usize| json!({"Data": "x".repeat(length), "PartitionKey": "1234"});
        count_stream_use(
            &counted,
            &Exchange {
                function: "fan-out-tweets".to_owned(),
                operation: "PutRecords".to_owned(),
                asked: json!({"StreamName": "roost-fan-out-pages", "Records": [data(400), data(40_000)]}),
                is_done: true,
                answered: Value::Null,
            },
        );
        let found = lock(&counted).streams.clone();
        let used = found[&("fan-out-tweets".to_owned(), "fan-out-pages".to_owned())];
        assert_eq!((used.requests, used.records, used.units), (1, 2, 3));
        assert_eq!(used.bytes, 300 + 30_000 + 8);
    }
}
