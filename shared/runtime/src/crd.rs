//! The resource definition as YAML: sorted, stable, and without what only fills space.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Map, Value};

use crate::operator::Operator;

/// Said of every quantity instead of Kubernetes' two kilobytes about its grammar.
const QUANTITY: &str = "A quantity, for instance 500m, 2Gi or 100G.";
/// How Kubernetes' own description of a quantity begins.
const QUANTITY_BEGINS: &str = "Quantity is a fixed-point representation of a number.";

/// The definition of `R` as JSON, its keys sorted.
pub fn definition<R: CustomResourceExt>() -> Result<Value, serde_json::Error> {
    tidy(&R::crd())
}

/// A definition as JSON, its keys sorted.
pub(crate) fn tidy(definition: &CustomResourceDefinition) -> Result<Value, serde_json::Error> {
    let mut definition = tidied(serde_json::to_value(definition)?);
    if let Some(definition) = definition.as_object_mut() {
        definition.remove("status");
    }
    Ok(definition)
}

/// The definitions of an operator's resource and of its companions, as YAML of several documents.
pub fn yaml<O: Operator>() -> Result<String, String> {
    let mut documents = vec![];
    let companions = O::companions().into_iter().map(|kind| kind.definition);
    for definition in [O::Resource::crd()].into_iter().chain(companions) {
        let definition = tidy(&definition).map_err(|error| error.to_string())?;
        if let Some(word) = boolean(&definition) {
            return Err(format!(
                "the value {word} of a field is a boolean in YAML 1.1: nobody could write it without quotes"
            ));
        }
        documents.push(serde_yaml::to_string(&definition).map_err(|error| error.to_string())?);
    }
    Ok(documents.join("---\n"))
}

/// A value of an enumeration, or a default, that YAML 1.1 takes for a boolean, as kubectl and Helm read it.
fn boolean(value: &Value) -> Option<&str> {
    let is_boolean = |text: &&str| {
        let words = ["y", "n", "yes", "no", "on", "off", "true", "false"];
        words.iter().any(|word| word.eq_ignore_ascii_case(text))
    };
    match value {
        Value::Object(object) => object.iter().find_map(|(key, value)| {
            let values = match (key.as_str(), value) {
                ("enum", Value::Array(values)) => values.as_slice(),
                ("default", value) => std::slice::from_ref(value),
                _ => &[],
            };
            values.iter().filter_map(Value::as_str).find(is_boolean).or_else(|| boolean(value))
        }),
        Value::Array(items) => items.iter().find_map(boolean),
        _ => None,
    }
}

fn tidied(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut fields: Vec<(String, Value)> = object.into_iter().collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            let tidy = |(key, value): (String, Value)| match &value {
                Value::String(text) if key == "description" && text.starts_with(QUANTITY_BEGINS) => {
                    (key, Value::String(QUANTITY.to_owned()))
                }
                _ => (key, tidied(value)),
            };
            Value::Object(fields.into_iter().map(tidy).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(tidied).collect()),
        scalar => scalar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator_tests::ThingOperator;

    #[test]
    fn values_that_are_booleans_in_yaml_are_found() {
        let schema = |values: Value| serde_json::json!({"a": [{"properties": {"mode": {"enum": values}}}]});
        assert_eq!(boolean(&schema(serde_json::json!(["Auto", "Off"]))), Some("Off"));
        assert_eq!(boolean(&schema(serde_json::json!(["Auto", "Disabled"]))), None);
        assert_eq!(
            boolean(&serde_json::json!({"default": {"mode": "x"}, "b": {"default": "yes"}})),
            Some("yes")
        );
    }

    #[test]
    fn it_is_sorted_and_quantities_are_short() {
        let text = yaml::<ThingOperator>().unwrap();
        assert!(text.starts_with("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"));
        assert!(text.contains(QUANTITY) && !text.contains(QUANTITY_BEGINS), "{text}");
        assert_eq!(text, yaml::<ThingOperator>().unwrap());
        assert!(!text.contains("acceptedNames"), "{text}");
    }
}
