//! YAML with CloudFormation's short tags, as plain JSON in the long form: `!Ref X` becomes `{"Ref": "X"}` and
//! `!Sub "…"` becomes `{"Fn::Sub": "…"}`, so that everything after this knows one spelling only.
//!
//! Aliases and merge keys (`<<: *name`) are written out, by the rules of PyYAML, which SAM reads the template with: a
//! key of the mapping itself wins over a merged one, the first of several merged mappings wins over the later ones,
//! and what is below a key is taken whole.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Number, Value};

use super::intrinsics::is_known;

/// The key whose value is merged into the mapping that it stands in.
const MERGE: &str = "<<";

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
        Some(document) => to_json(document, ""),
        None => Err(YamlError {
            place: "line 1".to_owned(),
            message: "the file is empty".to_owned(),
        }),
    }
}

/// `place` is the way from the top of the document to this node: `Resources.Api.Properties`.
fn to_json(node: &Yaml<'_>, place: &str) -> Result<Value, YamlError> {
    Ok(match node {
        Yaml::Value(scalar) => scalar_to_json(scalar),
        Yaml::Representation(text, ..) => Value::String(text.to_string()),
        Yaml::Sequence(items) => {
            let items = items.iter().enumerate();
            let items = items.map(|(index, item)| to_json(item, &format!("{place}[{index}]")));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Yaml::Mapping(entries) => {
            let (mut own, mut merged) = (Map::new(), Map::new());
            for (key, value) in entries {
                let key = match to_json(key, place)? {
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                let place = below(place, &key);
                if key == MERGE {
                    merged = merge(value, &place)?;
                } else {
                    own.insert(key, to_json(value, &place)?);
                }
            }
            merged.extend(own);
            Value::Object(merged)
        }
        Yaml::Tagged(tag, inner) => long_form(&tag.suffix, to_json(inner, place)?)
            .map_err(|message| failed(place, message))?,
        Yaml::Alias(_) | Yaml::BadValue => {
            return Err(failed(place, "a YAML alias or value that cannot be read"));
        }
    })
}

/// What `<<` adds to the mapping that it stands in: one mapping, or several of which the first wins.
fn merge(node: &Yaml<'_>, place: &str) -> Result<Map<String, Value>, YamlError> {
    let Yaml::Sequence(items) = node else {
        return mapping(node, place);
    };
    let mut merged = Map::new();
    for (index, item) in items.iter().enumerate().rev() {
        merged.extend(mapping(item, &format!("{place}[{index}]"))?);
    }
    Ok(merged)
}

fn mapping(node: &Yaml<'_>, place: &str) -> Result<Map<String, Value>, YamlError> {
    let found = match node {
        Yaml::Tagged(tag, _) => format!("!{}", tag.suffix),
        node => match to_json(node, place)? {
            Value::Object(mapping) => return Ok(mapping),
            Value::Array(_) => "a list".to_owned(),
            Value::Null => "nothing".to_owned(),
            scalar => scalar.to_string(),
        },
    };
    let message = format!("<< takes a mapping or a list of mappings, not {found}");
    Err(failed(place, message))
}

fn below(place: &str, key: &str) -> String {
    if place.is_empty() {
        key.to_owned()
    } else {
        format!("{place}.{key}")
    }
}

fn failed(place: &str, message: impl Into<String>) -> YamlError {
    let place = if place.is_empty() { "document" } else { place };
    YamlError {
        place: place.to_owned(),
        message: message.into(),
    }
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
        known if is_known(known) => (format!("Fn::{known}"), argument),
        unknown => return Err(format!("the local cloud does not know the tag !{unknown}")),
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
    fn an_unknown_tag_is_named_with_its_place() {
        let error = parse("a: {b: [!Bogus x]}").expect_err("no such tag");
        assert_eq!(
            error.message,
            "the local cloud does not know the tag !Bogus"
        );
        assert_eq!(error.place, "a.b[0]");
    }

    #[test]
    fn a_merged_mapping_fills_in_what_the_mapping_itself_does_not_say() {
        let parsed = parse(
            "a: &a {x: 1, y: {deep: 1}}\nb: {<<: *a, y: {other: 2}, z: 3}\nc: {y: 4, <<: *a}\n",
        );
        let parsed = parsed.expect("a good merge");
        assert_eq!(parsed["b"], json!({"x": 1, "y": {"other": 2}, "z": 3}));
        assert_eq!(parsed["c"], json!({"x": 1, "y": 4}), "in any order");
    }

    #[test]
    fn of_several_merged_mappings_the_first_wins() {
        let parsed = parse("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b, {y: 3, z: 3}]}\n");
        let parsed = parsed.expect("a good merge");
        assert_eq!(parsed["c"], json!({"x": 1, "y": 2, "z": 3}));
    }

    #[test]
    fn a_merged_mapping_may_have_merged_others_itself() {
        let parsed = parse("a: &a {x: 1, y: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b, z: 3}\n");
        let parsed = parsed.expect("a good merge");
        assert_eq!(parsed["c"], json!({"x": 1, "y": 2, "z": 3}));
    }

    #[test]
    fn an_alias_of_a_tagged_node_repeats_its_tag() {
        let parsed = parse(
            "a: &tell !If [C, [!Ref T], !Ref N]\nb: *tell\nc: &t !Ref T\nd: *t\ne: &e {k: *tell}\nf: {<<: *e}\n",
        );
        let parsed = parsed.expect("good aliases");
        let tell = json!({"Fn::If": ["C", [{"Ref": "T"}], {"Ref": "N"}]});
        assert_eq!(parsed["b"], tell);
        assert_eq!(parsed["d"], json!({"Ref": "T"}));
        assert_eq!(parsed["f"], json!({"k": tell}));
    }

    #[test]
    fn only_mappings_can_be_merged() {
        for (text, place, found) in [
            ("a: {<<: 5}", "a.<<", "5"),
            ("a: {<<: }", "a.<<", "nothing"),
            ("a: {<<: [{x: 1}, text]}", "a.<<[1]", "\"text\""),
            ("a: {<<: !If [C, {x: 1}, {x: 2}]}", "a.<<", "!If"),
            ("a: {<<: [[{x: 1}]]}", "a.<<[0]", "a list"),
        ] {
            let error = parse(text).expect_err("no mapping");
            let message = format!("<< takes a mapping or a list of mappings, not {found}");
            assert_eq!((error.place.as_str(), error.message), (place, message));
        }
    }
}
