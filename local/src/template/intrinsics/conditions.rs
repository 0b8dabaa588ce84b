//! Conditions of the template: which resources exist and which branch `Fn::If` takes.

use serde_json::Value;

use super::{MAX_DEPTH, Resolved, Resolver, plain, text, unresolved};

impl Resolver<'_> {
    /// Whether a resource exists: it does unless its condition is false.
    pub(crate) fn exists(&self, logical_id: &str) -> Resolved<bool> {
        match self.template["Resources"][logical_id].get("Condition") {
            Some(Value::String(name)) => {
                self.condition(name, &format!("Resources.{logical_id}.Condition"), 0)
            }
            _ => Ok(true),
        }
    }

    pub(super) fn condition(&self, name: &str, place: &str, depth: usize) -> Resolved<bool> {
        match self.template["Conditions"].get(name) {
            Some(expression) => self.holds_at(expression, &format!("Conditions.{name}"), depth + 1),
            None => unresolved(place, &format!("there is no condition {name}")),
        }
    }

    /// Whether a condition or an assertion holds.
    pub(crate) fn holds(&self, expression: &Value, place: &str) -> Resolved<bool> {
        self.holds_at(expression, place, 0)
    }

    pub(super) fn holds_at(&self, expression: &Value, place: &str, depth: usize) -> Resolved<bool> {
        if depth > MAX_DEPTH {
            return unresolved(place, "refers to itself");
        }
        let Some((function, argument)) = expression.as_object().and_then(|object| {
            let (function, argument) = object.iter().next()?;
            Some((function.as_str(), argument))
        }) else {
            return unresolved(place, "is not a condition");
        };
        let parts = || match argument {
            Value::Array(parts) => Ok(parts.as_slice()),
            _ => unresolved(place, &format!("{function} takes a list")),
        };
        match function {
            "Condition" => self.condition(text(argument, place)?, place, depth),
            "Fn::Equals" => {
                let [left, right] = self.arguments::<2>(argument, place, depth)?;
                Ok(plain(&left) == plain(&right))
            }
            // Of no members at all as well: a list that is not given has none.
            "Fn::EachMemberEquals" => {
                let [members, wanted] = self.arguments::<2>(argument, place, depth)?;
                let Value::Array(members) = members else {
                    return unresolved(place, &format!("{function} takes a list and a text"));
                };
                Ok(members.iter().all(|member| plain(member) == plain(&wanted)))
            }
            "Fn::Not" => match parts()? {
                [inner] => Ok(!self.holds_at(inner, place, depth + 1)?),
                _ => unresolved(place, "Fn::Not takes a list of one"),
            },
            "Fn::And" => parts()?.iter().try_fold(true, |all, inner| {
                Ok(all & self.holds_at(inner, place, depth + 1)?)
            }),
            "Fn::Or" => parts()?.iter().try_fold(false, |any, inner| {
                Ok(any | self.holds_at(inner, place, depth + 1)?)
            }),
            other => unresolved(place, &format!("{other} is not a condition")),
        }
    }
}
