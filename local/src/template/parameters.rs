//! The template's parameters: each has a value from the environment, or its default.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::intrinsics::{Unresolved, plain};
use super::names::{screaming_snake_case, snake_case};
use super::properties::{Known, Properties, mistake};

const PARAMETER: Known = Known {
    of: "a parameter",
    file: file!(),
    read: &["AllowedValues", "Default", "MaxValue", "MinValue", "Type"],
    // For the person who deploys. What has a pattern is the address of something that does not exist here.
    no_effect: &[
        "AllowedPattern",
        "ConstraintDescription",
        "Description",
        "NoEcho",
    ],
};

/// The value of every parameter: `given` wins over the environment, the environment over the default.
pub(super) fn values(
    document: &Value,
    given: &BTreeMap<&str, String>,
    environment: impl Fn(&str) -> Option<String>,
) -> Result<BTreeMap<String, Value>, Unresolved> {
    let declarations = document["Parameters"].as_object().into_iter().flatten();
    declarations
        .map(|(name, declaration)| {
            let variable = screaming_snake_case(name);
            let set = given
                .get(name.as_str())
                .cloned()
                .or_else(|| environment(&variable));
            let place = format!("Parameters.{name}");
            PARAMETER.check(declaration, &place)?;
            let declaration = Properties::new(declaration, &place);
            Ok((name.clone(), value(set, &variable, &declaration)?))
        })
        .collect()
}

/// The values under their names in snake case, and numbers as numbers, also if they come as text from the environment.
pub(super) fn shown(document: &Value, values: &BTreeMap<String, Value>) -> Map<String, Value> {
    let shown = values.iter().map(|(name, value)| {
        let is_number = document["Parameters"][name]["Type"] == "Number";
        let number = is_number.then(|| plain(value).parse::<Number>().ok());
        let value = number
            .flatten()
            .map_or_else(|| value.clone(), Value::Number);
        (snake_case(name), value)
    });
    shown.collect()
}

fn value(
    set: Option<String>,
    variable: &str,
    declaration: &Properties<'_>,
) -> Result<Value, Unresolved> {
    let refuse = |message: String| Err(mistake(&declaration.place, message));
    let value = match (set, declaration.value.get("Default")) {
        (Some(set), _) => Value::String(set),
        (None, Some(default)) => default.clone(),
        (None, None) => {
            return refuse(format!("has no default; set {variable} in the environment"));
        }
    };
    let text = plain(&value);
    let allowed = declaration.texts("AllowedValues");
    if !allowed.is_empty() && !allowed.contains(&text) {
        return refuse(format!(
            "{variable}={text} is not one of {}",
            allowed.join(", ")
        ));
    }
    match declaration.text("Type").as_deref() {
        Some("String") => Ok(value),
        Some("Number") => {
            let Ok(number) = text.parse::<f64>() else {
                return refuse(format!("{variable}={text} is not a number"));
            };
            let bound = |key: &str| declaration.text(key)?.parse::<f64>().ok();
            if let Some(least) = bound("MinValue").filter(|least| number < *least) {
                return refuse(format!("{variable}={text} is less than {least}"));
            }
            if let Some(most) = bound("MaxValue").filter(|most| number > *most) {
                return refuse(format!("{variable}={text} is more than {most}"));
            }
            Ok(value)
        }
        Some("CommaDelimitedList") => Ok(Value::from(
            text.split(',').map(str::trim).collect::<Vec<_>>(),
        )),
        other => Err(declaration.mistake(
            "Type",
            format!(
                "the local cloud does not know parameters of type {}; teach it in {}",
                other.unwrap_or("(none)"),
                file!()
            ),
        )),
    }
}
