//! Dynamic references: `{{resolve:secretsmanager:<arn>}}` in a text becomes what the secret says.

use serde_json::{Map, Value};

use super::{Resolved, Resolver, unresolved};

const OPENING: &str = "{{resolve:";
const SECRET: &str = "secretsmanager:";

impl Resolver<'_> {
    /// The value with all texts of secrets filled in.
    pub(super) fn filled_in(&self, value: Value, place: &str) -> Resolved<Value> {
        Ok(match value {
            Value::String(text) => Value::String(self.text_filled_in(&text, place)?),
            Value::Array(items) => {
                let items = items.into_iter().enumerate();
                let filled =
                    items.map(|(index, item)| self.filled_in(item, &format!("{place}[{index}]")));
                Value::Array(filled.collect::<Resolved<_>>()?)
            }
            Value::Object(object) => {
                let filled = object.into_iter().map(|(key, item)| {
                    let item = self.filled_in(item, &format!("{place}.{key}"))?;
                    Ok((key, item))
                });
                Value::Object(filled.collect::<Resolved<Map<_, _>>>()?)
            }
            scalar => scalar,
        })
    }

    fn text_filled_in(&self, text: &str, place: &str) -> Resolved<String> {
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, reference)) = rest.split_once(OPENING) {
            let Some((reference, after)) = reference.split_once("}}") else {
                return unresolved(place, "has a {{resolve: without its }}");
            };
            let secret = reference
                .strip_prefix(SECRET)
                .and_then(|name| self.secrets.get(name));
            let Some(secret) = secret else {
                return unresolved(place, &format!("there is no {reference} on this machine"));
            };
            result.push_str(before);
            result.push_str(secret);
            rest = after;
        }
        result.push_str(rest);
        Ok(result)
    }
}
