//! `render` and `validate`: what would happen to resources in a file, without a cluster.

use std::{fmt::Write, path::Path};

use ballast_core::invalid::Invalid;
use kube::Resource;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{companion::CompanionKind, operator::Operator};

/// Stands for the uid that the API server would give.
const UID: &str = "00000000-0000-0000-0000-000000000000";
const NAMESPACE: &str = "default";

/// The file cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is not YAML, or a document is not this resource.
    #[error("{path}: document {document}: {message}")]
    Document {
        /// The file.
        path: String,
        /// Which one, from 1.
        document: usize,
        /// What is wrong with it.
        message: String,
    },
    /// A resource is wrong, so there is nothing to render.
    #[error("{0}")]
    Invalid(String),
}

/// What would be applied for the resources in `text`, as YAML of several documents.
pub fn render<O: Operator>(operator: &O, path: &str, text: &str) -> Result<String, OfflineError> {
    let mut rendered = String::new();
    for resource in resources::<O>(path, text)? {
        let desired = operator
            .validate(&resource)
            .map_err(|invalid| OfflineError::Invalid(lines(path, &invalid).trim_end().to_owned()))?;
        for object in operator.render(&desired) {
            let yaml = serde_yaml::to_string(&object.to_json())
                .map_err(|error| OfflineError::Invalid(format!("{path}: {}: {error}", object.name())))?;
            let _ = write!(rendered, "---\n{yaml}");
        }
    }
    Ok(rendered)
}

/// What is wrong with the resources in `text`, a line each; `Ok` with a line when nothing is.
pub fn validate<O: Operator>(operator: &O, path: &str, text: &str) -> Result<String, OfflineError> {
    let wrong: String = resources::<O>(path, text)?
        .iter()
        .filter_map(|resource| operator.validate(resource).err())
        .map(|invalid| lines(path, &invalid))
        .collect();
    if wrong.is_empty() {
        Ok(format!("{path}: valid\n"))
    } else {
        Err(OfflineError::Invalid(wrong.trim_end().to_owned()))
    }
}

/// The text of a file, or of stdin for `-`.
pub fn read(path: &Path) -> Result<String, OfflineError> {
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(path)
    };
    text.map_err(|source| OfflineError::File { path: path.display().to_string(), source })
}

fn lines(path: &str, invalid: &[Invalid]) -> String {
    invalid.iter().fold(String::new(), |mut text, invalid| {
        let _ = writeln!(text, "{path}: {invalid}");
        text
    })
}

fn resources<O: Operator>(path: &str, text: &str) -> Result<Vec<O::Resource>, OfflineError> {
    let mut resources = vec![];
    let (companions, mut accompanied) = (O::companions(), false);
    for (number, document) in serde_yaml::Deserializer::from_str(text).enumerate() {
        let wrong =
            |message: String| OfflineError::Document { path: path.to_owned(), document: number + 1, message };
        let value = Value::deserialize(document).map_err(|error| wrong(error.to_string()))?;
        if value.is_null() {
            continue;
        }
        let kind = O::Resource::kind(&());
        let api_version = O::Resource::api_version(&());
        // What asks something of a cluster makes nothing by itself.
        let is_it = |companion: &&CompanionKind| {
            let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
            text("kind") == companion.resource.kind && text("apiVersion") == companion.resource.api_version
        };
        if let Some(companion) = companions.iter().find(is_it) {
            (companion.check)(&value).map_err(wrong)?;
            accompanied = true;
            continue;
        }
        let is = |field: &str, want: &str| value.get(field).and_then(Value::as_str) == Some(want);
        if !is("kind", &kind) || !is("apiVersion", &api_version) {
            return Err(wrong(format!("not a {kind} of {api_version}")));
        }
        let mut resource: O::Resource =
            serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
        let metadata = resource.meta_mut();
        metadata.uid.get_or_insert_with(|| UID.to_owned());
        metadata.namespace.get_or_insert_with(|| NAMESPACE.to_owned());
        metadata.generation.get_or_insert(1);
        resources.push(resource);
    }
    if resources.is_empty() && !accompanied {
        let message = format!("no document is a {}", json!(O::Resource::kind(&())));
        return Err(OfflineError::Document { path: path.to_owned(), document: 1, message });
    }
    Ok(resources)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator_tests::ThingOperator;

    const GOOD: &str =
        "apiVersion: test.ballast.dev/v1alpha1\nkind: Thing\nmetadata: {name: a}\nspec: {size: 1Gi}\n";
    const BAD: &str = "apiVersion: test.ballast.dev/v1alpha1\nkind: Thing\nmetadata: {name: b}\nspec: {size: 1Gi, replicas: 0}\n";

    #[test]
    fn render_writes_what_would_be_applied() {
        let text = render(&ThingOperator::default(), "f.yaml", GOOD).unwrap();
        assert!(text.starts_with("---\napiVersion: v1\n"), "{text}");
        assert!(text.contains("kind: ConfigMap") && text.contains("name: a") && text.contains(UID), "{text}");
    }

    #[test]
    fn validate_names_file_and_field_of_every_document() {
        let operator = ThingOperator::default();
        assert_eq!(validate(&operator, "f.yaml", GOOD).unwrap(), "f.yaml: valid\n");
        let both = format!("---\n{BAD}---\n{GOOD}---\n{BAD}");
        let error = validate(&operator, "f.yaml", &both).unwrap_err().to_string();
        let line = "f.yaml: spec.replicas: at least one";
        assert_eq!(error, format!("{line}\n{line}"));
    }

    #[test]
    fn another_kind_is_named() {
        let text = GOOD.replace("kind: Thing", "kind: Other");
        let error = validate(&ThingOperator::default(), "f.yaml", &text).unwrap_err().to_string();
        assert_eq!(error, "f.yaml: document 1: not a Thing of test.ballast.dev/v1alpha1");
        assert!(validate(&ThingOperator::default(), "f.yaml", "").is_err());
    }
}
