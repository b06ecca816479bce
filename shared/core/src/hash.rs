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
