//! Which applies would change something, and whether the object that exists may be touched at all.

use ballast_core::{
    difference, hash, label,
    object::{Kind, Object},
    quantity,
};
use k8s_openapi::{
    api::core::v1::PersistentVolumeClaim, apimachinery::pkg::api::resource::Quantity,
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde_json::Value;

/// Annotation on every applied object: hash of what was sent. A field that is sent no more changes nothing that is
/// sent, but it changes this, so that server-side apply removes it.
const APPLIED_HASH: &str = "ballast.dev/applied-hash";

/// An object of this name exists, and belongs to something else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name {kind} {name} is taken by {by}: rename or delete that object")]
pub struct NameTaken {
    /// Kind of the object.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Who has it.
    pub by: String,
}

/// The object to be sent, or `None` when sending it would change nothing.
///
/// A claim only ever grows. What exists is named by its uid, so that nothing else can be hit.
pub(crate) fn pending(mut object: Object, live: Option<&Value>) -> Option<Object> {
    if let (Object::PersistentVolumeClaim(claim), Some(live)) = (&mut object, live) {
        never_shrink(claim, live);
    }
    let mut object = stamped(object);
    let Some(live) = live else { return Some(object) };
    difference::first(&object.to_json(), live)?;
    object.metadata_mut().uid = live.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned);
    Some(object)
}

/// `object` with the hash of what is sent; the same when it is stamped again.
pub(crate) fn stamped(mut object: Object) -> Object {
    let metadata = object.metadata_mut();
    let uid = metadata.uid.take();
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.remove(APPLIED_HASH);
    let hash = hash::json_hash(&object.to_json());
    let metadata = object.metadata_mut();
    metadata.annotations.get_or_insert_default().insert(APPLIED_HASH.to_owned(), hash);
    metadata.uid = uid;
    object
}

/// Refuses an object that does not belong to the resource with this uid.
pub(crate) fn ours(kind: Kind, live: &Value, resource_uid: &str) -> Result<(), NameTaken> {
    let metadata: ObjectMeta = live
        .get("metadata")
        .and_then(|metadata| serde_json::from_value(metadata.clone()).ok())
        .unwrap_or_default();
    let controller = metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    let labelled = metadata.labels.as_ref().and_then(|labels| labels.get(label::CLUSTER_UID));
    let by = match (controller, labelled) {
        (Some(owner), _) if owner.uid == resource_uid => return Ok(()),
        (None, Some(uid)) if uid == resource_uid => return Ok(()),
        (Some(owner), _) => format!("{} {} (uid {})", owner.kind, owner.name, owner.uid),
        (None, Some(uid)) => format!("an earlier cluster (uid {uid})"),
        (None, None) => "an object that this operator did not make".to_owned(),
    };
    Err(NameTaken { kind: kind.as_str(), name: metadata.name.unwrap_or_default(), by })
}

fn never_shrink(claim: &mut PersistentVolumeClaim, live: &Value) {
    let Some(live) = live.pointer("/spec/resources/requests/storage").and_then(Value::as_str) else { return };
    let requests = claim.spec.as_mut().and_then(|spec| spec.resources.as_mut()?.requests.as_mut());
    let Some(wanted) = requests.and_then(|requests| requests.get_mut("storage")) else { return };
    if let (Ok(want), Ok(have)) = (quantity::parse(&wanted.0), quantity::parse(live))
        && want < have
    {
        *wanted = Quantity(live.to_owned());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value)]
    use k8s_openapi::api::core::v1::ConfigMap;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn config_map(value: &str) -> Object {
        let object: ConfigMap = serde_json::from_value(json!({
            "metadata": { "name": "c", "labels": { "a": "b" } }, "data": { "key": value },
        }))
        .unwrap();
        object.into()
    }

    /// As the API server keeps what was applied, with something that others added.
    fn live(value: &str) -> Value {
        let mut live = pending(config_map(value), None).unwrap().to_json();
        live["metadata"]["uid"] = json!("u1");
        live["metadata"]["labels"]["foreign"] = json!("x");
        live["metadata"]["annotations"]["foreign"] = json!("x");
        live
    }

    #[test]
    fn what_is_there_already_is_not_sent() {
        assert_eq!(pending(config_map("1"), Some(&live("1"))), None);
    }

    #[test]
    fn a_difference_is_sent_to_exactly_that_object() {
        let object = pending(config_map("2"), Some(&live("1"))).unwrap();
        assert_eq!(object.metadata().uid.as_deref(), Some("u1"));
        assert_eq!(pending(config_map("2"), None).unwrap().metadata().uid, None);
    }

    #[test]
    fn a_stamp_does_not_change_when_it_is_put_again() {
        let sent = pending(config_map("2"), Some(&live("1"))).unwrap();
        assert_eq!(stamped(sent.clone()), sent);
        assert_ne!(stamped(config_map("1")), stamped(config_map("2")));
    }

    #[test]
    fn what_is_sent_no_more_is_a_difference() {
        let Object::ConfigMap(mut object) = config_map("1") else { panic!("not a ConfigMap") };
        object.data = None;
        assert!(pending(Object::ConfigMap(object), Some(&live("1"))).is_some());
    }

    #[rstest]
    #[case("1Gi", "2Gi", None)]
    #[case("3Gi", "2Gi", Some("3Gi"))]
    fn claims_only_grow(#[case] wanted: &str, #[case] have: &str, #[case] sent: Option<&str>) {
        let claim = |size: &str| {
            json!({
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "d" },
                "spec": { "resources": { "requests": { "storage": size } } },
            })
        };
        let object = |size: &str| -> Object {
            serde_json::from_value::<PersistentVolumeClaim>(claim(size)).unwrap().into()
        };
        let live = pending(object(have), None).unwrap().to_json();
        let result = pending(object(wanted), Some(&live));
        let size = result.map(|object| object.to_json()["spec"]["resources"]["requests"]["storage"].clone());
        assert_eq!(size.as_ref().and_then(Value::as_str), sent);
    }

    #[rstest]
    #[case(json!({ "ownerReferences": [owner("me", true)] }), None)]
    #[case(json!({ "labels": { (label::CLUSTER_UID): "me" } }), None)]
    #[case(json!({ "ownerReferences": [owner("other", false)], "labels": { (label::CLUSTER_UID): "me" } }), None)]
    #[case(json!({ "ownerReferences": [owner("other", true)] }), Some("EtcdCluster x (uid other)"))]
    #[case(json!({ "labels": { (label::CLUSTER_UID): "old" } }), Some("an earlier cluster (uid old)"))]
    #[case(json!({}), Some("an object that this operator did not make"))]
    fn identity_is_a_uid(#[case] mut metadata: Value, #[case] by: Option<&str>) {
        metadata["name"] = json!("c");
        let result = ours(Kind::ConfigMap, &json!({ "metadata": metadata }), "me");
        assert_eq!(result.err().map(|taken| taken.by).as_deref(), by);
    }

    fn owner(uid: &str, controller: bool) -> Value {
        json!({ "apiVersion": "v1", "kind": "EtcdCluster", "name": "x", "uid": uid, "controller": controller })
    }
}
