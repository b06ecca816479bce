//! Resources that ask something of a cluster: they are handed to the passes of the cluster that they name, which also write their
//! status. So one planner decides about everything that happens to a cluster.

use ballast_core::object::Companion;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    CustomResourceExt, ResourceExt,
    core::{ApiResource, DynamicObject},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::warn;

use crate::{
    operator::{Operator, ResourceKey, Seen},
    pipeline::{Pipeline, Planned},
    writer::WriteError,
};

/// A kind of companions, with its definition.
#[derive(Clone, Debug)]
pub struct CompanionKind {
    /// Group, version and names.
    pub resource: ApiResource,
    /// Its definition.
    pub definition: CustomResourceDefinition,
    /// Says what keeps a document from being one.
    pub(crate) check: fn(&Value) -> Result<(), String>,
}

impl CompanionKind {
    /// The kind that `K` is.
    pub fn of<K: CustomResourceExt + DeserializeOwned>() -> Self {
        let check = |value: &Value| match serde_json::from_value::<K>(value.clone()) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        Self { resource: K::api_resource(), definition: K::crd(), check }
    }
}

/// The cluster that a companion asks something of.
pub(crate) fn cluster(object: &DynamicObject) -> Option<ResourceKey> {
    let name = object.data.pointer("/spec/cluster")?.as_str()?.to_owned();
    Some(ResourceKey { namespace: object.namespace()?, name })
}

/// What is read of a companion.
pub(crate) fn read(kind: &str, object: &DynamicObject) -> Companion {
    let part = |name: &str| object.data.get(name).cloned().unwrap_or(Value::Null);
    Companion {
        kind: kind.to_owned(),
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        generation: object.metadata.generation,
        created: object.creation_timestamp().map(|time| time.0),
        deleting: object.metadata.deletion_timestamp.is_some(),
        spec: part("spec"),
        status: part("status"),
    }
}

/// The oldest first, and by name where several are as old: so that all passes see them in one order.
pub(crate) fn sort(companions: &mut [Companion]) {
    companions.sort_by(|one, other| (one.created, &one.name).cmp(&(other.created, &other.name)));
}

impl<O: Operator> Pipeline<O> {
    pub(crate) fn companion_kinds(&self) -> Vec<ApiResource> {
        self.caches.companions.iter().map(|(kind, _)| kind.resource.clone()).collect()
    }

    /// Writes the statuses of the companions of a cluster that differ.
    pub(crate) async fn tell_companions(
        &self,
        key: &ResourceKey,
        resource: &O::Resource,
        planned: &Planned<O>,
    ) -> Result<(), WriteError> {
        let Planned { desired, observed, plan } = planned;
        let seen = Seen { resource, desired, observed, plan };
        self.write_statuses(key, self.operator.companion_statuses(seen, self.time.now())).await
    }

    /// A cluster that does not exist has no passes: whoever asks something of it is told so.
    pub(crate) async fn tell_companions_without_cluster(&self, key: &ResourceKey) {
        let now = self.time.now();
        let told = |companion: Companion| {
            let status = self.operator.companion_without_cluster(&companion, now)?;
            Some((companion, status))
        };
        let statuses = self.caches.companions(key).into_iter().filter_map(told).collect();
        if let Err(error) = self.write_statuses(key, statuses).await {
            warn!(%error, "cannot tell that there is no such cluster");
        }
    }

    async fn write_statuses(
        &self,
        key: &ResourceKey,
        statuses: Vec<(Companion, Value)>,
    ) -> Result<(), WriteError> {
        let writer = self.writer(key);
        for (companion, status) in statuses {
            let kind = self.caches.companions.iter().find(|(kind, _)| kind.resource.kind == companion.kind);
            let Some((kind, _)) = kind.filter(|_| companion.status != status) else { continue };
            let written =
                writer.replace_companion_status(&kind.resource, &companion.name, &companion.uid, &status);
            match written.await {
                // Deleted meanwhile.
                Ok(()) | Err(WriteError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
