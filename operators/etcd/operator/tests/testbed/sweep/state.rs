//! What a cluster consists of now: every object but what only Kubernetes says in it.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use ballast_testbed::{
    Run,
    census::{compare, kinds},
    mask,
};
use k8s_openapi::{ByteString, api::networking::v1::NetworkPolicy};
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject, ListParams},
};
use serde_json::Value;

/// Metadata that says nothing about what an operator wanted.
const UNTOLD: [&str; 5] = ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"];

/// All objects by kind, in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Kind, name and object.
    objects: Vec<(String, String, Value)>,
    /// uid of every pod, with the hash of its template.
    pub pods: BTreeMap<String, (String, String)>,
}

impl State {
    pub async fn now(client: &Client, namespace: &str) -> Result<Self> {
        let mut state = Self::default();
        for kind in kinds().into_iter().chain([ApiResource::erase::<NetworkPolicy>(&())]) {
            let api = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, &kind);
            let mut objects = api.list(&ListParams::default()).await?.items;
            objects.sort_by_key(ResourceExt::name_any);
            for object in objects {
                let name = object.name_any();
                if kind.kind == "Pod" {
                    let hash = object.annotations().get("ballast.dev/template-hash").cloned();
                    state
                        .pods
                        .insert(name.clone(), (object.uid().unwrap_or_default(), hash.unwrap_or_default()));
                }
                state.objects.push((
                    kind.kind.clone(),
                    name,
                    told(&kind.kind, serde_json::to_value(object)?),
                ));
            }
        }
        Ok(state)
    }

    /// Kind and object.
    pub fn objects(&self) -> Vec<(String, Value)> {
        self.objects.iter().map(|(kind, _, object)| (kind.clone(), object.clone())).collect()
    }

    /// Hashes of the templates of the StatefulSets.
    pub fn hashes(&self) -> Vec<String> {
        let sets = self.objects.iter().filter(|(kind, ..)| kind == "StatefulSet");
        let hash = |set: &Value| {
            let annotations = set.pointer("/spec/template/metadata/annotations")?;
            Some(annotations["ballast.dev/template-hash"].as_str()?.to_owned())
        };
        sets.filter_map(|(.., set)| hash(set)).collect()
    }

    /// Where another state of the same cluster is different from this one.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        differences(&self.run(str::to_owned), &other.run(str::to_owned))
    }

    /// Where a cluster in another namespace is different from this one, in more than names, ids and hashes of them.
    pub fn differences_between(&self, namespace: &str, other: &Self, elsewhere: &str) -> Vec<String> {
        differences(
            &self.run(|text| mask::text(text, namespace)),
            &other.run(|text| mask::text(text, elsewhere)),
        )
    }

    fn run(&self, shown: impl Fn(&str) -> String) -> Run {
        let mut run = Run::default();
        for (kind, name, object) in &self.objects {
            let key = shown(&format!("{kind}/{name}"));
            run.objects.entry(key).or_default().push(walk(object, &shown));
        }
        for same in run.objects.values_mut() {
            same.sort_by_cached_key(ToString::to_string);
        }
        run
    }
}

fn differences(one: &Run, other: &Run) -> Vec<String> {
    compare(&[one.clone(), one.clone()], other).iter().map(ToString::to_string).collect()
}

fn told(kind: &str, mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| !UNTOLD.contains(&field.as_str()));
        // A member that lost its data is made anew, with another StatefulSet of the same name.
        for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(owner) = owner.as_object_mut().filter(|owner| owner["kind"] == "StatefulSet") {
                owner.remove("uid");
            }
        }
        // Which node it is depends on what else runs.
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("volume.kubernetes.io/selected-node");
        }
    }
    // What is encoded cannot be masked.
    if kind == "Secret"
        && let Some(data) = object.get_mut("data").and_then(Value::as_object_mut)
    {
        for value in data.values_mut() {
            if let Ok(ByteString(bytes)) = serde_json::from_value(value.clone()) {
                *value = String::from_utf8_lossy(&bytes).into();
            }
        }
    }
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("nodeName");
        // Its last digits come from the API server.
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    object
}

fn walk(value: &Value, shown: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(shown(text)),
        Value::Array(items) => items.iter().map(|item| walk(item, shown)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, inner)| (shown(key), walk(inner, shown))).collect(),
        other => other.clone(),
    }
}

/// A pod is another one exactly when its template is another one.
pub fn restarted_only_if_needed(before: &State, after: &State) -> Result<()> {
    for (name, (uid, hash)) in &before.pods {
        let Some((now, now_hash)) = after.pods.get(name) else { continue };
        ensure!(
            (uid == now) == (hash == now_hash),
            "{name}: {} although its template is {}",
            if uid == now { "not restarted" } else { "restarted" },
            if hash == now_hash { "the same" } else { "another one" }
        );
    }
    Ok(())
}
