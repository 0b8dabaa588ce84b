//! The query of a request. A handler names the parameters that it knows in [`super::http::Handler::PARAMETERS`]; all others
//! are refused, because a typo must not pass in silence.

use std::collections::BTreeSet;

use lambda_http::RequestExt;
use lambda_http::http::header;

use super::http::Request;
use crate::domain::seal::unseal;
use crate::domain::{Cursor, IdList, KnownTags, PageSize, TweetId, UserId};
use crate::{Error, Mistake, Result};

/// The parameter that may be given several times: its values are a list.
const LIST: &str = "ids";

/// Refuses parameters that nobody knows, and those that are given twice.
pub(super) fn check(request: &Request, known: &[&str]) -> Result<()> {
    let given = request.query_string_parameters_ref();
    let given = given.into_iter().flat_map(|parameters| parameters.iter());
    let (mut seen, mut unknown, mut twice) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (name, _) in given {
        if !known.contains(&name) {
            unknown.insert(name);
        } else if !seen.insert(name) && name != LIST {
            twice.insert(name);
        }
    }
    let told = |names: BTreeSet<&str>, what: &str| -> Vec<Mistake> {
        let mistake = |name: &str| Mistake::in_query(name, what.replace("{}", name));
        names.into_iter().map(mistake).collect()
    };
    if !unknown.is_empty() {
        let mistakes = told(unknown, "there is no parameter \"{}\" here");
        return Err(Error::UnknownParameters(mistakes));
    }
    if !twice.is_empty() {
        let mistakes = told(twice, "{} may be given once");
        return Err(Error::WrongParameters(mistakes));
    }
    Ok(())
}

/// A parameter that cannot be read.
pub fn wrong_parameter(name: &str, detail: impl Into<String>) -> Error {
    Error::WrongParameters(vec![Mistake::in_query(name, detail)])
}

/// A parameter of the query, if it is there.
pub fn query<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request
        .query_string_parameters_ref()
        .and_then(|parameters| parameters.first(name))
}

/// A parameter of the query, read by `parse`.
pub fn parameter<T>(
    request: &Request,
    name: &str,
    parse: impl FnOnce(&str) -> Result<T>,
) -> Result<Option<T>> {
    let parsed = query(request, name).map(parse).transpose();
    parsed.map_err(|error| at(name, error))
}

/// Says which parameter an error is about.
fn at(name: &str, error: Error) -> Error {
    match error {
        Error::Malformed(detail) | Error::Invalid(detail) if detail.contains(name) => {
            wrong_parameter(name, detail)
        }
        Error::Malformed(detail) | Error::Invalid(detail) => {
            wrong_parameter(name, format!("{name}: {detail}"))
        }
        other => other,
    }
}

/// What was read by two of these functions, or what is wrong with both.
pub fn both<A, B>(a: Result<A>, b: Result<B>) -> Result<(A, B)> {
    match (a, b) {
        (Err(a), Err(b)) => Err(together(a, b)),
        (a, b) => Ok((a?, b?)),
    }
}

/// One error for two. What is no mistake in the query goes first, because it says more.
fn together(a: Error, b: Error) -> Error {
    let mistakes = |error: Error| match error {
        Error::WrongParameters(mistakes) => Ok(mistakes),
        Error::ForeignCursor => {
            let detail = Error::ForeignCursor.to_string();
            Ok(vec![Mistake::in_query("cursor", detail)])
        }
        other => Err(other),
    };
    match (mistakes(a), mistakes(b)) {
        (Ok(a), Ok(b)) => Error::WrongParameters([a, b].concat()),
        (Err(error), _) | (_, Err(error)) => error,
    }
}

/// `ids` of the query, each read by `parse`.
pub fn ids<T: PartialEq>(
    request: &Request,
    parse: impl Fn(&str) -> Result<T>,
) -> Result<IdList<T>> {
    // Given several times, it is as if they were given at once: so the gateway has it, too.
    let given = request
        .query_string_parameters_ref()
        .and_then(|parameters| parameters.all(LIST));
    let given = given.ok_or_else(|| wrong_parameter(LIST, "ids is missing"))?;
    IdList::parse(&given.join(","), parse).map_err(|error| at(LIST, error))
}

/// `limit` of the query.
pub fn page_size(request: &Request) -> Result<PageSize> {
    let size = parameter(request, "limit", PageSize::parse)?;
    Ok(size.unwrap_or(PageSize::DEFAULT))
}

