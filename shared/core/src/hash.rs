//! Short hashes of what we send: stable across runs, machines and releases.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Length of a hash in hexadecimal digits.
const DIGITS: usize = 16;

/// The first 16 hexadecimal digits of SHA-256 over the value's JSON with sorted keys.
///
/// A value that has no JSON form (a map whose keys are not text) hashes like `null`; our types all have one.
pub fn json_hash(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or(Value::Null);
    let mut text = String::new();
    canonical(&value, &mut text);
    text_hash(&text)
}

/// The first 16 hexadecimal digits of SHA-256 over the text.
pub fn text_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(DIGITS / 2).fold(String::with_capacity(DIGITS), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Writes JSON without white space and with the keys of every object sorted. Sorting does not rely on
/// `serde_json`'s map, whose order depends on a feature that any crate in the graph can switch on.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                let _ = write!(out, "{}:", Value::from(key.as_str()));
                canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hashes_never_change() {
        // printf '' | sha256sum | cut -c1-16
        assert_eq!(text_hash(""), "e3b0c44298fc1c14");
        // printf '{"a":[1,{"b":2,"c":null}],"z":"\\"x"}' | sha256sum | cut -c1-16
        assert_eq!(
            json_hash(&json!({"z": "\"x", "a": [1, {"c": null, "b": 2}]})),
            text_hash(r#"{"a":[1,{"b":2,"c":null}],"z":"\"x"}"#)
        );
        assert_eq!(json_hash(&json!({"a": 1})), "015abd7f5cc57a2d");
    }

    #[test]
    fn order_counts_in_lists_only() {
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        assert_eq!(json_hash(&parse(r#"{"a":1,"b":2}"#)), json_hash(&parse(r#"{"b":2,"a":1}"#)));
        assert_ne!(json_hash(&json!([1, 2])), json_hash(&json!([2, 1])));
        assert_ne!(json_hash(&json!("1")), json_hash(&json!(1)));
    }
}
