//! What is drawn and watched is what is measured: the template and the code name the same metrics.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use shared::platform::metrics;

fn workspace() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = tests.parent().expect("the tests are in a workspace");
    root.to_owned()
}

fn template() -> String {
    fs::read_to_string(workspace().join("template.yaml")).expect("the template")
}

fn emitted() -> BTreeSet<String> {
    metrics::ALL.iter().map(|name| (*name).to_owned()).collect()
}

/// The metrics of Roost's own namespace on the dashboard: `["Roost", "TimelineReads"…`.
fn drawn() -> BTreeSet<String> {
    let template = template();
    let names = template.split(r#"["Roost", ""#).skip(1);
    names
        .filter_map(|rest| rest.split('"').next())
        .map(str::to_owned)
        .collect()
}

/// The metrics of Roost's own namespace that an alarm is about.
fn watched() -> BTreeSet<String> {
    let template = template();
    let alarms = template.split("Namespace: Roost\n").skip(1);
    alarms
        .map(|rest| {
            let line = rest.lines().next().unwrap_or_default().trim();
            line.strip_prefix("MetricName: ")
                .unwrap_or_else(|| panic!("{line} stands below a namespace"))
                .to_owned()
        })
        .collect()
}

fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push_str(&fs::read_to_string(&path).expect("a source file"));
        }
    }
}

#[test]
fn the_dashboard_draws_every_metric_that_the_code_emits_and_no_other() {
    assert_eq!(drawn(), emitted());
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
    let mut code = String::new();
    sources(&workspace().join("shared/src"), &mut code);
    sources(&workspace().join("functions"), &mut code);
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
