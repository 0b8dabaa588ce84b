//! Rows of figures, and how they are shown.

use std::fmt::{self, Display, Formatter, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

/// One thing that was measured, with its limit in the same run if it has one.
pub(crate) struct Row {
    /// The part of the benchmark, as `ONLY` names it.
    part: &'static str,
    what: String,
    unit: Unit,
    ours: f64,
    limit: Option<Limit>,
    goal: Goal,
    /// The curve that it is a point of, and where.
    at: Option<(&'static str, f64)>,
}

/// A row as a picture shows it.
pub(crate) struct Bar {
    pub(crate) what: String,
    /// The figure as a part of its goal, or a multiple.
    pub(crate) share: f64,
    pub(crate) label: String,
    /// `false` if the goal is the most that it may be.
    pub(crate) at_least: bool,
    pub(crate) met: bool,
}

/// A row as a point of a curve.
pub(crate) struct Point {
    pub(crate) curve: &'static str,
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) label: String,
}

/// What a figure is compared with.
struct Limit {
    what: String,
    value: f64,
    /// Lowest, median and highest.
    ratio: [f64; 3],
}

/// What a number counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    /// Things a second.
    Rate,
    /// Seconds.
    Time,
    Bytes,
    /// Whatever the row says.
    Count,
}

/// What is aimed at: of the ratio if there is a limit, and of the figure if there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    /// The figure is told, and nothing is asked of it.
    Told,
}

/// One measurement of each, one right after the other.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) ours: Duration,
    pub(crate) limit: Duration,
}

impl Row {
    /// Speeds: `count` things were done in each measurement. The ratio is our part of the limit's speed.
    pub(crate) fn rates(
        part: &'static str,
        what: impl Into<String>,
        limit: impl Into<String>,
        goal: Goal,
        count: usize,
        pairs: &[Pair],
    ) -> Self {
        let rate = |took: Duration| count as f64 / took.as_secs_f64();
        Self::of_pairs(part, what, Unit::Rate, limit, goal, pairs, rate)
    }

    /// Times. The ratio is how many times as long as the limit it takes.
    pub(crate) fn times(
        part: &'static str,
        what: impl Into<String>,
        limit: impl Into<String>,
        goal: Goal,
        pairs: &[Pair],
    ) -> Self {
        let seconds = |took: Duration| took.as_secs_f64();
        Self::of_pairs(part, what, Unit::Time, limit, goal, pairs, seconds)
    }

    /// One figure of each, such as a percentile of many measurements that were made in turn.
    pub(crate) fn beside(
        part: &'static str,
        what: impl Into<String>,
        unit: Unit,
        ours: f64,
        (limit, value): (impl Into<String>, f64),
        goal: Goal,
    ) -> Self {
        let limit = Limit {
            what: limit.into(),
            value,
            ratio: [ours / value; 3],
        };
        Self::told(part, what.into(), unit, ours, Some(limit), goal)
    }

    /// A figure that stands by itself: bytes, or how many of something.
    pub(crate) fn figure(
        part: &'static str,
        what: impl Into<String>,
        unit: Unit,
        ours: f64,
        goal: Goal,
    ) -> Self {
        Self::told(part, what.into(), unit, ours, None, goal)
    }

    fn of_pairs(
        part: &'static str,
        what: impl Into<String>,
        unit: Unit,
        limit: impl Into<String>,
        goal: Goal,
        pairs: &[Pair],
        value: impl Fn(Duration) -> f64,
    ) -> Self {
        let middle = |values: Vec<f64>| spread(values)[1];
        let ours = middle(pairs.iter().map(|pair| value(pair.ours)).collect());
        let limit = Limit {
            what: limit.into(),
            value: middle(pairs.iter().map(|pair| value(pair.limit)).collect()),
            ratio: spread(
                pairs
                    .iter()
                    .map(|pair| value(pair.ours) / value(pair.limit))
                    .collect(),
            ),
        };
        Self::told(part, what.into(), unit, ours, Some(limit), goal)
    }

    /// The row, which is printed at once: some parts take minutes.
    fn told(
        part: &'static str,
        what: String,
        unit: Unit,
        ours: f64,
        limit: Option<Limit>,
        goal: Goal,
    ) -> Self {
        let row = Self {
            part,
            what,
            unit,
            ours,
            limit,
            goal,
            at: None,
        };
        let [what, ours, limit, ratio, spread, goal, met] = row.cells();
        let compared = match &row.limit {
            Some(_) => format!("; {limit}: {ratio} ({spread})"),
            None => String::new(),
        };
        println!("  {what}: {ours}{compared} {goal} {met}");
        row
    }

    /// The row as a point of a curve, at this value of what was raised.
    pub(crate) fn at(self, curve: &'static str, x: f64) -> Self {
        Self {
            at: Some((curve, x)),
            ..self
        }
    }

    /// `None` if it is no point of a curve of this part.
    pub(crate) fn point(&self, part: &str) -> Option<Point> {
        let (curve, x) = self.at.filter(|_| self.part == part)?;
        Some(Point {
            curve,
            x,
            y: self.ours,
            label: self.unit.show(self.ours),
        })
    }

