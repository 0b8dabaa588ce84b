//! The layers of `shared/`: each names only itself and those before it in this list.

use std::path::Path;

use super::sources;

const LAYERS: [&str; 5] = ["domain", "platform", "stores", "flows", "runtime"];

/// What the domain must not know: where data comes from, and what time it is.
const NOT_IN_THE_DOMAIN: [&str; 5] = ["aws_", "redis::", "SystemTime", "Instant", "tokio"];

/// The modules of the crate that a text names by `crate::…`, comments aside.
fn named(text: &str) -> Vec<String> {
    let code: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let code = code.join("\n");
    let mut names = Vec::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            None => names.extend(first_word(after)),
            // `crate::{Error, stores::{Users, Tweets}}`: what stands at the first level counts.
            Some(group) => {
                let mut depth = 0;
                let end = group.find(|c| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    depth < 0
                });
                let mut depth = 0;
                let parts = group[..end.unwrap_or(group.len())].split(|c| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    c == ',' && depth == 0
                });
                names.extend(parts.filter_map(|part| first_word(part.trim())));
            }
        }
    }
    names
}

fn first_word(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let word = &text[..end.unwrap_or(text.len())];
    (!word.is_empty()).then(|| word.to_owned())
}

/// How many `super::` it takes to leave the layer: one more than the module lies below it.
fn depth(path: &Path) -> usize {
    path.with_extension("")
        .components()
        .filter(|part| part.as_os_str() != "mod")
        .count()
}

/// What is wrong with a file, if anything.
fn step_up(path: &Path, text: &str) -> Option<String> {
    let layer = path.components().next()?.as_os_str().to_str()?;
    let layer = layer.trim_end_matches(".rs");
    let own = LAYERS.iter().position(|name| *name == layer)?;
    let above = named(text).into_iter().find(|name| {
        let place = LAYERS.iter().position(|layer| layer == name);
        place.is_some_and(|place| place > own)
    });
    if let Some(above) = above {
        return Some(format!("{} names crate::{above}", path.display()));
    }
    let escape = "super::".repeat(depth(path));
    // A module of tests inside the file is one level deeper, and it says `use super::*`.
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.contains(&escape)
        .then(|| format!("{} leaves its layer by {escape}", path.display()))
}

#[test]
fn no_layer_of_shared_names_one_below_it() {
    let files = sources("shared/src");
    for layer in LAYERS {
        assert!(files.iter().any(|(path, _)| path.starts_with(layer)));
    }
    let wrong: Vec<String> = files
        .iter()
        .filter_map(|(path, text)| step_up(path, text))
        .collect();
    assert!(
        wrong.is_empty(),
        "the layers are {LAYERS:?}, each names only those before it:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_domain_names_no_aws_no_redis_and_no_clock() {
    for (path, text) in sources("shared/src/domain") {
        let code = text.lines().filter(|line| !line.trim().starts_with("//"));
        for line in code {
            let named = NOT_IN_THE_DOMAIN.iter().find(|name| line.contains(**name));
            assert_eq!(named, None, "{}: {line}", path.display());
        }
    }
}

#[test]
fn a_step_up_is_found_however_it_is_written() {
    let wrong = |path: &str, text: &str| step_up(Path::new(path), text).is_some();
    assert!(wrong("stores/users.rs", "use crate::runtime::http;"));
    assert!(wrong(
        "stores/users.rs",
        "use crate::{\n    Error, runtime::http,\n};"
    ));
    assert!(wrong("stores/users.rs", "fn now() { crate::flows::now() }"));
    assert!(wrong("stores/users.rs", "use super::super::runtime::http;"));
    assert!(wrong("platform/redis/node.rs", "use crate::stores::Users;"));
    assert!(wrong("platform/mod.rs", "use super::stores::Users;"));

    assert!(!wrong(
        "stores/users.rs",
        "use crate::{Error, platform::{Roost, metrics}};"
    ));
    assert!(!wrong(
        "stores/users.rs",
        "//! See [`crate::runtime`].\nuse super::keys;"
    ));
    assert!(!wrong(
        "flows/home_timeline/walk.rs",
        "use super::super::rebuild::Rebuilt;"
    ));
    assert!(!wrong("runtime/http.rs", "use crate::stores::Users;"));
}
