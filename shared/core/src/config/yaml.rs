//! YAML configuration files.

use std::fmt::Write;

use serde_json::Value;

/// Spaces per level.
const STEP: usize = 2;
/// Words that are not text in some version of YAML.
const WORDS: [&str; 9] = ["false", "n", "no", "null", "off", "on", "true", "y", "yes"];

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
    ///
    /// Texts are always in double quotes with everything but printable ASCII escaped: readers of YAML 1.1 and 1.2
    /// disagree about what plain text such as `yes`, `1:30` or `0777` is.
    pub fn render(&self) -> String {
        if self.entries.is_empty() {
            return "{}\n".to_owned();
        }
        let mut out = String::new();
        for (key, value) in &self.entries {
            entry(key, value, 0, &mut out);
        }
        out
    }
}

/// `key: value` on lines of their own, `indent` deep.
fn entry(key: &str, value: &Value, indent: usize, out: &mut String) {
    let _ = write!(out, "{:indent$}", "");
    name(key, out);
    out.push(':');
    nested(value, indent, out);
}

/// What follows a colon or a dash.
fn nested(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            // serde_json's map is sorted or not, depending on a feature that any crate in the graph can switch on.
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in entries {
                entry(key, value, indent + STEP, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            for item in items {
                let _ = write!(out, "{:1$}-", "", indent + STEP);
                nested(item, indent + STEP, out);
            }
        }
        scalar => {
            out.push(' ');
            match scalar {
                Value::String(text) => quoted(text, out),
                // Empty collections, numbers, booleans and null are written as in JSON.
                other => {
                    let _ = write!(out, "{other}");
                }
            }
            out.push('\n');
        }
    }
}

/// A key: plain if it cannot be taken for anything else.
fn name(key: &str, out: &mut String) {
    let plain = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && !WORDS.contains(&key.to_ascii_lowercase().as_str());
    if plain { out.push_str(key) } else { quoted(key, out) }
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => out.push(c),
            c if u32::from(c) <= 0xFFFF => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use proptest::{collection, prelude::*};
    use serde_json::json;

    use super::*;

    #[test]
    fn looks_like_this() {
        let mut file = Document::new();
        file.set("name", "${BALLAST_MEMBER}")
            .set("yes", "yes")
            .set("heartbeat-interval", 100)
            .set("a b", true);
        file.set("nested", json!({"z": [1, "1:30", {"k": "v", "j": []}, [null]], "a": {}}));
        file.set("name", "a\"b\\c\nä\u{1F980}");
        insta::assert_snapshot!(file.render());
        assert_eq!(file.get("heartbeat-interval"), Some(&json!(100)));
        assert_eq!(Document::new().render(), "{}\n");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "(yes|no|on|off|null|~|0777|1e3|1:30|0x1f|\\.inf|- a|a: b|# c|<<|=|2001-01-01)"
                .prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn read_as_written(entries in collection::vec((any::<String>(), values()), 0..6)) {
            let mut file = Document::new();
            let mut expected = serde_json::Map::new();
            for (key, value) in entries {
                expected.insert(key.clone(), value.clone());
                file.set(key, value);
            }
            let text = file.render();
            prop_assert!(text.is_ascii());
            prop_assert_eq!(serde_yaml::from_str::<Value>(&text).unwrap(), Value::Object(expected), "{}", text);
        }
    }
}
