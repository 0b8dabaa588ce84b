//! What the template must have beside each function, and what the documents must say of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use shared::runtime::batch::sat_out;
use shared::stores::erasures::WRITERS_MS;

use super::{read, template};
use crate::contract::{UNKNOWN_ID, requests};

/// The resources of the template, as text, by logical id.
pub(super) fn resources() -> BTreeMap<String, String> {
    let template = template();
    let (_, resources) = template
        .split_once("\nResources:\n")
        .expect("the template has resources");
    let (resources, _) = resources
        .split_once("\nOutputs:\n")
        .expect("the template has outputs");
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut current = String::new();
    for line in resources.lines() {
        let name = line
            .strip_prefix("  ")
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
            .and_then(|rest| rest.strip_suffix(':'));
        if let Some(name) = name {
            current = name.to_owned();
        }
        let text = found.entry(current.clone()).or_default();
        text.push_str(line);
        text.push('\n');
    }
    found
}

/// The functions that something of this type invokes, without `Function` at the end of their names.
pub(super) fn functions_with(
    resources: &BTreeMap<String, String>,
    event_types: &[&str],
) -> Vec<String> {
    let functions = resources
        .iter()
        .filter_map(|(id, text)| Some((id.strip_suffix("Function")?, text)));
    let fitting = functions.filter(|(_, text)| {
        let invokes = |event_type: &&str| text.contains(&format!("Type: {event_type}"));
        event_types.iter().any(invokes)
    });
    let fitting: Vec<String> = fitting.map(|(name, _)| name.to_owned()).collect();
    assert!(!fitting.is_empty(), "nothing is invoked by {event_types:?}");
    fitting
}

