//! Pictures of the figures, as SVG that needs no script and no font of its own.
//!
//! [`goals`] has a bar for every row with a goal, as a share of the goal. [`lines`] draws rows that belong to one curve.

use std::fmt::Write as _;

use crate::report::{Bar, Point, Row};

const INK: &str = "#1f2933";
const FAINT: &str = "#9aa5b1";
const RULE: &str = "#e4e7eb";
const MET: &str = "#2f8f83";
const MISSED: &str = "#d9822b";
/// One colour for each line of a curve.
const COLOURS: [&str; 4] = ["#2f8f83", "#d9822b", "#5b6abf", "#a8497b"];

const WIDTH: f64 = 1_000.0;
/// Where bars begin, so that what they measure has room to the left of them.
const LEFT: f64 = 470.0;
const RIGHT: f64 = 190.0;
const LINE: f64 = 24.0;
/// How many times the goal a bar shows at the most.
const LONGEST: f64 = 2.0;

/// How far every figure is from its goal.
pub(crate) fn goals(rows: &[Row]) -> String {
    let bars: Vec<Bar> = rows.iter().filter_map(Row::bar).collect();
    let (least, most): (Vec<Bar>, Vec<Bar>) = bars.into_iter().partition(|bar| bar.at_least);
    let sections = [
        ("At least: the bar reaches the line", least),
        ("At most: the bar stays left of the line", most),
    ];
    let sections = sections.into_iter().filter(|(_, bars)| !bars.is_empty());
    let (mut body, mut y) = (String::new(), 64.0);
    for (title, bars) in sections {
        let _ = writeln!(body, "{}", text(16.0, y, INK, "start", 600, title));
        y += 14.0;
        let (top, goal) = (y, LEFT + scale(1.0));
        for bar in &bars {
            y += LINE;
            draw(&mut body, bar, y);
        }
        let bottom = y + 10.0;
        let _ = writeln!(
            body,
            r#"<line x1="{goal}" y1="{top}" x2="{goal}" y2="{bottom}" stroke="{INK}" stroke-width="1.5" stroke-dasharray="3 3"/>"#
        );
        let _ = writeln!(
            body,
            "{}",
            text(goal, top - 2.0, INK, "middle", 400, "goal")
        );
        y = bottom + 38.0;
    }
    page(y - 14.0, "Roost: figures against their goals", &body)
}

fn scale(share: f64) -> f64 {
    (WIDTH - LEFT - RIGHT) * share.min(LONGEST) / LONGEST
}

fn draw(body: &mut String, bar: &Bar, y: f64) {
    let (colour, length) = (
        if bar.met { MET } else { MISSED },
        scale(bar.share).max(2.0),
    );
    let _ = writeln!(body, "{}", text(LEFT - 12.0, y, INK, "end", 400, &bar.what));
    let top = y - 12.0;
    let _ = writeln!(
        body,
        r#"<rect x="{LEFT}" y="{top}" width="{length:.1}" height="16" rx="2" fill="{colour}"/>"#
    );
    if bar.share > LONGEST {
        // The bar is cut off.
        let (x, bottom) = (LEFT + length - 18.0, y + 5.0);
        let _ = writeln!(
            body,
            r##"<path d="M{x} {bottom} l6 -18 M{} {bottom} l6 -18" stroke="#fff" stroke-width="2"/>"##,
            x + 5.0
        );
    }
    // Behind the bar, or behind the line of the goal if the bar ends just before it.
    let near = (scale(1.0) - length).abs() < 60.0 || length < scale(1.0);
    let behind = if near { length.max(scale(1.0)) } else { length };
    let x = LEFT + behind + 8.0;
    let _ = writeln!(body, "{}", text(x, y, INK, "start", 400, &bar.label));
}

/// Curves of one part: time or bytes over something that was raised. Both axes grow by factors.
pub(crate) fn lines(rows: &[Row], part: &str, title: &str, x_title: &str) -> Option<String> {
    let mut curves: Vec<Vec<Point>> = Vec::new();
    for point in rows.iter().filter_map(|row| row.point(part)) {
        match curves.iter_mut().find(|it| it[0].curve == point.curve) {
            Some(points) => points.push(point),
            None => curves.push(vec![point]),
        }
    }
    let all = || curves.iter().flatten();
    let [left, right] = span(all().map(|point| point.x))?;
    let [low, high] = span(all().map(|point| point.y))?;
    let (top, bottom, from, to) = (70.0, 380.0, 100.0, WIDTH - 150.0);
    let at = |value: f64, [low, high]: [f64; 2]| (value / low).ln() / (high / low).ln();
    let place = |x: f64, y: f64| {
        let x = from + (to - from) * at(x, [left, right]);
        (x, bottom - (bottom - top) * at(y, [low / 1.3, high * 1.1]))
    };
    let mut body = String::new();
    let _ = writeln!(
        body,
        r#"<path d="M{from} {top} V{bottom} H{to}" fill="none" stroke="{FAINT}"/>"#
    );
    for point in curves.first().into_iter().flatten() {
        let (across, _) = place(point.x, point.y);
        let (tick, label) = (bottom + 5.0, format!("{:.0}", point.x));
        let _ = writeln!(
            body,
            r#"<path d="M{across:.1} {top} V{tick}" stroke="{RULE}"/>"#
        );
        let _ = writeln!(
            body,
            "{}",
            text(across, bottom + 22.0, INK, "middle", 400, &label)
        );
    }
    let middle = f64::midpoint(from, to);
    let _ = writeln!(
        body,
        "{}",
        text(middle, bottom + 46.0, INK, "middle", 400, x_title)
    );
    for (points, colour) in curves.iter().zip(COLOURS.iter().cycle()) {
        curve(&mut body, points, colour, place);
    }
    Some(page(bottom + 64.0, title, &body))
}

fn curve(
    body: &mut String,
    points: &[Point],
    colour: &str,
    place: impl Fn(f64, f64) -> (f64, f64),
) {
    let places: Vec<(f64, f64)> = points.iter().map(|it| place(it.x, it.y)).collect();
    let path: Vec<String> = places
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let _ = writeln!(
        body,
        r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
        path.join(" ")
    );
    for ((x, y), point) in places.iter().zip(points) {
        let _ = writeln!(
            body,
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="3.5" fill="{colour}"/>"#
        );
        let _ = writeln!(
            body,
            "{}",
            text(*x, y - 9.0, colour, "middle", 400, &point.label)
        );
    }
    if let (Some((x, y)), Some(point)) = (places.last(), points.last()) {
        let _ = writeln!(
            body,
            "{}",
            text(x + 34.0, y + 4.0, colour, "start", 600, point.curve)
        );
    }
}

/// Lowest and highest. `None` if there is no curve to draw.
fn span(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    let values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    (low < high).then_some([low, high])
}

fn text(x: f64, y: f64, colour: &str, anchor: &str, weight: u32, content: &str) -> String {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        r#"<text x="{x:.1}" y="{y:.1}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}">{content}</text>"#
    )
}

fn page(height: f64, title: &str, body: &str) -> String {
    let title =
        text(16.0, 30.0, INK, "start", 600, title).replacen("<text", "<text font-size=\"18\"", 1);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif\" font-size=\"12.5\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{title}\n{body}</svg>\n"
    )
}
