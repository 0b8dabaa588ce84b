//! What is drawn and watched is what is measured: the template and the code name the same metrics.

use std::collections::BTreeSet;

use shared::platform::metrics;

use super::{sources, template};

fn emitted() -> BTreeSet<String> {
    metrics::ALL.iter().map(|name| (*name).to_owned()).collect()
}

/// The metrics of the deployment's own namespace on the dashboard: `["Roost/${AWS::StackName}", "TimelineReads"…`.
fn drawn() -> BTreeSet<String> {
    let template = template();
    let names = template.split(r#"["Roost/${AWS::StackName}", ""#).skip(1);
    names
        .filter_map(|rest| rest.split('"').next())
        .map(str::to_owned)
        .collect()
}

/// The metrics of the deployment's own namespace that an alarm is about.
fn watched() -> BTreeSet<String> {
    let template = template();
    let alarms = template
        .split("Namespace: !Sub Roost/${AWS::StackName}\n")
        .skip(1);
    alarms
        .map(|rest| {
            let line = rest.lines().next().unwrap_or_default().trim();
            line.strip_prefix("MetricName: ")
                .unwrap_or_else(|| panic!("{line} stands below a namespace"))
                .to_owned()
        })
        .collect()
}

#[test]
fn the_dashboard_draws_every_metric_that_the_code_emits_and_no_other() {
    assert_eq!(drawn(), emitted());
}

/// Metrics of two deployments in one region must not mix.
#[test]
fn every_namespace_is_of_aws_or_of_this_deployment() {
    let template = template();
    assert!(template.contains(r#"METRICS_NAMESPACE: !Sub "Roost/${AWS::StackName}""#));
    let namespaces = template.split("Namespace: ").skip(1);
    for namespace in namespaces.filter_map(|rest| rest.split([',', '\n']).next()) {
        assert!(
            namespace.starts_with("AWS/")
                || namespace
                    .replace('"', "")
                    .starts_with("!Sub Roost/${AWS::StackName}"),
            "{namespace} is shared with other deployments"
        );
    }
}

/// The alarms GivesUp watch how many events went to the destination of failed batches.
#[test]
fn every_mapping_of_a_stream_keeps_and_counts_what_it_gives_up() {
    let template = template();
    let records = template.split("- &records\n").nth(1).expect("the anchor");
    let records = records.split("\n    - ").next().unwrap_or_default();
    for line in [
        "MetricsConfig: { Metrics: [EventCount] }",
        "DestinationConfig: { OnFailure: { Destination: !GetAtt FailedBatches.Arn } }",
    ] {
        assert!(records.contains(line), "{line} is not in {records}");
    }
}

#[test]
fn an_alarm_watches_only_what_the_code_emits() {
    let watched = watched();
    assert!(!watched.is_empty(), "there are alarms on our own metrics");
    let unknown: Vec<_> = watched.difference(&emitted()).cloned().collect();
    assert_eq!(unknown, Vec::<String>::new());
}

#[test]
fn every_metric_that_is_named_is_counted_somewhere() {
    let code: String = [sources("shared/src"), sources("functions")]
        .into_iter()
        .flatten()
        .map(|(_, text)| text)
        .collect();
    for name in metrics::ALL {
        // `TimelineReads` is counted by `TIMELINE_READS.add(…)`, `FanOutLag` by `FAN_OUT_LAG.record(…)`.
        let mut constant = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() && !constant.is_empty() {
                constant.push('_');
            }
            constant.extend(letter.to_uppercase());
        }
        let counted = [".add(", ".record("];
        assert!(
            counted
                .iter()
                .any(|call| code.contains(&format!("{constant}{call}"))),
            "nothing counts {name}"
        );
    }
}
