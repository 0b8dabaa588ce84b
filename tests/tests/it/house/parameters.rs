//! The query parameters of every route: what a handler names is what it reads.

use std::collections::{BTreeMap, BTreeSet};

use super::sources;

/// What reads parameters whose names do not stand beside it.
const READERS: [(&str, &[&str]); 9] = [
    ("http::page_size(", &["limit"]),
    ("http::cursor(", &["cursor"]),
    ("http::cursor_text(", &["cursor"]),
    ("http::list_cursor(", &["cursor"]),
    ("http::since(", &["since", "since_id"]),
    ("http::ids(", &["ids"]),
    ("Expansion::parse(", &["expand"]),
    ("people::related(", &["limit", "cursor"]),
    ("PeopleLists::new(", &["limit", "cursor", "expand"]),
];

/// What reads the parameter that is named behind it.
const NAMING: [&str; 3] = [
    "http::query(request, \"",
    "http::parameter(request, \"",
    "http::switch(request, \"",
];

/// The code of every handler of a route, without its tests, by the name of its function.
fn handlers() -> BTreeMap<String, String> {
    let files = sources("functions").into_iter();
    let handlers = files.filter_map(|(path, text)| {
        let function = path.to_str()?.strip_suffix("/src/handler.rs")?;
        let code = text.split("#[cfg(test)]").next()?;
        let is_route = code.contains("impl http::Handler") || code.contains("impl http::Subject");
        is_route.then(|| (function.to_owned(), code.to_owned()))
    });
    handlers.collect()
}

/// What `PARAMETERS` says; nothing if a handler does not say anything.
pub(super) fn named(code: &str) -> BTreeSet<&str> {
    let Some((_, after)) = code.split_once("const PARAMETERS: &[&str] = &[") else {
        return BTreeSet::new();
    };
    let (list, _) = after.split_once(']').expect("the end of a list");
    list.split('"').skip(1).step_by(2).collect()
}

fn is_read(code: &str) -> BTreeSet<&str> {
    let by_readers = READERS.iter().filter(|(reader, _)| code.contains(reader));
    let by_readers = by_readers.flat_map(|(_, names)| names.iter().copied());
    let by_name = NAMING.iter().flat_map(|naming| {
        let behind = code.split(naming).skip(1);
        behind.filter_map(|rest| rest.split('"').next())
    });
    by_readers.chain(by_name).collect()
}

#[test]
fn a_handler_reads_the_parameters_that_it_names_and_no_other() {
    let handlers = handlers();
    assert!(handlers.len() > 30, "only {} were found", handlers.len());
    for (function, code) in &handlers {
        assert_eq!(named(code), is_read(code), "{function}");
    }
}
