//! The reference of a resource's fields as Markdown, from its definition.

use std::fmt::Write;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::Value;

use crate::{crd, operator::Operator};

/// The reference of an operator's resource, and of its companions.
pub fn markdown<O: Operator>() -> Result<String, String> {
    let companions = O::companions().into_iter().map(|kind| kind.definition);
    let pages: Result<Vec<String>, String> =
        [O::Resource::crd()].iter().chain(&companions.collect::<Vec<_>>()).map(page).collect();
    Ok(pages?.join("\n"))
}

fn page(definition: &CustomResourceDefinition) -> Result<String, String> {
    let definition = crd::tidy(definition).map_err(|error| error.to_string())?;
    let text =
        |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let group = text("/spec/group");
    let mut page = format!("# {}\n", text("/spec/names/kind"));
    for version in definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten() {
        let name = version.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(schema) = version.pointer("/schema/openAPIV3Schema") else { continue };
        let about = schema.get("description").and_then(Value::as_str).unwrap_or_default();
        let _ = writeln!(page, "\n{about}\n\n`apiVersion: {group}/{name}`");
        for part in ["spec", "status"] {
            if let Some(schema) = schema.pointer(&format!("/properties/{part}")) {
                let _ = writeln!(
                    page,
                    "\n## {part}\n\n| field | type | default | description |\n|---|---|---|---|"
                );
                fields(&mut page, part, schema);
            }
        }
    }
    Ok(page)
}

fn fields(page: &mut String, path: &str, schema: &Value) {
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let mut properties: Vec<_> =
        schema.get("properties").and_then(Value::as_object).into_iter().flatten().collect();
    properties.sort_by_key(|(name, _)| *name);
    for (name, field) in properties {
        let path = format!("{path}.{name}");
        let default = match field.get("default") {
            Some(default) => format!("`{default}`"),
            None if required(name) => "required".to_owned(),
            None => String::new(),
        };
        let description = field.get("description").and_then(Value::as_str).unwrap_or_default();
        let _ = writeln!(page, "| `{path}` | {} | {} | {} |", kind(field), cell(&default), cell(description));
        nested(page, &path, field);
    }
}

fn nested(page: &mut String, path: &str, field: &Value) {
    if field.get("properties").is_some() {
        fields(page, path, field);
    }
    if let Some(items) = field.get("items") {
        nested(page, &format!("{path}[]"), items);
    }
    if let Some(values) = field.get("additionalProperties").filter(|values| values.is_object()) {
        nested(page, &format!("{path}.*"), values);
    }
}

fn kind(field: &Value) -> String {
    if let Some(values) = field.get("enum").and_then(Value::as_array) {
        let values = values.iter().filter(|value| !value.is_null()).map(|value| match value {
            Value::String(text) => format!("`{text}`"),
            other => format!("`{other}`"),
        });
        return values.collect::<Vec<_>>().join(", ");
    }
    if field.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return "integer or string".to_owned();
    }
    let name = field.get("type").and_then(Value::as_str).unwrap_or("any");
    match (name, field.get("items"), field.get("additionalProperties")) {
        ("array", Some(items), _) => format!("list of {}", kind(items)),
        ("object", _, Some(values)) if values.is_object() => format!("map of {}", kind(values)),
        _ => name.to_owned(),
    }
}

fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator_tests::ThingOperator;

    #[test]
    fn every_field_has_a_line() {
        let page = markdown::<ThingOperator>().unwrap();
        assert!(page.starts_with("# Thing\n"), "{page}");
        for line in [
            "| `spec.replicas` | integer | `3` | How many. |",
            "| `spec.size` | integer or string | required | How large. |",
            "| `spec.parts` | list of object |  | Its parts. |",
            "| `spec.parts[].name` | string | required | Name \\| of the part. |",
            "| `spec.limits` | map of integer or string |  | Its limits. |",
            "| `status.state` | string |  | What it is. |",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
    }
}