#[test]
fn every_consumer_has_its_alarms_and_its_lines_on_the_dashboard() {
    let resources = resources();
    let dashboard = &resources["Dashboard"];
    for name in functions_with(&resources, &["Kinesis", "DynamoDB"]) {
        for (kind, watched) in [
            ("Behind", format!("!Ref {name}Function }}")),
            ("Fails", format!("!Ref {name}Function }}")),
            ("Loses", format!("!Ref {name}Function }}")),
        ] {
            let alarm = resources.get(&format!("{name}{kind}"));
            let alarm = alarm.unwrap_or_else(|| panic!("{name} has no alarm {name}{kind}"));
            assert!(alarm.contains(&watched), "{name}{kind}: {alarm}");
        }
        for (metric, whose) in [
            (
                "IteratorAge",
                format!(r#"FunctionName", "${{{name}Function}}"#),
            ),
            ("Errors", format!(r#"FunctionName", "${{{name}Function}}"#)),
        ] {
            let line = format!(r#""{metric}", "{whose}""#);
            assert!(
                dashboard.contains(&line),
                "{name} is not on the dashboard: {line}"
            );
        }
        let function = &resources[&format!("{name}Function")];
        for event in event_sources(function) {
            let mapping = format!("{name}Function{event}");
            let watches = |alarm: &str| {
                alarm.contains("<<: *gives-up") && alarm.contains(&format!("!Ref {mapping} }}"))
            };
            assert!(
                resources.values().any(|resource| watches(resource)),
                "no alarm goes off if {mapping} gives up"
            );
            let line = format!(
                r#""OnFailureDestinationDeliveredEventCount", "EventSourceMappingUUID", "${{{mapping}}}""#
            );
            assert!(
                dashboard.contains(&line),
                "{mapping} is not on the dashboard: {line}"
            );
            assert!(
                function.matches("*records").count() == event_sources(function).len(),
                "{name} does not read as all consumers do: retries, failed batches"
            );
        }
    }
}

/// The names of the events by which a function reads streams.
fn event_sources(function: &str) -> Vec<&str> {
    let lines: Vec<&str> = function.lines().collect();
    let named = lines.windows(2).filter(|two| {
        let kind = two[1].trim();
        kind == "Type: Kinesis" || kind == "Type: DynamoDB"
    });
    named
        .map(|two| two[0].trim().trim_end_matches(':'))
        .collect()
}

#[test]
fn every_scheduled_function_has_its_alarm_and_its_line_on_the_dashboard() {
    let resources = resources();
    for name in functions_with(&resources, &["Schedule"]) {
        assert!(
            resources.contains_key(&format!("{name}Fails")),
            "{name} has no alarm {name}Fails"
        );
        let line = format!(r#""Errors", "FunctionName", "${{{name}Function}}""#);
        assert!(
            resources["Dashboard"].contains(&line),
            "{name} is not on the dashboard: {line}"
        );
    }
}

/// `POST /v1/tweets` for the function behind that route.
pub(super) fn route(function: &str) -> String {
    let part = |name: &str, end: char| {
        let (_, rest) = function.split_once(name).expect("a route");
        rest.split(end).next().unwrap_or_default()
    };
    format!("{} {}", part(" Method: ", ','), part(" Path: \"", '"'))
}

#[test]
fn every_route_that_writes_has_its_throttle() {
    let resources = resources();
    let mut writes = BTreeSet::new();
    for name in functions_with(&resources, &["HttpApi"]) {
        let route = route(&resources[&format!("{name}Function")]);
        if !route.starts_with("GET ") {
            let setting = format!(r#""{route}": *write-limits"#);
            assert!(
                resources["Api"].contains(&setting),
                "{route} has no line {setting} in RouteSettings"
            );
            writes.insert(route);
        }
    }
    let throttled = resources["Api"].matches("*write-limits").count();
    assert_eq!(throttled, writes.len(), "RouteSettings name: {writes:?}");
}

#[test]
fn the_contract_tests_know_every_route() {
    let resources = resources();
    let deployed: BTreeSet<String> = functions_with(&resources, &["HttpApi"])
        .iter()
        .map(|name| route(&resources[&format!("{name}Function")]))
        .map(|route| route.replace("{id}", UNKNOWN_ID))
        .map(|route| route.replace("{handle}", "nobody"))
        .collect();
    let tried: BTreeSet<String> = requests::routes()
        .iter()
        .map(|(method, path, _)| {
            let path = path.split('?').next().unwrap_or_default();
            format!("{method} {path}")
        })
        .collect();
    assert_eq!(tried, deployed, "contract/requests.rs and template.yaml");
}

#[test]
fn every_function_has_a_role_and_a_log_group_of_its_own() {
    let resources = resources();
    for name in functions_with(&resources, &["HttpApi", "Kinesis", "DynamoDB", "Schedule"]) {
        let function = &resources[&format!("{name}Function")];
        for part in ["Role", "Logs"] {
            assert!(
                resources.contains_key(&format!("{name}{part}"))
                    && function.contains(&format!("{name}{part}")),
                "{name} has no {name}{part} of its own"
            );
        }
    }
}

/// Tables and user pool hold people's data, the key reads it, and the bucket holds what is still to be done.
#[test]
fn what_outlives_the_stack_is_taken_back_if_its_first_deployment_fails() {
    let resources = resources();
    let kept = [
        "UsersTable",
        "FollowersTable",
        "FollowingTable",
        "RelationsTable",
        "TweetsTable",
    ];
    for name in kept.iter().chain(&["UserPool", "DataKey", "FailedBatches"]) {
        let resource = &resources[*name];
        assert!(
            resource.contains("DeletionPolicy: RetainExceptOnCreate\n")
                && resource.contains("UpdateReplacePolicy: Retain\n"),
            "{name} is not kept, or blocks the next attempt: {resource}"
        );
        let protected = resource.contains("DeletionProtection");
        assert!(
            !protected || resource.contains("!If [ProtectData, "),
            "{name} refuses to be taken back: {resource}"
        );
    }
}

/// A function's name has at most 64 characters. docs/OPERATIONS.md promises 40 of them to the stack.
#[test]
fn a_stack_may_have_a_name_of_forty_characters() {
    let resources = resources();
    let names = resources.values().filter_map(|text| {
        let (_, name) = text.split_once("FunctionName: !Sub ${AWS::StackName}")?;
        name.lines().next()
    });
    for name in names {
        assert!(40 + name.len() <= 64, "{name} is too long a name");
    }
}

/// The name of a stack may be longer, and have capitals, which ElastiCache refuses.
#[test]
fn the_cache_is_not_named_after_the_stack() {
    let resources = resources();
    for (name, id) in [
        ("Cache", "ServerlessCacheName"),
        ("CacheUser", "UserId"),
        ("CacheUsers", "UserGroupId"),
    ] {
        let lines = resources[name].lines();
        let line = lines.map(str::trim).find(|line| line.starts_with(id));
        let line = line.unwrap_or_else(|| panic!("{name} has no {id}"));
        assert!(
            !line.contains("AWS::StackName"),
            "{name} would be refused for some stacks: {line}"
        );
    }
}

/// Lambda removes the interfaces of a function that left its network some time after the update that took it out.
#[test]
fn functions_may_leave_a_network() {
    let policy = &resources()["JoinNetwork"];
    assert!(!policy.contains("\n    Condition:"), "{policy}");
    let template = template();
    let attached = template
        .lines()
        .filter(|line| line.contains("ManagedPolicyArns:") && line.contains("JoinNetwork"));
    for line in attached {
        assert!(
            !line.contains("!If"),
            "it is taken away with the network: {line}"
        );
    }
}

#[test]
fn the_readme_explains_every_parameter() {
    let (template, readme) = (template(), read("README.md"));
    let (_, parameters) = template.split_once("\nParameters:\n").expect("parameters");
    let (parameters, _) = parameters.split_once("\nConditions:\n").expect("an end");
    let names = parameters.lines().filter_map(|line| {
        let name = line.strip_prefix("  ")?.strip_suffix(':')?;
        name.starts_with(|c: char| c.is_ascii_uppercase())
            .then_some(name)
    });
    let rows: Vec<&str> = readme
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    let mut count = 0;
    for name in names {
        let quoted = format!("`{name}`");
        assert!(
            rows.iter().any(|row| row.contains(&quoted)),
            "README.md has no row for the parameter {name}"
        );
        count += 1;
    }
    assert!(count > 10, "only {count} parameters were found");
}

/// The first number in a text that stands behind this name.
fn number(text: &str, name: &str) -> u64 {
    let (_, rest) = text.split_once(&format!("{name}: ")).expect("a number");
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    let number = digits.and_then(|digits| digits.parse().ok());
    number.unwrap_or_else(|| panic!("{name} is not a number"))
}

/// A request that knew an account may write for as long as it takes, and die before it takes the write back.
#[test]
fn an_erasure_outlasts_every_request() {
    let template = template();
    let (_, globals) = template.split_once("\nGlobals:\n").expect("globals");
    assert!(WRITERS_MS >= 2_000 * number(globals, "Timeout"));
}

/// Otherwise an outage uses up the attempts of a record before it is too old, and the record waits for a person.
#[test]
fn attempts_outlast_the_age_of_records() {
    let template = template();
    let (_, consumer) = template.split_once("- &consumer\n").expect("the anchor");
    let timeout = Duration::from_secs(number(consumer, "Timeout"));
    let attempt = sat_out(timeout).as_secs();
    let policies: Vec<&str> = template.split("MaximumRetryAttempts").skip(1).collect();
    assert!(policies.len() > 1, "the anchor, and who differs from it");
    for policy in policies {
        let policy = format!("MaximumRetryAttempts{policy}");
        let attempts = number(&policy, "MaximumRetryAttempts");
        let age = number(&policy, "MaximumRecordAgeInSeconds");
        assert!(
            attempts * attempt >= age,
            "{attempts} attempts of {attempt} s"
        );
    }
}
