//! CloudFormation's intrinsic functions: given the parameters and the resources' local names, every `Ref`, `Fn::Sub`,
//! `Fn::If`… becomes the value it has on this machine. A function that is not known is refused, wherever it stands.
//!
//! - [`references`] says what `Ref` and `Fn::GetAtt` give.
//! - [`conditions`] says what `Conditions` mean.
//! - [`secrets`] fills in what a text takes from a secret.

mod conditions;
mod references;
mod secrets;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

pub(crate) use self::references::function_arn;

pub(crate) const STACK: &str = "roost";
pub(crate) const REGION: &str = "us-east-1";
pub(crate) const ACCOUNT: &str = "000000000000";
/// Every function that the local cloud knows, without its `Fn::`; `Ref` and `Condition` have none.
const FUNCTIONS: [&str; 15] = [
    "And",
    "Base64",
    "Cidr",
    "EachMemberEquals",
    "Equals",
    "FindInMap",
    "GetAZs",
    "GetAtt",
    "If",
    "Join",
    "Not",
    "Or",
    "Select",
    "Split",
    "Sub",
];
/// Deeper than any template; only a cycle gets there.
const MAX_DEPTH: usize = 64;

/// A value that could not be worked out: where in the template, and why.
#[derive(Debug, PartialEq)]
pub(crate) struct Unresolved {
    pub(crate) place: String,
    pub(crate) message: String,
}

type Resolved<T> = Result<T, Unresolved>;

