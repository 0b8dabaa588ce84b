//! Scheduled functions go through all users, or all who are expected. One that dies does not begin again where it began.

use roost_tests::{Client, DynamoGate, DynamoProxy, Function, events};
use shared::platform::now_millis;

use crate::isolated_stack::IsolatedStack;

/// More than any job looks at before it remembers how far it is.
const USERS: u64 = 30;

/// Kills the job when it makes its second request of this kind, and lets it run again. Gives the second run's first request
/// for users.
async fn walk_after_a_death(
    job: &str,
    is_step: fn(&str) -> bool,
    is_walk: fn(&str) -> bool,
) -> Option<String> {
    let stack = IsolatedStack::beside(Client::shared().await).await?;
    let first = fastrand::u64(1 << 40..1 << 50);
    let users: Vec<u64> = (first..first + USERS).collect();
    stack.tables.add_profiles(&users).await;
    // Yesterday, half an hour from now: they are expected, also if the hour turns meanwhile.
    let yesterday = now_millis() - 24 * 3_600_000 + 1_800_000;
    let reads: Vec<(u64, u64)> = users.iter().map(|user| (*user, yesterday)).collect();
    stack.tables.add_presence(&reads).await;
    let dynamodb = stack.environment["AWS_ENDPOINT_URL_DYNAMODB"].as_str();

    let gate = DynamoGate::start(dynamodb, is_step);
    let changed = [("AWS_ENDPOINT_URL_DYNAMODB", gate.url.as_str())];
    let dying = Function::start_in(stack.environment.clone(), job, &changed);
    dying.begin(events::scheduled());
    gate.wait_until_held();
    gate.let_through();
    gate.wait_until_held();
    drop(dying);

    let proxy = DynamoProxy::start(dynamodb);
    let changed = [("AWS_ENDPOINT_URL_DYNAMODB", proxy.url.as_str())];
    let next = Function::start_in(stack.environment.clone(), job, &changed);
    next.invoke(events::scheduled());
    let mut asked = proxy.take().into_iter();
    Some(
        asked
            .find(|text| is_walk(text))
            .expect("a request for users"),
    )
}

fn is_scan(text: &str) -> bool {
    text.starts_with("Scan")
}

fn is_position(text: &str) -> bool {
    text.starts_with("PutItem") && text.contains("position#")
}

/// Each user's edges are counted by two queries, of which one is of their followers.
#[tokio::test]
async fn a_reconciliation_that_dies_goes_on_where_it_was() {
    let counts_followers = |text: &str| text.starts_with("Query") && text.contains("-followers\"");
    let Some(scan) = walk_after_a_death("reconcile-counts", counts_followers, is_scan).await else {
        return;
    };
    assert!(scan.contains("\"ExclusiveStartKey\":{\"pk\""), "{scan}");
}

#[tokio::test]
async fn an_audit_that_dies_goes_on_where_it_was() {
    let Some(scan) = walk_after_a_death("audit-timelines", is_position, is_scan).await else {
        return;
    };
    assert!(scan.contains("\"ExclusiveStartKey\":{\"pk\""), "{scan}");
}

#[tokio::test]
async fn a_warming_that_dies_goes_on_where_it_was() {
    let of_presence = |text: &str| text.starts_with("Query") && text.contains("-presence\"");
    let Some(query) = walk_after_a_death("warm-timelines", is_position, of_presence).await else {
        return;
    };
    assert!(query.contains("\"ExclusiveStartKey\":{"), "{query}");
}
