//! Named numbers: what one action causes. They can be added and scaled, because what is billed is a sum.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// `reads:tweets`, `cpu_ms:home-timeline`, `cache_commands`, and so on: what is counted, and of which table or function.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts(BTreeMap<String, f64>);

impl Counts {
    pub(crate) fn add(&mut self, name: impl Into<String>, number: f64) {
        *self.0.entry(name.into()).or_default() += number;
    }

    /// The sum of everything of this kind: `reads` sums all tables.
    pub(crate) fn all(&self, kind: &str) -> f64 {
        let of_kind = self.0.iter().filter(|(name, _)| {
            let rest = name.strip_prefix(kind);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        });
        // An empty sum would be a negative zero.
        of_kind.fold(0.0, |sum, (_, number)| sum + number)
    }

    /// What is counted of this kind, one by one.
    pub(crate) fn each<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
        self.0.iter().filter_map(move |(name, number)| {
            let of = name.strip_prefix(kind)?.strip_prefix(':')?;
            Some((of, *number))
        })
    }

    /// What is counted of this kind and of this one.
    pub(crate) fn one(&self, kind: &str, of: &str) -> f64 {
        self.0
            .get(&format!("{kind}:{of}"))
            .copied()
            .unwrap_or_default()
    }

    /// What is counted of one function.
    pub(crate) fn of_function(&self, function: &str) -> Self {
        let names = self.0.iter().filter(|(name, _)| {
            let of = name.split_once(':').map(|(_, of)| of);
            of == Some(function)
        });
        Self(
            names
                .map(|(name, number)| (name.clone(), *number))
                .collect(),
        )
    }

    pub(crate) fn times(&self, factor: f64) -> Self {
        let scaled = self.0.iter();
        Self(
            scaled
                .map(|(name, number)| (name.clone(), number * factor))
                .collect(),
        )
    }

    pub(crate) fn plus(mut self, other: &Self) -> Self {
        for (name, number) in &other.0 {
            self.add(name, *number);
        }
        self
    }

    /// Nothing falls below zero: a difference of two measurements may, by chance.
    pub(crate) fn minus(self, other: &Self) -> Self {
        let mut rest = self.plus(&other.times(-1.0));
        for number in rest.0.values_mut() {
            *number = number.max(0.0);
        }
        rest
    }

    pub(crate) fn json(&self) -> Value {
        let rounded = |number: f64| (number * 1e4).round() / 1e4;
        let numbers = self.0.iter().filter(|(_, number)| **number != 0.0);
        numbers
            .map(|(name, number)| (name.clone(), json!(rounded(*number))))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_summed_by_kind_and_scaled() {
        let mut counts = Counts::default();
        counts.add("reads:users", 1.5);
        counts.add("reads:tweets", 2.0);
        counts.add("reads_refused", 7.0);
        assert_eq!(counts.all("reads"), 3.5);
        let twice = counts.clone().plus(&counts);
        assert_eq!(twice, counts.times(2.0));
        let tables: Vec<_> = twice.each("reads").collect();
        assert_eq!(tables, [("tweets", 4.0), ("users", 3.0)]);
        assert_eq!(counts.minus(&twice).all("reads"), 0.0);
    }
}
