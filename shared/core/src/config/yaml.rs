//! YAML configuration files.

use serde_json::Value;

/// A YAML mapping. Keys keep the order in which they were first set; the keys of nested maps are sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    entries: Vec<(String, Value)>,
}

impl Document {
    /// An empty document.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a key; a key that is set again keeps its place.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) -> &mut Self {
        let (key, value) = (key.into(), value.into());
        match self.entries.iter_mut().find(|(have, _)| *have == key) {
            Some((_, have)) => *have = value,
            None => self.entries.push((key, value)),
        }
        self
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(have, _)| have == key).map(|(_, value)| value)
    }

    /// The file's text, which ends with a newline.
    pub fn render(&self) -> String {
        let mapping = self.entries.iter().map(|(key, value)| (serde_yaml::Value::from(key.as_str()), yaml(value)));
        let mapping = serde_yaml::Value::Mapping(mapping.collect());
        // Text keys and JSON values always have a YAML form.
        serde_yaml::to_string(&mapping).unwrap_or_default()
    }
}

/// The same value, with the keys of maps sorted whatever map type `serde_json` was built with.
fn yaml(value: &Value) -> serde_yaml::Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            let entries = entries.into_iter().map(|(key, value)| (key.as_str().into(), yaml(value)));
            serde_yaml::Value::Mapping(entries.collect())
        }
        Value::Array(items) => serde_yaml::Value::Sequence(items.iter().map(yaml).collect()),
        scalar => serde_yaml::to_value(scalar).unwrap_or_default(),
    }
}
