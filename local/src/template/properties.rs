//! The properties of a resource: read with their place in the template, and refused if the local cloud does not know
//! them. A setting that is skipped in silence would make this machine behave unlike AWS.

use serde_json::{Map, Value};

use super::intrinsics::{Unresolved, plain};

/// The keys that one kind of mapping may have.
pub(super) struct Known {
    /// What the mapping describes, for the message: `a function`.
    pub(super) of: &'static str,
    /// The file that reads the keys: `file!()`.
    pub(super) file: &'static str,
    /// The keys that decide something here.
    pub(super) read: &'static [&'static str],
    /// The keys that are known, and change nothing on one machine.
    pub(super) no_effect: &'static [&'static str],
}

impl Known {
    /// Refuses a mapping with any other key. No mapping at all is fine.
    pub(super) fn check(&self, value: &Value, place: &str) -> Result<(), Unresolved> {
        let object = match value {
            Value::Object(object) => object,
            Value::Null => return Ok(()),
            _ => return Err(mistake(place, "must be a mapping")),
        };
        let known = |key: &str| self.read.contains(&key) || self.no_effect.contains(&key);
        match object.keys().find(|key| !known(key.as_str())) {
            None => Ok(()),
            Some(key) => Err(mistake(
                &format!("{place}.{key}"),
                format!(
                    "the local cloud does not know this property of {}; teach it in {}, or list it there as one that \
                     has no effect on one machine",
                    self.of, self.file
                ),
            )),
        }
    }

    /// The part of a mapping that is read, after a check of the whole. The rest may name things that do not exist
    /// here, so nobody should try to resolve it.
    pub(super) fn take(&self, value: &Value, place: &str) -> Result<Value, Unresolved> {
        self.check(value, place)?;
        let read = self
            .read
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), value.get(*key)?.clone())));
        Ok(Value::Object(read.collect()))
    }
}

/// The properties of a resource, free of intrinsic functions, and where they stand.
pub(super) struct Properties<'a> {
    pub(super) value: &'a Value,
    pub(super) place: String,
}

impl<'a> Properties<'a> {
    pub(super) fn new(value: &'a Value, place: &str) -> Self {
        Self {
            value,
            place: place.to_owned(),
        }
    }

    /// A mapping below these properties, refused if it has a key that is not known.
    pub(super) fn section(&self, key: &str, known: &Known) -> Result<Properties<'a>, Unresolved> {
        let section = Properties {
            value: &self.value[key],
            place: format!("{}.{key}", self.place),
        };
        known.check(section.value, &section.place)?;
        Ok(section)
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.value
            .get(key)
            .filter(|value| !value.is_null())
            .map(plain)
    }

    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        match &self.value[key] {
            Value::Array(items) => items.iter().map(plain).collect(),
            Value::Null => vec![],
            one => vec![plain(one)],
        }
    }

    /// A parameter gives its number as text, so both are numbers.
    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, Unresolved> {
        self.text(key)
            .map(|text| text.parse())
            .transpose()
            .map_err(|_| self.mistake(key, "is not a whole number"))
    }

    pub(super) fn size(&self, key: &str) -> Result<Option<usize>, Unresolved> {
        Ok(self
            .number(key)?
            .and_then(|number| usize::try_from(number).ok()))
    }

    /// A number of which -1 means no limit.
    pub(super) fn limit(&self, key: &str) -> Result<Option<u64>, Unresolved> {
        if self.text(key).as_deref() == Some("-1") {
            Ok(None)
        } else {
            self.number(key)
        }
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, Unresolved> {
        match self.text(key).as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(self.mistake(key, "is neither true nor false")),
        }
    }

    /// The entries of a mapping below these properties.
    pub(super) fn entries(
        &self,
        key: &str,
    ) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.value[key].as_object().into_iter().flatten()
    }

    pub(super) fn mistake(&self, key: &str, message: impl Into<String>) -> Unresolved {
        mistake(&format!("{}.{key}", self.place), message)
    }
}

pub(super) fn mistake(place: &str, message: impl Into<String>) -> Unresolved {
    Unresolved {
        place: place.to_owned(),
        message: message.into(),
    }
}

/// What all resources of a type share, overlaid with what one of them says: maps are merged, everything else is
/// replaced.
pub(super) fn with_globals(shared: &Value, own: &Value) -> Value {
    match (shared, own) {
        (Value::Object(shared), Value::Object(own)) if !is_call(shared) && !is_call(own) => {
            let mut merged = shared.clone();
            for (key, value) in own {
                let value = with_globals(shared.get(key).unwrap_or(&Value::Null), value);
                merged.insert(key.clone(), value);
            }
            Value::Object(merged)
        }
        (shared, Value::Null) => shared.clone(),
        (_, own) => own.clone(),
    }
}

fn is_call(object: &Map<String, Value>) -> bool {
    object.len() == 1
        && object
            .keys()
            .all(|key| key == "Ref" || key.starts_with("Fn::"))
}
