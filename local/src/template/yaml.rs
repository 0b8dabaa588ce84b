//! YAML with CloudFormation's short tags, as plain JSON in the long form: `!Ref X` becomes `{"Ref": "X"}` and
//! `!Sub "…"` becomes `{"Fn::Sub": "…"}`, so that everything after this knows one spelling only.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Number, Value};

/// Where the text stopped being a template, and why.
#[derive(Debug, PartialEq)]
pub(crate) struct YamlError {
    pub(crate) place: String,
    pub(crate) message: String,
}

pub(crate) fn parse(text: &str) -> Result<Value, YamlError> {
    let documents = Yaml::load_from_str(text).map_err(|error| YamlError {
        place: format!(
            "line {}, column {}",
            error.marker().line(),
            error.marker().col() + 1
        ),
        message: error.info().to_owned(),
    })?;
    match documents.first() {
        Some(document) => to_json(document).map_err(|message| YamlError {
            place: "document".to_owned(),
            message,
        }),
        None => Err(YamlError {
            place: "line 1".to_owned(),
            message: "the file is empty".to_owned(),
        }),
    }
}

fn to_json(node: &Yaml<'_>) -> Result<Value, String> {
    Ok(match node {
        Yaml::Value(scalar) => scalar_to_json(scalar),
        Yaml::Representation(text, ..) => Value::String(text.to_string()),
        Yaml::Sequence(items) => Value::Array(items.iter().map(to_json).collect::<Result<_, _>>()?),
        Yaml::Mapping(entries) => {
            let mut object = Map::new();
            for (key, value) in entries {
                let key = match to_json(key)? {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                object.insert(key, to_json(value)?);
            }
            Value::Object(object)
        }
        Yaml::Tagged(tag, inner) => long_form(&tag.suffix, to_json(inner)?)?,
        Yaml::Alias(_) | Yaml::BadValue => {
            return Err("a YAML alias or value that cannot be read".to_owned());
        }
    })
}

fn scalar_to_json(scalar: &Scalar<'_>) -> Value {
    match scalar {
        Scalar::Null => Value::Null,
        Scalar::Boolean(flag) => Value::Bool(*flag),
        Scalar::Integer(number) => Value::Number((*number).into()),
        Scalar::FloatingPoint(number) => {
            Number::from_f64(number.into_inner()).map_or(Value::Null, Value::Number)
        }
        Scalar::String(text) => Value::String(text.to_string()),
    }
}

fn long_form(tag: &str, argument: Value) -> Result<Value, String> {
    let (key, argument) = match tag {
        "Ref" | "Condition" => (tag.to_owned(), argument),
        // `!GetAtt Table.Arn` and `!GetAtt [Table, Arn]` are the same call.
        "GetAtt" => {
            let argument = match argument {
                Value::String(text) => match text.split_once('.') {
                    Some((resource, attribute)) => Value::from(vec![resource, attribute]),
                    None => return Err(format!("!GetAtt {text} names no attribute")),
                },
                other => other,
            };
            ("Fn::GetAtt".to_owned(), argument)
        }
        "Sub" | "If" | "Equals" | "Not" | "And" | "Or" | "Join" | "Select" | "Split"
        | "FindInMap" | "Base64" | "GetAZs" | "ImportValue" | "Cidr" | "Transform"
        | "ToJsonString" | "Length" => (format!("Fn::{tag}"), argument),
        unknown => return Err(format!("unknown tag !{unknown}")),
    };
    Ok(Value::Object(Map::from_iter([(key, argument)])))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse;

    #[test]
    fn short_tags_become_the_long_form() {
        let parsed = parse(
            "a: !Ref X\nb: !GetAtt T.Arn\nc: !Sub '${X}-t'\nd: !If [C, !Ref A, 5]\ne: {Fn::Join: ['', [a, b]]}\nf: 2012-10-17\n",
        );
        assert_eq!(
            parsed,
            Ok(json!({
                "a": {"Ref": "X"},
                "b": {"Fn::GetAtt": ["T", "Arn"]},
                "c": {"Fn::Sub": "${X}-t"},
                "d": {"Fn::If": ["C", {"Ref": "A"}, 5]},
                "e": {"Fn::Join": ["", ["a", "b"]]},
                "f": "2012-10-17",
            }))
        );
    }

    #[test]
    fn a_broken_file_is_reported_with_its_line() {
        let error = parse("a: 1\nb: [1, 2\nc: 3\n").expect_err("an open bracket");
        assert!(error.place.starts_with("line "), "{error:?}");
    }

    #[test]
    fn an_unknown_tag_is_named() {
        assert_eq!(
            parse("a: !Bogus x").expect_err("no such tag").message,
            "unknown tag !Bogus"
        );
    }
}
