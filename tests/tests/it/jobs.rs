//! Scheduled functions go through all users. One that dies does not begin again where it began.

use roost_tests::{Client, DynamoGate, DynamoProxy, Function, events};

use crate::isolated_stack::IsolatedStack;

/// More than any job looks at before it remembers how far it is.
const USERS: u64 = 30;

/// Kills the job when it makes its second request of this kind, and lets it run again. Gives how the second run begins.
async fn scan_after_a_death(job: &str, is_step: fn(&str) -> bool) -> Option<String> {
    let stack = IsolatedStack::beside(Client::shared().await).await?;
    let first = fastrand::u64(1 << 40..1 << 50);
    let users: Vec<u64> = (first..first + USERS).collect();
    stack.tables.add_profiles(&users).await;
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
    Some(asked.find(|text| text.starts_with("Scan")).expect("a scan"))
}

/// Each user's edges are counted by two queries, of which one is of their followers.
#[tokio::test]
async fn a_reconciliation_that_dies_goes_on_where_it_was() {
    let counts_followers = |text: &str| text.starts_with("Query") && text.contains("-followers\"");
    let Some(scan) = scan_after_a_death("reconcile-counts", counts_followers).await else {
        return;
    };
    assert!(scan.contains("\"ExclusiveStartKey\":{\"pk\""), "{scan}");
}

#[tokio::test]
async fn an_audit_that_dies_goes_on_where_it_was() {
    let remembers = |text: &str| text.starts_with("PutItem") && text.contains("position#");
    let Some(scan) = scan_after_a_death("audit-timelines", remembers).await else {
        return;
    };
    assert!(scan.contains("\"ExclusiveStartKey\":{\"pk\""), "{scan}");
}
