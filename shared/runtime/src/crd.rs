//! The resource definition as YAML: sorted, stable, and without what only fills space.

use kube::CustomResourceExt;
use serde_json::{Map, Value};

/// Said of every quantity instead of Kubernetes' two kilobytes about its grammar.
const QUANTITY: &str = "A quantity, for instance 500m, 2Gi or 100G.";
/// How Kubernetes' own description of a quantity begins.
const QUANTITY_BEGINS: &str = "Quantity is a fixed-point representation of a number.";

/// The definition of `R` as JSON, its keys sorted.
pub fn definition<R: CustomResourceExt>() -> Result<Value, serde_json::Error> {
    let mut definition = tidied(serde_json::to_value(R::crd())?);
    if let Some(definition) = definition.as_object_mut() {
        definition.remove("status");
    }
    Ok(definition)
}

/// The definition of `R` as YAML.
pub fn yaml<R: CustomResourceExt>() -> Result<String, String> {
    let definition = definition::<R>().map_err(|error| error.to_string())?;
    serde_yaml::to_string(&definition).map_err(|error| error.to_string())
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
    use crate::operator_tests::Thing;

    #[test]
    fn it_is_sorted_and_quantities_are_short() {
        let text = yaml::<Thing>().unwrap();
        assert!(text.starts_with("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"));
        assert!(text.contains(QUANTITY) && !text.contains(QUANTITY_BEGINS), "{text}");
        assert_eq!(text, yaml::<Thing>().unwrap());
        assert!(!text.contains("acceptedNames"), "{text}");
    }
}
