//! The tables, for the terminal and for COST.md.

use roost_tests::with_commas;
use std::fmt::Write as _;

use crate::habits::{
    CELEBRITY_PART, CELEBRITY_TWEETS, DAILY, DEPTH_MEDIAN, DEPTH_SPREAD, EACH_DAY, FOLLOWERS,
    LIVE_MINUTES, MONTHLY, POSTS, REPOSTS, SESSIONS,
};
use crate::memory::{CAP, CAPS};
use crate::model::{Measured, PEAK, SIZES, idle, shards, table_gb};
use crate::prices::{Prices, cache_units, gb_seconds, total};
use crate::scale;

/// The name that `report.md` has for it, and the table.
pub(crate) type Table = (&'static str, String);

/// The documents, with the words around the tables.
const DOCUMENTS: [(&str, &str); 2] = [
    ("COST.md", include_str!("report.md")),
    ("SCALE.md", include_str!("scale.md")),
];

/// The name of each document, and its text.
pub(crate) fn documents(tables: &[Table]) -> Vec<(&'static str, String)> {
    let filled = DOCUMENTS.map(|(name, words)| {
        let mut text = words.to_owned();
        for (place, table) in tables {
            text = text.replace(&format!("{{{{{place}}}}}"), table.trim_end());
        }
        (name, text)
    });
    filled.into()
}

pub(crate) fn tables(measured: &Measured, prices: &Prices) -> Vec<Table> {
    vec![
        ("habits", habits()),
        ("actions", actions(measured, prices)),
        ("tables", table_units(measured)),
        ("functions", functions(measured)),
        ("memory", memory(measured)),
        ("month", month(measured, prices)),
        ("volume", volume(measured)),
        ("ways", ways(measured, prices)),
        ("caps", caps(measured, prices)),
        ("idle", idle_table(prices)),
        ("prices", price_table(prices)),
        ("verdict", verdict(measured, prices)),
        ("scale", scale::sizes(measured, prices)),
        ("thresholds", scale::thresholds()),
    ]
}

pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = format!("| {} |\n|{}\n", head.join(" | "), "---|".repeat(head.len()));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

fn habits() -> String {
    let percent = |part: f64| format!("{} %", short(part * 100.0));
    let mut rows = vec![
        vec![
            "people who read in a month, of those who signed up".to_owned(),
            percent(MONTHLY),
        ],
        vec!["people who read on a day".to_owned(), percent(DAILY)],
        vec![
            "people whom one follows, and so followers, on average".to_owned(),
            short(FOLLOWERS),
        ],
        vec![
            "deliveries that would go to followers of celebrities, and are pulled instead"
                .to_owned(),
            percent(CELEBRITY_PART),
        ],
        vec![
            "tweets that celebrities write".to_owned(),
            percent(CELEBRITY_TWEETS),
        ],
    ];
    let daily = [("post", POSTS), ("repost", REPOSTS)];
    for (name, times) in EACH_DAY.into_iter().chain(daily) {
        rows.push(vec![format!("{name}, a day and reader"), short(times)]);
    }
    rows.push(vec![
        "minutes connected for live updates, a day and reader".to_owned(),
        short(LIVE_MINUTES),
    ]);
    rows.push(vec![
        "sessions, a day and reader".to_owned(),
        short(SESSIONS),
    ]);
    rows.push(vec![
        "entries that a session goes down: median and spread of a log-normal distribution"
            .to_owned(),
        format!("{DEPTH_MEDIAN}, {DEPTH_SPREAD}"),
    ]);
    table(&["habit (assumed)", "value"], rows)
}

fn actions(measured: &Measured, prices: &Prices) -> String {
    let head = [
        "action",
        "invocations",
        "processor ms",
        "reads",
        "writes",
        "records",
        "cache commands",
        "round trips",
        "cache KB",
        "log KB",
        "answer KB",
        "USD a million",
    ];
    let follower = measured.follower();
    let actions = measured.actions.iter();
    let actions = actions.map(|(name, counts)| (name.as_str(), counts));
    let all = actions.chain([("each further follower of a post", &follower)]);
    let rows = all.map(|(name, counts)| {
        let kb = |names: [&str; 2]| {
            short(names.iter().map(|name| counts.all(name)).sum::<f64>() / 1_024.0)
        };
        let bill = prices.bill(counts, &measured.memory_mb);
        vec![
            name.to_owned(),
            short(counts.all("invocations")),
            short(counts.all("cpu_ms")),
            short(counts.all("reads")),
            short(counts.all("writes")),
            short(counts.all("records")),
            short(counts.all("cache_commands")),
            short(counts.all("cache_round_trips")),
            kb(["cache_bytes_in", "cache_bytes_out"]),
            kb(["log_bytes", ""]),
            kb(["answer_bytes", ""]),
            short(total(&bill) * 1e6),
        ]
    });
    table(&head, rows)
}

fn table_units(measured: &Measured) -> String {
    let rows = measured.actions.iter().map(|(name, counts)| {
        let units = |kind| {
            let tables = counts.each(kind).filter(|(_, units)| *units >= 0.005);
            let tables: Vec<String> = tables
                .map(|(table, units)| format!("{table} {}", short(units)))
                .collect();
            tables.join(", ")
        };
        vec![name.clone(), units("reads"), units("writes")]
    });
    table(&["action", "read units", "write units"], rows)
}

fn functions(measured: &Measured) -> String {
    let mut rows = Vec::new();
    for (name, counts) in &measured.actions {
        let used = counts.each("invocations").filter(|(_, n)| *n >= 0.05);
        let used: Vec<String> = used
            .map(|(function, times)| {
                let of = |kind: &str| {
                    let found = counts.each(kind).find(|(name, _)| *name == function);
                    found.map_or(0.0, |(_, number)| number)
                };
                let memory = measured.memory_mb.get(function).copied();
                format!(
                    "{function} {} × ({} ms of processor, {} requests to tables, {} MB)",
                    short(times),
                    short(of("cpu_ms") / times),
                    short(of("table_requests") / times),
                    short(memory.unwrap_or(256.0)),
                )
            })
            .collect();
        rows.push(vec![name.clone(), used.join("; ")]);
    }
    table(&["action", "functions"], rows)
}

fn memory(measured: &Measured) -> String {
    let memory = &measured.memory;
    let entries = CAP as f64;
    let row = |what: &str, bytes: f64, entry: f64| {
        let entry = if entry > 0.0 {
            format!("{:.1}", bytes / entry)
        } else {
            String::new()
        };
        vec![what.to_owned(), commas(bytes), entry]
    };
    let rows = [
        row(
            "our list of 800 entries of 16 bytes",
            memory.list(),
            entries,
        ),
        row(
            "a sorted set of 800 ids of 19 digits, with the id as score",
            memory.sorted_set(),
            entries,
        ),
        row("the other keys of one reader", memory.reader, 0.0),
        row("a cached tweet with its counts", memory.tweet, 0.0),
        row("a cached profile with its counts", memory.profile, 0.0),
    ];
    let table = table(&["what", "bytes", "bytes an entry"], rows);
    format!("By {}:\n\n{table}", memory.server)
}

fn month(measured: &Measured, prices: &Prices) -> String {
    let bills = SIZES.map(|people| measured.month(people, prices));
    let mut rows: Vec<Vec<String>> = bills[0]
        .keys()
        .map(|service| {
            let mut row = vec![(*service).to_owned()];
            row.extend(bills.iter().map(|bill| dollars(bill[service])));
            row
        })
        .collect();
    let mut sums = vec!["**together**".to_owned()];
    sums.extend(
        bills
            .iter()
            .map(|bill| format!("**{}**", dollars(total(bill)))),
    );
    rows.push(sums);
    let mut each = vec!["for each person who reads in that month".to_owned()];
    each.extend(
        bills
            .iter()
            .zip(SIZES)
            .map(|(bill, people)| format!("{:.4}", total(bill) / (people * MONTHLY))),
    );
    rows.push(each);
    let mut pool = vec!["user pool (`LITE`), not in the sum".to_owned()];
    pool.extend(SIZES.map(|people| {
        let billed = (people * MONTHLY - 1e4).max(0.0);
        dollars(billed * prices.of("pool_user"))
    }));
    rows.push(pool);
    table(
        &["USD a month", "10 K people", "1 M people", "100 M people"],
        rows,
    )
}

fn volume(measured: &Measured) -> String {
    let day = measured.day();
    let mut rows = Vec::new();
    let mut add = |what: &str, of: &dyn Fn(f64) -> f64| {
        let mut row = vec![what.to_owned()];
        row.extend(SIZES.map(|people| large(of(people))));
        rows.push(row);
    };
    let second = |people: f64, number: f64| people * DAILY * number / 86_400.0 * PEAK;
    add("requests a second", &|people| {
        second(people, day.all("requests"))
    });
    add("invocations a second", &|people| {
        second(people, day.all("invocations"))
    });
    let busy = gb_seconds(&day, &measured.memory_mb) * 2.0;
    add("executions at once, of 512 MB", &|people| {
        second(people, busy)
    });
    add("read units a second", &|people| {
        second(people, day.all("reads"))
    });
    add("write units a second", &|people| {
        second(people, day.all("writes"))
    });
    add("cache units a second", &|people| {
        second(people, cache_units(&day))
    });
    add("shards of all streams", &|people| {
        shards(&day.times(people * DAILY * 365.0 / 12.0))
    });
    for what in ["lists", "other keys of readers", "tweets", "profiles"] {
        add(&format!("GB in the cache: {what}"), &|people| {
            measured.cache_gb(people)[what]
        });
    }
    add("GB in tables after a year", &table_gb);
    table(
        &[
            "at the busiest moment",
            "10 K people",
            "1 M people",
            "100 M people",
        ],
        rows,
    )
}

fn ways(measured: &Measured, prices: &Prices) -> String {
    let mut rows = Vec::new();
    for people in [1e6, 1e8] {
        let ways = measured.timelines(people, prices);
        let ours = ways[0].total();
        for way in ways {
            rows.push(vec![
                large(people),
                way.name.to_owned(),
                dollars(way.kept),
                dollars(way.written),
                dollars(way.read),
                dollars(way.total()),
                format!("{:.1}", way.total() / ours),
            ]);
        }
    }
    let head = [
        "people",
        "timelines, USD a month",
        "kept",
        "written",
        "read",
        "together",
        "times ours",
    ];
    table(&head, rows)
}

fn verdict(measured: &Measured, prices: &Prices) -> String {
    let ways = measured.timelines(1e8, prices);
    let times = |number: usize| ways[number].total() / ways[0].total();
    let per_entry = measured.memory.sorted_set() / measured.memory.list();
    let says = |times: f64| {
        if times >= 5.0 {
            "holds"
        } else {
            "does not hold"
        }
    };
    format!(
        "The goal is timelines that are at least 5 times cheaper than sorted sets at 100 M people. Against the classic push, which\n\
         keeps a sorted set for everybody, it {}: {:.1} times. Against sorted sets that are kept for active readers only, as ours\n\
         are, it {}: {:.1} times. Of that, {per_entry:.1} times is the size of an entry, and the rest of the first figure is that only {} % of the\n\
         people have a list.\n",
        says(times(2)),
        times(2),
        says(times(3)),
        times(3),
        short(MONTHLY * 100.0),
    )
}

fn caps(measured: &Measured, prices: &Prices) -> String {
    let head = [
        "`TimelineCap`",
        "bytes of a list",
        "1 M active readers, USD a month",
        "100 M active readers",
        "sessions that go below (assumed habits)",
        "USD a month for the tables that they read, 1 M",
    ];
    let rows = measured.caps(prices).into_iter();
    let rows = rows.map(|[cap, bytes, million, hundred, below, tables]| {
        vec![
            commas(cap),
            commas(bytes),
            dollars(million),
            dollars(hundred),
            format!("{:.2} %", below * 100.0),
            dollars(tables),
        ]
    });
    debug_assert_eq!(CAPS.len(), rows.len());
    table(&head, rows)
}

fn idle_table(prices: &Prices) -> String {
    let idle = idle(prices);
    let sum: f64 = idle.iter().map(|(_, usd)| usd).sum();
    let mut rows: Vec<Vec<String>> = idle
        .iter()
        .map(|(what, usd)| vec![(*what).to_owned(), format!("{usd:.2}")])
        .collect();
    rows.push(vec!["**together**".to_owned(), format!("**{sum:.2}**")]);
    table(&["idle deployment", "USD a month"], rows)
}

fn price_table(prices: &Prices) -> String {
    let rows = prices.each().map(|price| {
        vec![
            price.name.clone(),
            price.unit.clone(),
            price.usd.to_string(),
        ]
    });
    let table = table(&["price", "unit", "USD"], rows);
    format!("{}, {}:\n\n{table}", prices.region, prices.date)
}

/// Two digits that matter, or whole numbers.
pub(crate) fn short(number: f64) -> String {
    let digits = match number.abs() {
        n if n.fract() == 0.0 => 0,
        n if n >= 100.0 => 0,
        n if n >= 10.0 => 1,
        n if n >= 0.1 => 2,
        n if n >= 0.01 => 3,
        _ => 5,
    };
    let text = format!("{number:.digits$}");
    if digits == 0 {
        return commas(number);
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

pub(crate) fn dollars(usd: f64) -> String {
    if usd < 10.0 {
        format!("{usd:.2}")
    } else {
        commas(usd)
    }
}

pub(crate) fn large(number: f64) -> String {
    match number {
        n if n >= 1e9 => format!("{} billion", short(n / 1e9)),
        n if n >= 1e6 => format!("{} M", short(n / 1e6)),
        n if n >= 1e4 => format!("{} K", short(n / 1e3)),
        n => short(n),
    }
}

pub(crate) fn commas(number: f64) -> String {
    with_commas(number.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_in_the_documents_has_a_table_and_every_table_a_place() {
        let names = [
            "habits",
            "actions",
            "tables",
            "functions",
            "memory",
            "month",
            "volume",
            "ways",
            "caps",
            "idle",
            "prices",
            "verdict",
            "scale",
            "thresholds",
        ];
        let filled = documents(&names.map(|name| (name, "filled".to_owned())));
        for (document, text) in &filled {
            assert!(
                !text.contains("{{"),
                "{document} has a place without a table"
            );
        }
        let all: String = DOCUMENTS.map(|(_, words)| words).concat();
        for name in names {
            assert!(all.contains(&format!("{{{{{name}}}}}")), "{name}");
        }
    }

    #[test]
    fn numbers_are_as_long_as_they_say_something() {
        for (number, text) in [
            (0.0, "0"),
            (0.0344, "0.034"),
            (2.0, "2"),
            (2.5, "2.5"),
            (12.34, "12.3"),
            (1_234.5, "1,235"),
        ] {
            assert_eq!(short(number), text);
        }
        assert_eq!(large(3.2e7), "32 M");
        assert_eq!(dollars(0.456), "0.46");
    }
}
