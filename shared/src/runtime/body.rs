//! The body of a request: a JSON object that is read field by field.
//!
//! Every mistake is noted instead of ending the reading, so that a client learns of all of them at once, and in our words
//! instead of a parser's. A field that nobody has read is unknown, which is a mistake, too.

use serde_json::{Map, Value};

use super::http::Request;
use crate::{Error, Mistake, Result};

/// The largest body that is read.
const MOST_BYTES: usize = 32 * 1024;

/// So many unknown fields are named. A body has room for thousands.
const MOST_UNKNOWN: usize = 20;

/// An object of the body: the body itself, or an item of a list in it.
pub struct Fields {
    /// What was not read yet.
    left: Map<String, Value>,
    /// Where the object is: a JSON pointer, empty for the body itself.
    pointer: String,
    mistakes: Vec<Mistake>,
}

impl Fields {
    /// The body: 413 if it is too large, 400 if it is not JSON, 422 if it is no object.
    pub fn of(request: &Request) -> Result<Self> {
        let bytes: &[u8] = request.body();
        if bytes.len() > MOST_BYTES {
            return Err(Error::TooLarge(format!(
                "a body has at most {MOST_BYTES} bytes"
            )));
        }
        match serde_json::from_slice(bytes) {
            Ok(Value::Object(fields)) => Ok(Self::new(fields, String::new())),
            Ok(_) => {
                let mistake = Mistake::in_body("", "the body must be a JSON object");
                Err(Error::InvalidFields(vec![mistake]))
            }
            Err(_) => Err(Error::Malformed("the body is not JSON".to_owned())),
        }
    }

    fn new(left: Map<String, Value>, pointer: String) -> Self {
        Self {
            left,
            pointer,
            mistakes: Vec::new(),
        }
    }

    /// A text that has to be there.
    pub fn text<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T>) -> Option<T> {
        match self.left.remove(name) {
            Some(Value::String(text)) => self.noted(name, parse(&text)),
            Some(_) => self.mistake(name, "must be a string"),
            None => self.mistake(name, "is missing"),
        }
    }

    /// A text that may be missing. `null` is the same as missing.
    pub fn optional_text<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T>,
    ) -> Option<T> {
        match self.left.get(name) {
            Some(Value::Null) => {
                self.left.remove(name);
                None
            }
            Some(_) => self.text(name, parse),
            None => None,
        }
    }

    /// A text that changes something. `None` if it is missing; `parse` gets `None` for `null`, which removes what is there.
    pub fn change<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(Option<&str>) -> Result<T>,
    ) -> Option<T> {
        match self.left.remove(name)? {
            Value::String(text) => self.noted(name, parse(Some(&text))),
            Value::Null => self.noted(name, parse(None)),
            _ => self.mistake(name, "must be a string or null"),
        }
    }

    /// A whole number that has to be there, from 0 on.
    pub fn number(&mut self, name: &str) -> Option<u64> {
        match self.left.remove(name) {
            Some(value) => match whole(&value) {
                Some(number) => Some(number),
                None => self.mistake(name, "must be a whole number, 0 or larger"),
            },
            None => self.mistake(name, "is missing"),
        }
    }

    /// A list of objects that may be missing. `read` gets one at a time.
    pub fn list<T>(
        &mut self,
        name: &str,
        most: usize,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Vec<T> {
        let items = match self.left.remove(name) {
            Some(Value::Array(items)) if items.len() <= most => items,
            None | Some(Value::Null) => return Vec::new(),
            Some(_) => {
                let _: Option<()> =
                    self.mistake(name, &format!("must be a list of at most {most}"));
                return Vec::new();
            }
        };
        let mut all = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            let pointer = format!("{}/{index}", self.pointer_to(name));
            let Value::Object(fields) = item else {
                let detail = format!("each item of {name} must be an object");
                self.mistakes.push(Mistake::in_body(pointer, detail));
                continue;
            };
            let mut fields = Self::new(fields, pointer);
            all.extend(read(&mut fields));
            self.mistakes.extend(fields.all_mistakes());
        }
        all
    }

    /// What the request asks for, or everything that is wrong with it. `make` gives `None` only after a mistake.
    pub fn finish<T>(self, make: impl FnOnce() -> Option<T>) -> Result<T> {
        let mistakes = self.all_mistakes();
        match make().filter(|_| mistakes.is_empty()) {
            Some(made) => Ok(made),
            None => Err(Error::InvalidFields(mistakes)),
        }
    }

    fn all_mistakes(mut self) -> Vec<Mistake> {
        let unknown: Vec<String> = self.left.keys().take(MOST_UNKNOWN).cloned().collect();
        for name in unknown {
            let mistake = Mistake::in_body(
                self.pointer_to(&name),
                format!("there is no field \"{name}\""),
            );
            self.mistakes.push(mistake);
        }
        self.mistakes
    }

    fn noted<T>(&mut self, name: &str, parsed: Result<T>) -> Option<T> {
        match parsed {
            Ok(value) => Some(value),
            Err(error) => {
                let mut detail = error.to_string();
                if !detail.contains(name) {
                    detail = format!("{name}: {detail}");
                }
                self.mistakes
                    .push(Mistake::in_body(self.pointer_to(name), detail));
                None
            }
        }
    }

    fn mistake<T>(&mut self, name: &str, what: &str) -> Option<T> {
        let mistake = Mistake::in_body(self.pointer_to(name), format!("{name} {what}"));
        self.mistakes.push(mistake);
        None
    }

    /// As RFC 6901 writes it.
    fn pointer_to(&self, name: &str) -> String {
        let name = name.replace('~', "~0").replace('/', "~1");
        format!("{}/{name}", self.pointer)
    }
}

