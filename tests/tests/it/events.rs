//! `events/` documents every function by an event that it really understands.

use std::collections::BTreeSet;
use std::fs;

use roost_tests::{Answer, Client, LocalCloud, Method};
use serde_json::{Value, json};

use crate::house::{template, workspace};

/// What is in a folder, by name without extension.
fn names_in(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(workspace().join(folder)).expect("a folder of the workspace");
    let names = entries.map(|entry| entry.expect("a readable folder").path());
    names
        .map(|path| {
            path.file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

fn functions_in_the_template() -> BTreeSet<String> {
    let template = template();
    let binaries = template
        .lines()
        .filter_map(|line| line.split_once("Binary: "));
    binaries
        .map(|(_, name)| name.trim_end_matches([' ', '}']).to_owned())
        .collect()
}

fn event(function: &str) -> Value {
    let path = workspace().join("events").join(format!("{function}.json"));
    let text = fs::read(path).expect("an event");
    serde_json::from_slice(&text).unwrap_or_else(|e| panic!("the event of {function}: {e}"))
}

/// What the function answers to its event, as Lambda gives it back.
async fn answer_of(roost: &Client, function: &str) -> Value {
    let lambda = roost.target().endpoints.lambda.as_ref();
    let lambda = lambda.expect("a local cloud has a Lambda API");
    let url = format!("{lambda}/2015-03-31/functions/{function}/invocations");
    let body = event(function).to_string().into_bytes();
    let answer: Answer = roost
        .http()
        .send(Method::POST, &url, &[], body)
        .await
        .expect("the Lambda API answers")
        .expect(200);
    let failed = answer.headers.contains_key("x-amz-function-error");
    assert!(!failed, "{function} failed: {}", answer.text());
    answer.read()
}

#[test]
fn every_function_is_deployed_and_has_an_event() {
    let functions = names_in("functions");
    assert!(!functions.is_empty());
    assert_eq!(names_in("events"), functions, "events/ and functions/");
    assert_eq!(
        functions_in_the_template(),
        functions,
        "template.yaml and functions/"
    );
}

#[tokio::test]
async fn every_function_understands_its_event() {
    // The events are requests of the user alice. A deployment in use may have an alice already.
    let Some(cloud) = LocalCloud::for_test(&[]).await else {
        return;
    };
    let roost = cloud.client();
    let signed_up = answer_of(roost, "create-user").await;
    assert_eq!(signed_up["statusCode"], 201, "{signed_up}");

    let mut functions: Vec<String> = names_in("events").into_iter().collect();
    // This one deletes alice, so it comes last.
    functions.sort_by_key(|function| function == "delete-me");
    for function in functions {
        let event = event(&function);
        let answer = answer_of(roost, &function).await;
        if event["type"] == "REQUEST" {
            // Nobody has this ticket.
            let statement = &answer["policyDocument"]["Statement"][0];
            assert_eq!(statement["Effect"], "Deny", "{function}: {answer}");
        } else if event["requestContext"]["connectionId"].is_string() {
            // 403 because the event's user does not exist.
            let status = answer["statusCode"].as_u64().unwrap_or_default();
            assert!(matches!(status, 200 | 403), "{function}: {answer}");
        } else if event["requestContext"].is_object() {
            let status = answer["statusCode"].as_u64().unwrap_or_default();
            // 404 if the event names a user or a tweet that does not exist.
            assert!(
                matches!(status, 200 | 201 | 204 | 404),
                "{function}: {answer}"
            );
            let body = answer["body"].as_str().unwrap_or_default();
            let body: Result<Value, _> = serde_json::from_str(body);
            assert_eq!(body.is_ok(), status != 204, "{function}: {answer}");
        } else if event["Records"].is_array() {
            assert_eq!(answer, json!({ "batchItemFailures": [] }), "{function}");
        } else {
            assert_eq!(answer, Value::Null, "{function}");
        }
    }
}
