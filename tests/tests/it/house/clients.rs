//! What the guide for clients says, compared with the code.

use std::collections::BTreeMap;

use shared::runtime::problem::Problem;

use super::read;

/// Type and status of every row in the table of problems.
fn listed() -> BTreeMap<String, u16> {
    let guide = read("docs/CLIENTS.md");
    let (_, errors) = guide.split_once("\n## Errors\n").expect("a section");
    let errors = errors.split("\n## ").next().unwrap_or_default();
    let rows = errors.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
        let name = cells.next()?.strip_suffix('`')?;
        let status = cells.next()?.parse().ok()?;
        let says_what_to_do = cells.nth(1).is_some_and(|cell| !cell.is_empty());
        assert!(says_what_to_do, "{line}");
        Some((name.to_owned(), status))
    });
    rows.collect()
}

#[test]
fn the_guide_lists_every_problem_with_its_status_and_no_other() {
    let known = Problem::ALL.iter().map(|problem| {
        let status = problem.status().as_u16();
        (problem.name().to_owned(), status)
    });
    assert_eq!(listed(), known.collect());
}
