//! Tables that do not answer make a page that says it is incomplete. They do not make it an error, and they do not keep
//! the reader waiting until the function is stopped (I11).

use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use roost_tests::{
    Cache, DynamoProxy, Function, LocalCloud, User, body_of, events, given_reader, keys, page_ids,
    stretched,
};

/// Below the time limit of the function, which is ten seconds.
const IN_TIME: Duration = Duration::from_secs(9);

/// The URL of a service that takes every request and never answers. It lives as long as the test.
fn black_hole() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a port was bound");
    thread::spawn(move || {
        let taken: Vec<TcpStream> = listener.incoming().flatten().take(1_000).collect();
        drop(taken);
    });
    format!("http://{address}")
}

/// What the function answers while its tables are a black hole: a page that says that the tables did not answer.
fn expect_degraded(function: &Function, reader: &User, query: &str) {
    let started = Instant::now();
    let path = format!("/v1/home_timeline{query}");
    let answer = function.invoke(events::http("GET", &path, &reader.subject(), None));
    let took = started.elapsed();
    let page = body_of(&answer, 200);
    assert_eq!(page["meta"]["complete"], false, "{page}");
    let reasons = page["meta"]["reasons"].to_string();
    assert!(reasons.contains("unavailable"), "{page}");
    println!("{query}: {took:?}, {reasons}");
    assert!(took < IN_TIME, "{query} took {took:?}");
}

#[tokio::test]
async fn a_page_does_not_wait_until_the_rest_of_a_list_is_handed_over() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    // More than the first page of a rebuild reads, so that the rest is handed over.
    let (reader, _, tweets) = given_reader(cloud.client(), 200).await;
    let environment = cloud.environment();
    let dynamodb = &environment["AWS_ENDPOINT_URL_DYNAMODB"];
    let slow = DynamoProxy::losing_answers(dynamodb, |asked| {
        if asked.contains("-fills\"") {
            thread::sleep(Duration::from_secs(30));
        }
        false
    });
    let changed = [("AWS_ENDPOINT_URL_DYNAMODB", slow.url.as_str())];
    let function = Function::start(&cloud, "home-timeline", &changed);
    let _: u64 = cache.ask(&["DEL", &keys::home_timeline(reader.id)]).await;
    let event = events::http("GET", "/v1/home_timeline?limit=5", &reader.subject(), None);
    let started = Instant::now();
    let page = body_of(&function.invoke(event), 200);
    let took = started.elapsed();
    assert_eq!(page_ids(&page), tweets[..5], "{page}");
    assert_eq!(page["meta"]["complete"], true);
    assert!(took < stretched(Duration::from_secs(4)), "{took:?}");
    let handed_over = slow.take().iter().any(|asked| asked.contains("-fills\""));
    assert!(handed_over, "nothing was handed over");
}

async fn forget_tweets(cache: &Cache, tweets: &[u64]) {
    for tweet in tweets {
        let _: u64 = cache.ask(&["DEL", &format!("tweet:{{{tweet}}}")]).await;
    }
}

#[tokio::test]
async fn a_page_comes_in_time_although_the_tables_never_answer() {
    let Some((cloud, _, cache)) = LocalCloud::with_stores(&[]).await else {
        return;
    };
    let (reader, _, tweets) = given_reader(cloud.client(), 60).await;
    let tables = black_hole();
    let changed = [("AWS_ENDPOINT_URL_DYNAMODB", tables.as_str())];
    let function = Function::start(&cloud, "home-timeline", &changed);

    // The tweets have to be looked up, page after page of candidates.
    forget_tweets(&cache, &tweets).await;
    expect_degraded(&function, &reader, "?limit=5");
    // The marker, too.
    let _: u64 = cache
        .ask(&["DEL", &format!("marker:{{{}}}", reader.id)])
        .await;
    expect_degraded(&function, &reader, "?limit=100");
    // Nothing of the list is left, so the authors have to be looked up as well.
    let _: u64 = cache.ask(&["DEL", &keys::home_timeline(reader.id)]).await;
    expect_degraded(&function, &reader, "?since_id=1");
    expect_degraded(&function, &reader, "");
}
