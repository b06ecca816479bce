//! Specifications that differ a little from others.

#![allow(clippy::panic, reason = "it is for tests only, which fail by it")]

use serde_json::Value;

/// A text of the corpus.
///
/// # Panics
/// If it is no YAML.
pub fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The specification with a patch in YAML: a JSON merge patch (RFC 7396) in which an object for a list changes the items that its keys number.
///
/// # Panics
/// If the patch is no YAML, or numbers an item that is not there.
pub fn patched(mut spec: Value, patch: &str) -> Value {
    merge(&mut spec, &yaml(patch));
    spec
}

fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *into = patch.clone();
        return;
    };
    if let Value::Array(items) = into {
        for (key, value) in patch {
            let item = key.parse().ok().and_then(|index: usize| items.get_mut(index));
            merge(item.unwrap_or_else(|| panic!("there is no item {key}")), value);
        }
        return;
    }
    if !into.is_object() {
        *into = Value::Object(serde_json::Map::new());
    }
    for (key, value) in patch {
        if value.is_null() {
            if let Some(into) = into.as_object_mut() {
                into.remove(key);
            }
        } else {
            merge(&mut into[key], value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_changed_and_removed_and_items_by_their_number() {
        let spec = yaml("{a: 1, b: 2, c: [{d: 3}, {d: 4, e: 5}]}");
        let changed = patched(spec.clone(), "{a: 6, b: ~, c: {'1': {d: 7, e: ~}}}");
        assert_eq!(changed, yaml("{a: 6, c: [{d: 3}, {d: 7}]}"));
        assert_eq!(patched(spec, "{b: ~, c: []}"), yaml("{a: 1, c: []}"));
    }
}