/// The id above which a list is read upwards. It has two names, which mean the same.
pub fn since(request: &Request) -> Result<Option<TweetId>> {
    let by = |name| parameter(request, name, TweetId::parse);
    match (by("since")?, by("since_id")?) {
        (Some(since), Some(since_id)) if since != since_id => Err(wrong_parameter(
            "since_id",
            "since and since_id mean the same, and are not the same here; give one of them",
        )),
        (since, since_id) => Ok(since.or(since_id)),
    }
}

/// A switch of the query: `true`, `false`, or not there, which is `false`.
pub fn switch(request: &Request, name: &str) -> Result<bool> {
    match query(request, name) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(wrong_parameter(name, format!("{name} is true or false"))),
    }
}

/// `cursor` of the query, in a list of tweets.
pub fn cursor(request: &Request) -> Result<Option<Cursor>> {
    parameter(request, "cursor", Cursor::parse)
}

/// A cursor of another kind than [`Cursor`], still to be parsed.
pub fn cursor_text(request: &Request) -> Option<&str> {
    query(request, "cursor")
}

/// `cursor` of the query, in a list that belongs to one person: somebody else's is refused.
pub fn list_cursor<C>(
    request: &Request,
    owner: UserId,
    parse: impl FnOnce(&str) -> Result<C>,
) -> Result<Option<C>> {
    parameter(request, "cursor", |text| parse(unseal(owner, text)?))
}

/// The tags of what the client has already. Not of the query, but asked for as one asks for a page.
pub fn known_tags(request: &Request) -> Option<KnownTags> {
    let lines = request.headers().get_all(header::IF_NONE_MATCH);
    let lines: Vec<&str> = lines.iter().filter_map(|line| line.to_str().ok()).collect();
    (!lines.is_empty()).then(|| KnownTags::parse(&lines.join(",")))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use lambda_http::Body;

    use super::*;
    use crate::Place;

    fn request(parameters: &[(&str, &[&str])]) -> Request {
        let parameters = parameters.iter().map(|(name, values)| {
            let values = values.iter().map(ToString::to_string).collect();
            ((*name).to_owned(), values)
        });
        let parameters: HashMap<String, Vec<String>> = parameters.collect();
        Request::new(Body::Empty).with_query_string_parameters(parameters)
    }

    fn problem(result: Result<()>) -> Option<String> {
        result.err().map(|error| error.to_string())
    }

    #[test]
    fn a_parameter_that_nobody_knows_is_refused() {
        let asked = request(&[("limit", &["5"]), ("curser", &["7"])]);
        let told = problem(check(&asked, &["limit", "cursor"]));
        assert_eq!(
            told.as_deref(),
            Some("there is no parameter \"curser\" here")
        );
        assert!(check(&asked, &["limit", "curser"]).is_ok());
        assert!(check(&request(&[]), &[]).is_ok());
    }

    #[test]
    fn a_parameter_is_given_once_unless_it_is_a_list() {
        let twice = request(&[("limit", &["5", "5"])]);
        assert_eq!(
            problem(check(&twice, &["limit"])).as_deref(),
            Some("limit may be given once")
        );
        assert!(check(&request(&[("ids", &["1", "2"])]), &["ids"]).is_ok());
    }

    #[test]
    fn all_parameters_that_are_wrong_are_told_at_once() {
        let asked = request(&[("limit", &["x"]), ("cursor", &["y"]), ("explain", &["z"])]);
        let read = both(
            both(page_size(&asked), cursor(&asked)),
            switch(&asked, "explain"),
        );
        let Err(Error::WrongParameters(mistakes)) = read else {
            panic!("{read:?}");
        };
        let places: Vec<Place> = mistakes.into_iter().map(|mistake| mistake.place).collect();
        let expected = ["limit", "cursor", "explain"];
        assert_eq!(
            places,
            expected.map(|name| Place::Parameter(name.to_owned()))
        );
        let alone = both(Ok(()), cursor(&asked));
        assert!(matches!(alone, Err(Error::ForeignCursor)));
    }

    #[test]
    fn since_has_two_names() {
        let read = |parameters: &[(&str, &[&str])]| since(&request(parameters));
        let seven = Some(TweetId::new(7));
        assert_eq!(read(&[("since", &["7"])]).expect("an id"), seven);
        assert_eq!(read(&[("since_id", &["7"])]).expect("an id"), seven);
        let both = read(&[("since_id", &["7"]), ("since", &["7"])]);
        assert_eq!(both.expect("an id"), seven);
        assert_eq!(read(&[]).expect("nothing"), None);
        assert!(read(&[("since_id", &["7"]), ("since", &["8"])]).is_err());
        assert!(read(&[("since", &["x"])]).is_err());
    }
}
