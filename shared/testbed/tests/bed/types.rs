//! A resource type of the tests' own.

use anyhow::Result;
use ballast_testbed::wait::until;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use serde_json::json;

use crate::{DEADLINE, bed};

/// A type that may hold anything.
pub fn thing() -> CustomResourceDefinition {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    serde_json::from_value(json!({"metadata": {"name": "things.testbed.ballast.dev"}, "spec": {
        "group": "testbed.ballast.dev", "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}}))
    .unwrap()
}

#[test]
fn what_a_resource_owns_goes_with_it_from_the_beginning() -> Result<()> {
    bed().block_on(async {
        let namespace = bed().namespace("owned").await?;
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("testbed.ballast.dev", "v1", "Thing"));
        let things = Api::<DynamicObject>::namespaced_with(bed().client().clone(), &namespace, &kind);
        let thing = DynamicObject::new("x", &kind);
        let thing = things.create(&PostParams::default(), &thing).await?;
        let maps = Api::<ConfigMap>::namespaced(bed().client().clone(), &namespace);
        let owned = json!({"metadata": {"name": "owned", "ownerReferences": [{"apiVersion": "testbed.ballast.dev/v1",
            "kind": "Thing", "name": "x", "uid": thing.metadata.uid}]}});
        maps.create(&PostParams::default(), &serde_json::from_value(owned)?).await?;
        things.delete("x", &DeleteParams::background()).await?;
        let gone = || async { Ok(maps.get_opt("owned").await?.is_none().then_some(())) };
        until(DEADLINE, "the end of what it owned", gone).await
    })
}
