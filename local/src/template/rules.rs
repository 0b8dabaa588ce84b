//! Rules: which parameters go together. A rule that does not hold stops the start, as it stops a deployment.

use serde_json::Value;

use super::intrinsics::{Resolver, Unresolved};
use super::properties::{Known, Properties, mistake};

const RULE: Known = Known {
    of: "a rule",
    file: file!(),
    read: &["Assertions", "RuleCondition"],
    no_effect: &[],
};

const ASSERTION: Known = Known {
    of: "an assertion",
    file: file!(),
    read: &["Assert", "AssertDescription"],
    no_effect: &[],
};

/// Refuses parameters for which a rule of the template does not hold.
pub(super) fn check(document: &Value, resolver: &Resolver<'_>) -> Result<(), Unresolved> {
    for (name, rule) in document["Rules"].as_object().into_iter().flatten() {
        let place = format!("Rules.{name}");
        RULE.check(rule, &place)?;
        if let Some(condition) = rule.get("RuleCondition")
            && !resolver.holds(condition, &place)?
        {
            continue;
        }
        for (position, assertion) in rule["Assertions"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let place = format!("{place}.Assertions[{position}]");
            ASSERTION.check(assertion, &place)?;
            if !resolver.holds(&assertion["Assert"], &place)? {
                let description = Properties::new(assertion, &place).text("AssertDescription");
                return Err(mistake(&place, description.unwrap_or_default()));
            }
        }
    }
    Ok(())
}
