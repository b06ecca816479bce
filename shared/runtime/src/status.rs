//! The status of a resource: compared as the API server would keep it, and replaced as a whole when it differs.

use kube::ResourceExt;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    memory::{Memories, Memory},
    operator::ResourceKey,
    writer::{WriteError, Writer},
};

/// The status that `resource` has.
pub(crate) fn current<R: Serialize>(resource: &R) -> Value {
    let Ok(mut resource) = serde_json::to_value(resource) else { return Value::Null };
    resource.get_mut("status").map_or(Value::Null, Value::take)
}

/// `status` as it comes back when it is read again: what the type leaves out when empty is left out here too.
fn as_read_back<R: Serialize + DeserializeOwned>(resource: &R, status: &Value) -> Value {
    let round_trip = || {
        let mut resource = serde_json::to_value(resource).ok()?;
        resource.as_object_mut()?.insert("status".to_owned(), status.clone());
        serde_json::from_value::<R>(resource).ok().map(|resource| current(&resource))
    };
    round_trip().unwrap_or_else(|| status.clone())
}

/// Whether `status` has to be written, given what `resource` has and what was written last.
fn differs<R>(memory: &Memory<R>, resource: &R, status: &Value) -> bool
where
    R: ResourceExt + Clone + Serialize + DeserializeOwned,
{
    if as_read_back(resource, status) == current(resource) {
        return false;
    }
    // An API server with an older schema drops fields that we write: writing them again would never end.
    let pruned = memory.written.as_ref() == Some(status)
        && memory
            .latest
            .as_ref()
            .is_some_and(|latest| latest.resource_version() == resource.resource_version());
    !pruned
}

/// Writes `status` if it differs.
pub(crate) async fn write<R>(
    writer: &Writer,
    memories: &Memories<R>,
    memory: &mut Memory<R>,
    key: &ResourceKey,
    resource: &R,
    status: &Value,
) -> Result<(), WriteError>
where
    R: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + Serialize
        + DeserializeOwned,
{
    if !differs(memory, resource, status) {
        return Ok(());
    }
    memories.sending(key, as_read_back(resource, status));
    let uid = resource.uid().unwrap_or_default();
    let latest = writer.replace_status(&key.name, &uid, status).await?;
    memory.latest = Some(latest);
    memory.written = Some(status.clone());
    Ok(())
}

/// Whether two states of a resource are the same but for the status and what the server keeps for itself.
pub(crate) fn same_but_status<R: ResourceExt>(before: &R, after: &R) -> bool {
    let fingerprint = |resource: &R| {
        let metadata = resource.meta();
        json!([
            metadata.uid,
            metadata.generation,
            metadata.labels,
            metadata.annotations,
            metadata.deletion_timestamp,
        ])
    };
    fingerprint(before) == fingerprint(after)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::*;

    fn pod(version: &str, status: &Value) -> Pod {
        serde_json::from_value(json!({
            "metadata": { "name": "a", "resourceVersion": version, "generation": 1 }, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn what_reads_back_the_same_is_not_written() {
        let memory = Memory::of("u".into());
        let have = pod("1", &json!({ "phase": "Running", "conditions": [] }));
        assert!(!differs(&memory, &have, &json!({ "phase": "Running", "conditions": [] })));
        assert!(!differs(&memory, &have, &json!({ "phase": "Running", "unknown": null, "conditions": [] })));
        assert!(differs(&memory, &have, &json!({ "phase": "Pending", "conditions": [] })));
    }

    #[test]
    fn what_the_server_pruned_is_not_written_again() {
        let mut memory = Memory::of("u".into());
        let status = json!({ "phase": "Running", "message": "new field" });
        memory.written = Some(status.clone());
        memory.latest = Some(pod("2", &json!({ "phase": "Running" })));
        assert!(!differs(&memory, &pod("2", &json!({ "phase": "Running" })), &status));
        assert!(
            differs(&memory, &pod("3", &json!({ "phase": "Failed" })), &status),
            "someone changed it since"
        );
    }

    #[test]
    fn only_a_change_of_the_status_is_no_news() {
        let before = pod("1", &json!({ "phase": "Running" }));
        let mut after = pod("2", &json!({ "phase": "Failed" }));
        assert!(same_but_status(&before, &after));
        after.metadata.generation = Some(2);
        assert!(!same_but_status(&before, &after));
    }
}
