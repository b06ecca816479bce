//! What tests of what is validated and built begin with: resources, where the operator runs, and objects as text.

#![allow(clippy::panic, reason = "it is for tests only, which fail by it")]

use ballast_core::{environment::Environment, object::Object};
use kube::Resource;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How an operator with this image is installed in the tests.
pub fn environment(operator_image: &str) -> Environment {
    Environment {
        cluster_domain: "cluster.local".to_owned(),
        operator_image: operator_image.to_owned(),
        operator_pull_policy: None,
        operator_namespace: Some("ballast-system".to_owned()),
    }
}

/// A resource in the namespace `ns`, as an API server gives it.
///
/// # Errors
/// If the specification is not even of the type: an API server would refuse it.
pub fn resource<R>(name: &str, uid: &str, spec: &Value) -> Result<R, serde_json::Error>
where
    R: Resource<DynamicType = ()> + DeserializeOwned,
{
    serde_json::from_value(json!({
        "apiVersion": R::api_version(&()),
        "kind": R::kind(&()),
        "metadata": {"name": name, "namespace": "ns", "uid": uid, "generation": 1},
        "spec": spec,
    }))
}

/// A sample that people apply, as an API server with the namespace `ns` gives it.
///
/// # Panics
/// If it is not of the type.
pub fn sample<R>(uid: &str, text: &str) -> R
where
    R: Resource<DynamicType = ()> + DeserializeOwned,
{
    let mut resource: R = serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    resource.meta_mut().namespace = Some("ns".to_owned());
    resource.meta_mut().uid = Some(uid.to_owned());
    resource
}

/// The objects as a file that people could apply.
///
/// # Panics
/// If one cannot be written as YAML.
pub fn manifest(objects: &[Object]) -> String {
    let text = |object: &Object| {
        serde_yaml::to_string(&object.to_json()).unwrap_or_else(|error| panic!("{object:?}: {error}"))
    };
    objects.iter().flat_map(|object| ["---\n".to_owned(), text(object)]).collect()
}

/// The objects as JSON, with their kinds.
pub fn by_kind(objects: &[Object]) -> Vec<(String, Value)> {
    objects.iter().map(|object| (object.kind().as_str().to_owned(), object.to_json())).collect()
}