/// A template together with the values of its parameters.
pub(crate) struct Resolver<'a> {
    template: &'a Value,
    parameters: BTreeMap<String, Value>,
    /// What each secret says, by its ARN.
    secrets: BTreeMap<String, String>,
    /// Where WebSocket APIs listen: `ws://localhost:9005`.
    websocket_url: String,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(template: &'a Value, parameters: BTreeMap<String, Value>) -> Self {
        Self {
            template,
            parameters,
            secrets: BTreeMap::new(),
            websocket_url: String::new(),
        }
    }

    pub(crate) fn with_secrets(self, secrets: BTreeMap<String, String>) -> Self {
        Self { secrets, ..self }
    }

    pub(crate) fn with_websocket_url(self, websocket_url: String) -> Self {
        Self {
            websocket_url,
            ..self
        }
    }

    /// The value at `place`, free of intrinsic functions. `AWS::NoValue` makes a key or an element disappear; at the
    /// top it leaves null.
    pub(crate) fn resolve(&self, value: &Value, place: &str) -> Resolved<Value> {
        let value = self.value(value, place, 0)?.unwrap_or(Value::Null);
        self.filled_in(value, place)
    }

    fn value(&self, value: &Value, place: &str, depth: usize) -> Resolved<Option<Value>> {
        if depth > MAX_DEPTH {
            return unresolved(place, "refers to itself");
        }
        match value {
            Value::Object(object) => {
                if let Some((function, argument)) = intrinsic(object) {
                    return self.call(function, argument, place, depth + 1);
                }
                let mut resolved = Map::new();
                for (key, inner) in object {
                    if let Some(inner) = self.value(inner, &format!("{place}.{key}"), depth + 1)? {
                        resolved.insert(key.clone(), inner);
                    }
                }
                Ok(Some(Value::Object(resolved)))
            }
            Value::Array(items) => {
                let mut resolved = Vec::with_capacity(items.len());
                for (index, inner) in items.iter().enumerate() {
                    resolved.extend(self.value(inner, &format!("{place}[{index}]"), depth + 1)?);
                }
                Ok(Some(Value::Array(resolved)))
            }
            scalar => Ok(Some(scalar.clone())),
        }
    }

    fn call(
        &self,
        function: &str,
        argument: &Value,
        place: &str,
        depth: usize,
    ) -> Resolved<Option<Value>> {
        let call = format!("{place}.{function}");
        let resolved = match function {
            "Ref" => {
                let name = text(argument, &call)?;
                if name == "AWS::NoValue" {
                    return Ok(None);
                }
                self.reference(name, &call, depth)?
            }
            "Fn::GetAtt" => {
                let path = match argument {
                    Value::String(path) => path.clone(),
                    other => {
                        let [resource, attribute] = self.arguments::<2>(other, &call, depth)?;
                        format!("{}.{}", text(&resource, &call)?, text(&attribute, &call)?)
                    }
                };
                Value::String(self.attribute(&path, &call, depth)?)
            }
            "Fn::Sub" => self.substitute(argument, &call, depth)?,
            "Fn::If" => {
                let Value::Array(parts) = argument else {
                    return unresolved(&call, "takes a list of three");
                };
                let [condition, when_true, when_false] = parts.as_slice() else {
                    return unresolved(&call, "takes a list of three");
                };
                // Only the chosen branch is looked at: the other one may name resources that do not exist.
                let chosen = if self.condition(text(condition, &call)?, &call, depth)? {
                    when_true
                } else {
                    when_false
                };
                return self.value(chosen, &call, depth);
            }
            "Fn::Join" => {
                let [separator, parts] = self.arguments::<2>(argument, &call, depth)?;
                let Value::Array(parts) = parts else {
                    return unresolved(&call, "joins a list");
                };
                Value::String(
                    parts
                        .iter()
                        .map(plain)
                        .collect::<Vec<_>>()
                        .join(text(&separator, &call)?),
                )
            }
            "Fn::Select" => {
                let [index, items] = self.arguments::<2>(argument, &call, depth)?;
                let chosen = plain(&index)
                    .parse::<usize>()
                    .ok()
                    .and_then(|index| items.get(index).cloned());
                match chosen {
                    Some(chosen) => chosen,
                    None => return unresolved(&call, "there is no such element"),
                }
            }
            "Fn::Split" => {
                let [separator, joined] = self.arguments::<2>(argument, &call, depth)?;
                let (separator, joined) = (text(&separator, &call)?.to_owned(), plain(&joined));
                Value::from(joined.split(&separator).collect::<Vec<_>>())
            }
            "Fn::FindInMap" => {
                let [map, first, second] = self.arguments::<3>(argument, &call, depth)?;
                match self.template["Mappings"][plain(&map)][plain(&first)].get(plain(&second)) {
                    Some(found) => found.clone(),
                    None => return unresolved(&call, "is in no mapping"),
                }
            }
            "Fn::Equals" | "Fn::Not" | "Fn::And" | "Fn::Or" | "Fn::EachMemberEquals" => {
                let call = Map::from_iter([(function.to_owned(), argument.clone())]);
                Value::Bool(self.holds_at(&Value::Object(call), place, depth)?)
            }
            "Fn::Base64" => {
                let Some(argument) = self.value(argument, &call, depth)? else {
                    return unresolved(&call, "takes a text");
                };
                Value::String(STANDARD.encode(plain(&argument)))
            }
            "Fn::GetAZs" => Value::from(vec![format!("{REGION}a"), format!("{REGION}b")]),
            // It divides a network, which only resources without an effect are about.
            "Fn::Cidr" => return unresolved(&call, "there are no networks on one machine"),
            _ => return unresolved(&call, &unknown(function)),
        };
        Ok(Some(resolved))
    }

    fn arguments<const N: usize>(
        &self,
        argument: &Value,
        place: &str,
        depth: usize,
    ) -> Resolved<[Value; N]> {
        let resolved = self.value(argument, place, depth)?;
        let Some(Value::Array(parts)) = resolved else {
            return unresolved(place, "takes a list");
        };
        parts
            .try_into()
            .or_else(|_| unresolved(place, &format!("takes a list of {N}")))
    }

    fn substitute(&self, argument: &Value, place: &str, depth: usize) -> Resolved<Value> {
        let (pattern, names) = match argument {
            Value::String(pattern) => (pattern.as_str(), Map::new()),
            Value::Array(parts) if parts.len() == 2 => {
                let Some(Value::Object(names)) = self.value(&parts[1], place, depth)? else {
                    return unresolved(place, "takes a text and a map");
                };
                (text(&parts[0], place)?, names)
            }
            _ => return unresolved(place, "takes a text, or a text and a map"),
        };
        let mut result = String::new();
        let mut rest = pattern;
        while let Some(start) = rest.find("${") {
            result.push_str(&rest[..start]);
            let Some(length) = rest[start..].find('}') else {
                return unresolved(place, "has a ${ without its }");
            };
            let name = &rest[start + 2..start + length];
            rest = &rest[start + length + 1..];
            if let Some(literal) = name.strip_prefix('!') {
                result.push_str(&format!("${{{literal}}}"));
            } else if let Some(value) = names.get(name.trim()) {
                result.push_str(&plain(value));
            } else if name.contains('.') {
                result.push_str(&self.attribute(name.trim(), place, depth)?);
            } else {
                result.push_str(&plain(&self.reference(name.trim(), place, depth)?));
            }
        }
        result.push_str(rest);
        Ok(Value::String(result))
    }
}

