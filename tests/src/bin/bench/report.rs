//! Rows of figures, and how they are shown.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

/// One thing that was measured, with its limit in the same run.
pub(crate) struct Row {
    /// The part of the benchmark, as `ONLY` names it.
    pub(crate) part: &'static str,
    pub(crate) what: String,
    /// The limit, in words.
    pub(crate) limit: &'static str,
    /// How many things are done in one measurement.
    count: usize,
    pairs: Vec<Pair>,
    /// The ratio that is aimed at.
    pub(crate) goal: f64,
}

/// One measurement of each, one right after the other.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) ours: Duration,
    pub(crate) limit: Duration,
}

impl Pair {
    /// Our speed as a part of the limit's.
    fn ratio(self) -> f64 {
        self.limit.as_secs_f64() / self.ours.as_secs_f64()
    }
}

impl Row {
    pub(crate) fn new(
        part: &'static str,
        what: impl Into<String>,
        limit: &'static str,
        goal: f64,
        count: usize,
        pairs: Vec<Pair>,
    ) -> Self {
        let row = Self {
            part,
            what: what.into(),
            limit,
            count,
            pairs,
            goal,
        };
        let [low, median, high] = row.ratios();
        println!(
            "  {}: {median:.2} of {} ({low:.2} to {high:.2})",
            row.what, row.limit
        );
        row
    }

    /// Lowest, median and highest.
    fn ratios(&self) -> [f64; 3] {
        spread(self.pairs.iter().map(|pair| pair.ratio()))
    }

    /// Things a second, in the median: ours and the limit's.
    fn rates(&self) -> [f64; 2] {
        let rate = |took: Duration| self.count as f64 / took.as_secs_f64();
        let [_, ours, _] = spread(self.pairs.iter().map(|pair| rate(pair.ours)));
        let [_, limit, _] = spread(self.pairs.iter().map(|pair| rate(pair.limit)));
        [ours, limit]
    }

    fn cells(&self) -> [String; 6] {
        let [ours, limit] = self.rates();
        let [low, median, high] = self.ratios();
        [
            self.what.clone(),
            thousands(ours),
            format!("{} ({})", thousands(limit), self.limit),
            format!("{median:.2}"),
            format!("{low:.2} to {high:.2}"),
            format!("{:.2}", self.goal),
        ]
    }
}

const HEAD: [&str; 6] = ["what", "a second", "limit", "ratio", "spread", "goal"];

fn spread(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    [
        at(0),
        at(values.len() / 2),
        at(values.len().saturating_sub(1)),
    ]
}

/// `1,234 K`: a rate need not be more exact.
fn thousands(rate: f64) -> String {
    format!("{:.0} K", rate / 1_000.0)
}

/// For the terminal.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut lines = vec![HEAD.map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let width = |column: usize| {
        let lengths = lines.iter().map(|cells| cells[column].chars().count());
        lengths.max().unwrap_or_default()
    };
    let mut text = String::new();
    for cells in &lines {
        for (column, cell) in cells.iter().enumerate() {
            let _ = write!(text, "{cell:<width$}  ", width = width(column));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

pub(crate) fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "# Benchmarks\n\nWritten by `make bench`. Each figure was measured in turn with its limit, on the same machine and in the\n\
         same run; the ratio is the median of all pairs. Rates depend on the machine, ratios much less.\n\n",
    );
    let _ = writeln!(
        text,
        "| {} |\n|{}",
        HEAD.join(" | "),
        "---|".repeat(HEAD.len())
    );
    for row in rows {
        let _ = writeln!(text, "| {} |", row.cells().join(" | "));
    }
    text
}

pub(crate) fn json(rows: &[Row]) -> String {
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            let [ours, limit] = row.rates();
            let [low, median, high] = row.ratios();
            json!({
                "part": row.part,
                "what": row.what,
                "a_second": ours,
                "limit": row.limit,
                "limit_a_second": limit,
                "ratio": {"median": median, "lowest": low, "highest": high},
                "goal": row.goal,
            })
        })
        .collect();
    format!("{:#}\n", Value::Array(rows))
}
