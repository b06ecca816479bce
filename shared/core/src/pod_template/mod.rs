//! The user's overlay on the pod, `pod.template`: a partial `PodTemplateSpec`, and what it may not touch.
//!
//! Its schema is open, so it is checked here: fields that would change what the operator relies on are
//! refused by name, with what to do instead.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde::Serialize;
use serde_json::Value;

use crate::{invalid::Invalid, quantity};

mod container;
mod merge;
mod metadata;
mod protect;
mod security;
mod spec;
mod typed;

/// What the operator itself has in the pod.
#[derive(Clone, Copy, Debug)]
pub struct Protected<'a> {
    /// Names of our containers. The first is the application's, which may be changed a little; the others
    /// (init containers) not at all.
    pub containers: &'a [&'a str],
    /// Names of our volumes.
    pub volumes: &'a [&'a str],
    /// Environment variables that configure the application, by prefix.
    pub env_prefixes: &'a [&'a str],
    /// Where our volumes are mounted.
    pub mount_paths: &'a [&'a str],
}

/// A checked overlay.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Overlay(Value);

impl Overlay {
    /// Checks the user's value, found at `path` of the resource; `null` anywhere in it counts as absent.
    pub fn validate(value: &Value, path: &str, rules: &Protected<'_>) -> Result<Self, Vec<Invalid>> {
        let value = quantity::texts(&without_nulls(value));
        let mut report = Report { rules, invalid: vec![] };
        if let Value::Object(fields) = &value {
            for (key, field) in fields {
                let path = format!("{path}.{key}");
                match key.as_str() {
                    "metadata" => metadata::check(field, &path, &mut report),
                    "spec" => spec::check(field, &path, &mut report),
                    _ => report.add(path, "unknown field: a pod template has metadata and spec"),
                }
            }
            typed::check(&value, path, &mut report);
        } else if !value.is_null() {
            report.add(path, "must be an object with metadata and spec");
        }
        if report.invalid.is_empty() { Ok(Self(without_idle(value))) } else { Err(report.invalid) }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Value::Object(fields) => {
                fields.values().all(|field| field.as_object().is_some_and(serde_json::Map::is_empty))
            }
            value => value.is_null(),
        }
    }

    /// The overlay as the user wrote it, without `null` and without fields that are empty and change nothing.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Lays it over the operator's template: maps are merged, lists with names are merged by name (so that
    /// sidecars are appended), other lists and values are replaced. What is protected stays as it was.
    pub fn apply(&self, template: PodTemplateSpec) -> PodTemplateSpec {
        let Ok(mut merged) = serde_json::to_value(&template) else { return template };
        merge::merge(&mut merged, &self.0, "");
        match serde_json::from_value(merged) {
            Ok(merged) => protect::restore(template, merged),
            // Not reached: the overlay's types were checked.
            Err(_) => template,
        }
    }
}

/// What was found so far.
struct Report<'a> {
    rules: &'a Protected<'a>,
    invalid: Vec<Invalid>,
}

impl Report<'_> {
    fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.invalid.push(Invalid::new(field, message));
    }
}

/// Without the fields of metadata and spec that are empty: laid over a template they change nothing, and must restart no
/// pod. An empty list of spread constraints is more than that: it takes the place of ours.
fn without_idle(mut value: Value) -> Value {
    let idle = |value: &Value| match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    for part in value.as_object_mut().into_iter().flat_map(serde_json::Map::values_mut) {
        if let Value::Object(fields) = part {
            fields.retain(|key, field| key == "topologySpreadConstraints" || !idle(field));
        }
    }
    value
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests;