/// Refuses a template that calls a function that is not known, also in what is never resolved.
pub(super) fn check(value: &Value, place: &str) -> Resolved<()> {
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                let place = match place {
                    "" => key.clone(),
                    place => format!("{place}.{key}"),
                };
                if let Some(function) = key.strip_prefix("Fn::") {
                    if !is_known(function) {
                        return unresolved(&place, &unknown(key));
                    }
                    if object.len() > 1 {
                        return unresolved(&place, "must be the only key of its mapping");
                    }
                }
                check(inner, &place)?;
            }
            Ok(())
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, inner)| check(inner, &format!("{place}[{index}]"))),
        _ => Ok(()),
    }
}

/// Whether there is a function `Fn::<name>`.
pub(super) fn is_known(name: &str) -> bool {
    FUNCTIONS.contains(&name)
}

fn unknown(function: &str) -> String {
    format!(
        "the local cloud does not know the intrinsic function {function}; teach it in {}",
        file!()
    )
}

/// A value as CloudFormation writes it into a text: `true`, `5`, `a,b`.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// An object with one key that is a function's name is a call. `Condition` is one only inside `Conditions`.
fn intrinsic(object: &Map<String, Value>) -> Option<(&str, &Value)> {
    let mut entries = object.iter();
    match (entries.next(), entries.next()) {
        (Some((key, argument)), None) if key == "Ref" || key.starts_with("Fn::") => {
            Some((key, argument))
        }
        _ => None,
    }
}

fn text<'v>(value: &'v Value, place: &str) -> Resolved<&'v str> {
    value
        .as_str()
        .map_or_else(|| unresolved(place, "takes a text"), Ok)
}