/// JSON has one kind of number, so `2.0` is as whole as `2`.
fn whole(value: &Value) -> Option<u64> {
    // Larger numbers are none that we have given out.
    const END: u64 = 1 << 53;
    let is_whole = |number: &f64| number.fract() == 0.0 && (0.0..END as f64).contains(number);
    let number = value.as_u64().filter(|number| *number < END);
    number.or_else(|| value.as_f64().filter(is_whole).map(|number| number as u64))
}

#[cfg(test)]
mod tests {
    use lambda_http::Body;
    use serde_json::json;

    use super::*;
    use crate::domain::{DisplayName, TweetId};

    fn body(text: &str) -> Result<Fields> {
        Fields::of(&Request::new(Body::Text(text.to_owned())))
    }

    /// `{name, last?, version, items: [{name}]}`.
    fn read(text: &str) -> Result<(DisplayName, Option<TweetId>, u64, usize)> {
        let mut body = body(text)?;
        let name = body.text("name", DisplayName::parse);
        let last = body.optional_text("last", TweetId::parse);
        let version = body.number("version");
        let items = body.list("items", 2, |item| item.text("name", DisplayName::parse));
        body.finish(|| Some((name?, last, version?, items.len())))
    }

    fn pointers(text: &str) -> Vec<String> {
        let Err(Error::InvalidFields(mistakes)) = read(text) else {
            panic!("{text} was read");
        };
        let mistakes = serde_json::to_value(mistakes).expect("serializes");
        let mistakes = mistakes.as_array().expect("a list").clone();
        let pointer = |mistake: &Value| mistake["pointer"].as_str().expect("a pointer").to_owned();
        mistakes.iter().map(pointer).collect()
    }

    #[test]
    fn a_good_body_is_read() {
        for last in [r#""last": null,"#, ""] {
            let text =
                format!(r#"{{"name": "Ada", {last} "version": 0, "items": [{{"name": "x"}}]}}"#);
            let (name, last, version, items) = read(&text).expect("a good body");
            assert_eq!((name.as_str(), last, version, items), ("Ada", None, 0, 1));
        }
    }

    #[test]
    fn every_mistake_is_told_at_once() {
        let text =
            r#"{"name": 5, "last": "x", "version": -1, "items": [{"name": null}, 7], "a/b~c": 1}"#;
        let expected = [
            "/name",
            "/last",
            "/version",
            "/items/0/name",
            "/items/1",
            "/a~1b~0c",
        ];
        assert_eq!(pointers(text), expected);
        assert_eq!(pointers("{}"), ["/name", "/version"]);
        let long = r#"{"name": "Ada", "version": 1, "items": [1, 2, 3]}"#;
        assert_eq!(pointers(long), ["/items"]);
    }

    #[test]
    fn a_body_full_of_unknown_fields_gets_a_short_answer() {
        let many: Map<String, Value> = (0..500).map(|n| (n.to_string(), json!(1))).collect();
        let text = Value::Object(many).to_string();
        assert_eq!(pointers(&text).len(), 2 + MOST_UNKNOWN);
    }

    #[test]
    fn a_parsers_words_are_never_told() {
        for text in [
            "",
            "{",
            "{\"name\": \"\\ud800\"}",
            "[1,",
            &"[".repeat(20_000),
        ] {
            let Err(error) = read(text) else {
                panic!("{text} was read");
            };
            assert_eq!(error.to_string(), "the body is not JSON");
        }
        assert!(matches!(read("[]"), Err(Error::InvalidFields(_))));
        let large = format!("\"{}\"", "x".repeat(MOST_BYTES));
        assert!(matches!(read(&large), Err(Error::TooLarge(_))));
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_fraction_of_nothing() {
        for (text, number) in [("0", 0), ("2.0", 2), ("1e3", 1_000), ("-0.0", 0)] {
            let value: Value = serde_json::from_str(text).expect("a number");
            assert_eq!(whole(&value), Some(number), "{text}");
        }
        for text in [
            "-1",
            "2.5",
            "9007199254740992",
            "1e16",
            "18446744073709551615",
            "true",
        ] {
            let value: Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(whole(&value), None, "{text}");
        }
    }
}
