//! Which route a request takes. The most specific path wins, segment by segment: a literal before a variable before a
//! greedy variable, and a method of its own before `ANY`; `$default` takes what is left.

use std::cmp::Reverse;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// The routes of the API; `T` is what a route leads to.
pub(crate) struct Routes<T> {
    routes: Vec<Entry<T>>,
}

struct Entry<T> {
    method: String,
    path: String,
    segments: Vec<Segment>,
    target: T,
}

// In the order of preference.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
enum Segment {
    Literal(String),
    Variable(String),
    Greedy(String),
}

/// A route that takes the request.
pub(crate) struct Matched<'a, T> {
    /// `GET /v1/users/{id}`, or `$default`.
    pub(crate) key: String,
    pub(crate) path_parameters: Map<String, Value>,
    pub(crate) target: &'a T,
}

const DEFAULT: &str = "$default";

impl<T> Routes<T> {
    pub(crate) fn new(routes: impl IntoIterator<Item = (String, String, T)>) -> Self {
        let mut routes: Vec<_> = routes
            .into_iter()
            .map(|(method, path, target)| Entry {
                segments: parse(&path),
                method,
                path,
                target,
            })
            .collect();
        routes.sort_by_cached_key(|entry| {
            let preference: Vec<u8> = entry
                .segments
                .iter()
                .map(|segment| match segment {
                    Segment::Literal(_) => 0,
                    Segment::Variable(_) => 1,
                    Segment::Greedy(_) => 2,
                })
                .collect();
            (
                entry.path == DEFAULT,
                preference,
                Reverse(entry.segments.len()),
                entry.method == "ANY",
            )
        });
        Self { routes }
    }

    pub(crate) fn find(&self, method: &str, path: &str) -> Option<Matched<'_, T>> {
        self.routes.iter().find_map(|entry| {
            if entry.path == DEFAULT {
                return Some(Matched {
                    key: DEFAULT.to_owned(),
                    path_parameters: Map::new(),
                    target: &entry.target,
                });
            }
            if entry.method != "ANY" && entry.method != method {
                return None;
            }
            let path_parameters = take(&entry.segments, path)?;
            Some(Matched {
                key: format!("{} {}", entry.method, entry.path),
                path_parameters,
                target: &entry.target,
            })
        })
    }
}

fn parse(path: &str) -> Vec<Segment> {
    let segments = path.trim_start_matches('/').split('/');
    segments
        .map(|segment| {
            match segment
                .strip_prefix('{')
                .and_then(|inner| inner.strip_suffix('}'))
            {
                Some(name) => match name.strip_suffix('+') {
                    Some(name) => Segment::Greedy(name.to_owned()),
                    None => Segment::Variable(name.to_owned()),
                },
                None => Segment::Literal(segment.to_owned()),
            }
        })
        .collect()
}

/// The path's parameters, decoded; `None` if the path does not fit.
fn take(segments: &[Segment], path: &str) -> Option<Map<String, Value>> {
    let mut parameters = Map::new();
    let mut rest = Some(path.strip_prefix('/')?);
    for segment in segments {
        let remaining = rest?;
        let (part, after) = match remaining.split_once('/') {
            Some((part, after)) => (part, Some(after)),
            None => (remaining, None),
        };
        match segment {
            Segment::Literal(literal) if decode(part) == *literal => {}
            Segment::Variable(name) if !part.is_empty() => {
                parameters.insert(name.clone(), Value::String(decode(part)));
            }
            Segment::Greedy(name) if !remaining.is_empty() => {
                parameters.insert(name.clone(), Value::String(decode(remaining)));
                return Some(parameters);
            }
            _ => return None,
        }
        rest = after;
    }
    rest.is_none().then_some(parameters)
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes() -> Routes<u32> {
        let routes = [
            ("GET", "/v1/users/{id}", 1),
            ("GET", "/v1/users/me", 2),
            ("POST", "/v1/users", 3),
            ("GET", "/v1/users/by/handle/{handle}", 4),
            ("POST", "/v1/users/{id}/follow", 5),
            ("ANY", "/files/{path+}", 6),
            ("GET", "/files/list", 7),
            ("ANY", "/v1/users", 8),
        ];
        Routes::new(
            routes.map(|(method, path, target)| (method.to_owned(), path.to_owned(), target)),
        )
    }

    fn target(method: &str, path: &str) -> Option<u32> {
        routes().find(method, path).map(|matched| *matched.target)
    }

    #[test]
    fn the_most_specific_route_wins() {
        assert_eq!(target("GET", "/v1/users/me"), Some(2));
        assert_eq!(target("GET", "/v1/users/7"), Some(1));
        assert_eq!(target("GET", "/v1/users/by/handle/robin"), Some(4));
        assert_eq!(target("GET", "/files/list"), Some(7));
        assert_eq!(target("PUT", "/files/list"), Some(6));
        assert_eq!(target("POST", "/v1/users"), Some(3));
        assert_eq!(target("GET", "/v1/users"), Some(8));
    }

    #[test]
    fn what_fits_no_route_has_none() {
        for (method, path) in [
            ("DELETE", "/v1/users/me"),
            ("GET", "/v1/users/"),
            ("GET", "/v1/users/7/"),
            ("GET", "/v1"),
            ("GET", "/files/"),
            ("GET", "/"),
        ] {
            assert_eq!(target(method, path), None, "{method} {path}");
        }
    }

    #[test]
    fn parameters_are_decoded() {
        let routes = routes();
        let matched = routes.find("GET", "/v1/users/a%20b%2Fc").expect("a user");
        assert_eq!(matched.path_parameters["id"], "a b/c");
        assert_eq!(matched.key, "GET /v1/users/{id}");
        let matched = routes.find("GET", "/files/a/b").expect("a file");
        assert_eq!(matched.path_parameters["path"], "a/b");
    }

    #[test]
    fn the_default_route_takes_what_is_left() {
        let routes = Routes::new([
            ("ANY".to_owned(), DEFAULT.to_owned(), 1),
            ("GET".to_owned(), "/a".to_owned(), 2),
        ]);
        assert_eq!(
            routes.find("GET", "/a").map(|matched| *matched.target),
            Some(2)
        );
        assert_eq!(
            routes
                .find("GET", "/b")
                .map(|matched| (*matched.target, matched.key)),
            Some((1, DEFAULT.to_owned()))
        );
    }
}