    /// `None` if it has no goal, or one that is not a number to divide by.
    pub(crate) fn bar(&self) -> Option<Bar> {
        let (at_least, goal) = match self.goal {
            Goal::AtLeast(least) => (true, least),
            Goal::AtMost(most) => (false, most),
            Goal::Told => return None,
        };
        let [what, ours, _, ratio, _, goal_text, _] = self.cells();
        let figure = if ratio.is_empty() { ours } else { ratio };
        let bar = Bar {
            what,
            share: self.judged() / goal,
            label: format!("{figure} ({goal_text})"),
            at_least,
            met: self.goal.met(self.judged()) == Some(true),
        };
        (goal > 0.0).then_some(bar)
    }

    /// What the goal is about.
    fn judged(&self) -> f64 {
        self.limit
            .as_ref()
            .map_or(self.ours, |limit| limit.ratio[1])
    }

    fn cells(&self) -> [String; 7] {
        let unit = self.unit;
        let ours = unit.show(self.ours);
        let [limit, ratio, spread] = match &self.limit {
            None => Default::default(),
            Some(limit) => {
                let [low, median, high] = limit.ratio;
                let spread = if low < high {
                    format!("{} to {}", digits(low), digits(high))
                } else {
                    String::new()
                };
                [
                    format!("{} ({})", unit.show(limit.value), limit.what),
                    digits(median),
                    spread,
                ]
            }
        };
        // The goal of a figure by itself has the figure's unit.
        let goal = match (&self.limit, self.goal) {
            (None, Goal::AtLeast(least)) => format!("≥ {}", unit.show(least)),
            (None, Goal::AtMost(most)) => format!("≤ {}", unit.show(most)),
            (_, goal) => goal.to_string(),
        };
        let met = match self.goal.met(self.judged()) {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        [
            self.what.clone(),
            ours,
            limit,
            ratio,
            spread,
            goal,
            met.to_owned(),
        ]
    }

    fn json(&self) -> Value {
        let limit = self.limit.as_ref().map(|limit| {
            let [lowest, median, highest] = limit.ratio;
            json!({
                "what": limit.what,
                "value": limit.value,
                "ratio": {"median": median, "lowest": lowest, "highest": highest},
            })
        });
        json!({
            "part": self.part,
            "what": self.what,
            "unit": self.unit.name(),
            "ours": self.ours,
            "limit": limit,
            "goal": self.goal.to_string(),
            "met": self.goal.met(self.judged()),
        })
    }
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Rate => "a second",
            Self::Time => "seconds",
            Self::Bytes => "bytes",
            Self::Count => "count",
        }
    }

    /// As exact as such a figure can be.
    fn show(self, value: f64) -> String {
        match self {
            Self::Rate if value >= 10_000.0 => format!("{:.0} K/s", value / 1e3),
            Self::Rate => format!("{value:.0}/s"),
            Self::Time if value.abs() < 1e-3 => format!("{:.0} µs", value * 1e6),
            Self::Time if value.abs() < 1.0 => format!("{:.1} ms", value * 1e3),
            Self::Time => format!("{value:.2} s"),
            Self::Bytes if value >= 1e6 => format!("{:.1} MB", value / 1e6),
            Self::Bytes if value >= 1e4 => format!("{:.1} KB", value / 1e3),
            Self::Bytes if value < 100.0 && value.fract() != 0.0 => format!("{value:.1} B"),
            Self::Bytes => format!("{value:.0} B"),
            Self::Count if value.fract() == 0.0 => format!("{value:.0}"),
            Self::Count => format!("{value:.2}"),
        }
    }
}

impl Goal {
    fn met(self, value: f64) -> Option<bool> {
        match self {
            Self::AtLeast(least) => Some(value >= least),
            Self::AtMost(most) => Some(value <= most),
            Self::Told => None,
        }
    }
}

impl Display for Goal {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(formatter, "≥ {least}"),
            Self::AtMost(most) => write!(formatter, "≤ {most}"),
            Self::Told => Ok(()),
        }
    }
}

/// A ratio, with as many digits as tell something.
fn digits(ratio: f64) -> String {
    if ratio < 0.1 {
        format!("{ratio:.4}")
    } else {
        format!("{ratio:.2}")
    }
}

const HEAD: [&str; 7] = ["what", "ours", "limit", "ratio", "spread", "goal", "met"];

/// Lowest, median and highest.
fn spread(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    [
        at(0),
        at(values.len() / 2),
        at(values.len().saturating_sub(1)),
    ]
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

/// With pictures, each a file and what it shows.
pub(crate) fn markdown(rows: &[Row], pictures: &[(&str, &str)]) -> String {
    let mut text = String::from(
        "# Benchmarks\n\nWritten by `make bench`. Each figure was measured in turn with its limit, on the same machine and in the\n\
         same run; the ratio is the median of all pairs. Rates and times depend on the machine, ratios much less.\n",
    );
    for (file, title) in pictures {
        let _ = write!(text, "\n![{title}]({file})\n");
    }
    let mut part = "";
    for row in rows {
        if row.part != part {
            part = row.part;
            let (head, line) = (HEAD.join(" | "), "---|".repeat(HEAD.len()));
            let _ = writeln!(text, "\n## {part}\n\n| {head} |\n|{line}");
        }
        let _ = writeln!(text, "| {} |", row.cells().join(" | "));
    }
    text
}

pub(crate) fn json(rows: &[Row]) -> String {
    let rows: Vec<Value> = rows.iter().map(Row::json).collect();
    format!("{:#}\n", Value::Array(rows))
}
