//! A sandbox is frozen between invocations. Its connection may die meanwhile: the next answer is still right, and in time.

use std::thread::sleep;
use std::time::{Duration, Instant};

use roost_tests::{Function, LocalCloud, RedisProxy, body_of, events};

/// After this long without use, a connection is checked before it is used again.
const LONG: Duration = Duration::from_millis(2_300);
/// How long an answer may take if the connection has to be replaced. The tables are not asked instead: that would take
/// longer, and the page would be incomplete.
const QUICK: Duration = Duration::from_millis(600);

/// Reads the home timeline, which must be complete. Gives how long that took.
fn read(function: &Function, subject: &str) -> Duration {
    let started = Instant::now();
    let answer = function.invoke(events::http("GET", "/v1/home_timeline", subject, None));
    let took = started.elapsed();
    let page = body_of(&answer, 200);
    assert_eq!(page["meta"]["complete"], true, "{page}");
    assert_eq!(page["data"].as_array().map(Vec::len), Some(1), "{page}");
    took
}

#[tokio::test]
async fn a_connection_that_died_in_a_frozen_sandbox_costs_one_quick_retry() {
    let Some(cloud) = LocalCloud::for_test(&[]).await else {
        return;
    };
    let reader = cloud.client().sign_up("reader").await;
    reader.post("here I am").await;
    reader.newest().await;
    let proxy = RedisProxy::start(&cloud);
    let function = Function::start(&cloud, "home-timeline", &[("REDIS_URL", &proxy.url)]);
    let subject = reader.subject();
    read(&function, &subject);
    println!("warm: {:?}", read(&function, &subject));

    for (what, closed, pause) in [
        ("closed by the server", true, Duration::ZERO),
        ("closed long ago", true, LONG),
        ("forgotten by the network", false, LONG),
    ] {
        function.freeze();
        if closed {
            proxy.cut();
        } else {
            proxy.swallow();
        }
        sleep(pause);
        function.thaw();
        let took = read(&function, &subject);
        println!("{what}: {took:?}");
        assert!(took < QUICK, "{what}: {took:?}");
        read(&function, &subject);
    }

    function.freeze();
    sleep(LONG);
    function.thaw();
    proxy.take_round_trips();
    println!("alive: {:?}", read(&function, &subject));
    assert!(
        proxy
            .take_round_trips()
            .iter()
            .all(|asked| !asked.contains("SETINFO")),
        "a connection that is alive is used again"
    );
}