fn unresolved<T>(place: &str, message: &str) -> Resolved<T> {
    Err(Unresolved {
        place: place.to_owned(),
        message: message.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::Resolver;

    fn template() -> Value {
        json!({
            "Mappings": {"Sizes": {"small": {"shards": 2}}},
            "Conditions": {
                "HasUrl": {"Fn::Not": [{"Fn::Equals": [{"Ref": "RedisUrl"}, ""]}]},
                "NoUrl": {"Fn::Not": [{"Condition": "HasUrl"}]},
                "Both": {"Fn::And": [{"Condition": "HasUrl"}, {"Condition": "NoUrl"}]},
                "Either": {"Fn::Or": [{"Condition": "HasUrl"}, {"Condition": "NoUrl"}]},
            },
            "Resources": {
                "Tweets": {"Type": "AWS::DynamoDB::Table", "Properties": {
                    "TableName": {"Fn::Sub": "${AWS::StackName}-tweets"}, "StreamSpecification": {}}},
                "Nameless": {"Type": "AWS::DynamoDB::Table", "Properties": {}},
                "Created": {"Type": "AWS::Kinesis::Stream", "Properties": {}},
                "Failed": {"Type": "AWS::S3::Bucket", "Properties": {}},
                "Cache": {"Type": "AWS::ElastiCache::ServerlessCache", "Condition": "NoUrl"},
                "Role": {"Type": "AWS::IAM::Role"},
                "Loop": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": {"Ref": "Loop"}}},
            },
        })
    }

    fn resolve(value: &Value) -> Result<Value, String> {
        let template = template();
        let parameters = BTreeMap::from([
            ("RedisUrl".to_owned(), json!("redis://x")),
            ("Cap".to_owned(), json!(800)),
        ]);
        Resolver::new(&template, parameters)
            .with_secrets(BTreeMap::from([("arn:s".to_owned(), "hush".to_owned())]))
            .resolve(value, "here")
            .map_err(|error| format!("{}: {}", error.place, error.message))
    }

    #[test]
    fn references_give_names_and_parameters() {
        assert_eq!(resolve(&json!({"Ref": "Cap"})), Ok(json!(800)));
        assert_eq!(
            resolve(&json!({"Ref": "Tweets"})),
            Ok(json!("roost-tweets"))
        );
        assert_eq!(
            resolve(&json!({"Ref": "Nameless"})),
            Ok(json!("roost-Nameless"))
        );
        assert_eq!(
            resolve(&json!({"Ref": "Failed"})),
            Ok(json!("roost-failed"))
        );
        assert_eq!(
            resolve(&json!({"Ref": "AWS::Region"})),
            Ok(json!("us-east-1"))
        );
        assert_eq!(resolve(&json!({"Ref": "Role"})), Ok(json!("local-Role")));
    }

    #[test]
    fn attributes_give_arns() {
        assert_eq!(
            resolve(&json!({"Fn::GetAtt": ["Tweets", "StreamArn"]})),
            Ok(json!(
                "arn:aws:dynamodb:us-east-1:000000000000:table/roost-tweets/stream/2025-01-01T00:00:00.000"
            ))
        );
        assert_eq!(
            resolve(&json!({"Fn::GetAtt": ["Created", "Arn"]})),
            Ok(json!(
                "arn:aws:kinesis:us-east-1:000000000000:stream/roost-Created"
            ))
        );
        assert!(
            resolve(&json!({"Fn::GetAtt": ["Nameless", "StreamArn"]})).is_err(),
            "it has no stream"
        );
    }

    #[test]
    fn substitution_knows_parameters_attributes_literals_and_its_own_names() {
        assert_eq!(
            resolve(
                &json!({"Fn::Sub": ["${own}/${Cap}/${Failed.Arn}/${!kept}", {"own": {"Ref": "Tweets"}}]})
            ),
            Ok(json!("roost-tweets/800/arn:aws:s3:::roost-failed/${kept}"))
        );
    }

    #[test]
    fn a_condition_chooses_and_only_the_chosen_branch_is_looked_at() {
        assert_eq!(
            resolve(&json!({"Fn::If": ["HasUrl", {"Ref": "RedisUrl"}, {"Ref": "Cache"}]})),
            Ok(json!("redis://x"))
        );
        assert_eq!(resolve(&json!({"Fn::If": ["Both", 1, 2]})), Ok(json!(2)));
        assert_eq!(resolve(&json!({"Fn::If": ["Either", 1, 2]})), Ok(json!(1)));
        assert!(
            resolve(&json!({"Ref": "Cache"})).is_err(),
            "its condition is false"
        );
    }

    #[test]
    fn no_value_makes_a_key_disappear() {
        assert_eq!(
            resolve(
                &json!({"a": {"Fn::If": ["NoUrl", 1, {"Ref": "AWS::NoValue"}]}, "b": [{"Ref": "AWS::NoValue"}, 2]})
            ),
            Ok(json!({"b": [2]}))
        );
    }

    #[test]
    fn lists_are_joined_split_and_selected_and_maps_are_looked_up() {
        assert_eq!(
            resolve(&json!({"Fn::Join": ["-", ["a", {"Ref": "Cap"}]]})),
            Ok(json!("a-800"))
        );
        assert_eq!(
            resolve(&json!({"Fn::Select": [1, {"Fn::Split": [",", "a,b"]}]})),
            Ok(json!("b"))
        );
        assert_eq!(
            resolve(&json!({"Fn::FindInMap": ["Sizes", "small", "shards"]})),
            Ok(json!(2))
        );
    }

    #[test]
    fn a_text_takes_what_a_secret_says_and_names_a_secret_that_is_not_there() {
        assert_eq!(
            resolve(&json!({"Url": ["redis://:{{resolve:secretsmanager:arn:s}}@host"]})),
            Ok(json!({"Url": ["redis://:hush@host"]}))
        );
        assert_eq!(
            resolve(&json!({"Url": {"Fn::Sub": "{{resolve:secretsmanager:arn:${Cap}}}"}})),
            Err("here.Url: there is no secretsmanager:arn:800 on this machine".to_owned())
        );
    }

    #[test]
    fn mistakes_are_reported_with_their_place() {
        assert_eq!(
            resolve(&json!({"Name": {"Ref": "Twets"}})),
            Err("here.Name.Ref: Twets is neither a parameter nor a resource".to_owned())
        );
        assert!(resolve(&json!({"Ref": "Loop"})).is_err(), "a cycle ends");
    }
}
