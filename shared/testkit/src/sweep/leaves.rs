//! The leaves of a schema.

use std::collections::BTreeSet;

use serde_json::Value;

/// Every leaf below `schema`, which is at `path`: what holds a value by itself, the values of maps (`.*`), the items of
/// lists (`[]`), and what is open.
pub fn leaves(schema: &Value, path: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(schema, path, &mut found);
    found
}

fn walk(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    let fields = schema["properties"].as_object();
    if let Some(items) = schema.get("items") {
        walk(items, &format!("{path}[]"), found);
    } else if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        walk(values, &format!("{path}.*"), found);
    } else if let Some(fields) = fields.filter(|fields| !fields.is_empty()) {
        for (name, field) in fields {
            walk(field, &format!("{path}.{name}"), found);
        }
    } else {
        found.insert(path.to_owned());
    }
}
