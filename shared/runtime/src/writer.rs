//! The writer: the one place through which every mutating call goes.
//!
//! Each call passes the gate, is bounded by a time-out, is counted, and names what it touches by uid where there is
//! one. There is no retry here: the next pass looks again and decides anew.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use ballast_core::{
    label,
    object::{Kind, Object, ObjectRef},
};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    core::{ApiResource, DynamicObject, NamespaceResourceScope},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{gate::Gate, kind::api, metrics::Metrics, pending::stamped};

pub use crate::write_error::WriteError;

/// How long one mutating request may be under way; leader election counts on it.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Every mutating call of one operator in one namespace.
#[derive(Clone)]
pub struct Writer {
    client: Client,
    namespace: String,
    field_manager: String,
    gate: Arc<Gate>,
    metrics: Arc<Metrics>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

/// What the API server said about a new object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// Its uid.
    pub uid: String,
    /// Its resourceVersion.
    pub resource_version: String,
}

impl Writer {
    /// A writer for the operator of `application`, in `namespace`.
    pub fn new(
        client: Client,
        application: &str,
        namespace: impl Into<String>,
        gate: Arc<Gate>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            client,
            namespace: namespace.into(),
            field_manager: label::manager(application),
            gate,
            metrics,
        }
    }

    /// The namespace that it writes to.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The outcome of one mutating call, to Kubernetes or to the application itself, if the gate lets it pass.
    ///
    /// No part of it is sent later than five seconds from now, not even by a process that is frozen meanwhile.
    pub async fn guarded<T>(&self, request: impl Future<Output = T>) -> Result<T, WriteError> {
        self.gate.permit()?;
        let clock = self.gate.clock();
        let outcome = clock.before(clock.now() + REQUEST_TIMEOUT, request).await;
        outcome.ok_or(WriteError::Timeout(REQUEST_TIMEOUT))
    }

    /// Server-side apply, forced. If `object` has a uid, only the object with that uid is touched.
    pub async fn apply(&self, object: &Object) -> Result<(), WriteError> {
        let params = PatchParams::apply(&self.field_manager).force();
        let patch = Patch::Apply(stamped(object.clone()).to_json());
        let api = self.api(object.kind());
        self.send("apply", object.kind().as_str(), api.patch(object.name(), &params, &patch)).await?;
        Ok(())
    }

    /// Creates; an existing object of the same name is an error.
    pub async fn create(&self, object: &Object) -> Result<Created, WriteError> {
        let body: DynamicObject = serde_json::from_value(stamped(object.clone()).to_json())
            .map_err(|error| WriteError::Other(error.to_string()))?;
        let api = self.api(object.kind());
        let created = self.send("create", object.kind().as_str(), api.create(&self.post(), &body)).await?;
        Ok(Created {
            uid: created.metadata.uid.unwrap_or_default(),
            resource_version: created.metadata.resource_version.unwrap_or_default(),
        })
    }

    /// Replaces a ConfigMap that was read before: its resourceVersion must be set, and must still be the current one.
    pub async fn replace_config_map(&self, config_map: &ConfigMap) -> Result<(), WriteError> {
        let name = config_map.metadata.name.as_deref().unwrap_or_default();
        if config_map.metadata.resource_version.is_none() {
            return Err(WriteError::Other(format!(
                "the ConfigMap {name} is replaced without its resourceVersion"
            )));
        }
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &self.namespace);
        self.send("replace", "ConfigMap", api.replace(name, &self.post(), config_map)).await?;
        Ok(())
    }

    /// Deletes exactly this object, its dependents in the background. What is gone already is fine.
    pub async fn delete(&self, object: &ObjectRef) -> Result<(), WriteError> {
        let params = DeleteParams { preconditions: Some(uid(&object.uid)), ..DeleteParams::background() };
        let api = self.api(object.kind);
        gone_is_fine(self.send("delete", object.kind.as_str(), api.delete(&object.name, &params)).await)
    }

    /// Fails with [`WriteError::Conflict`] while exactly this object still exists, by a read from the API server.
    pub async fn confirm_gone(&self, object: &ObjectRef) -> Result<(), WriteError> {
        let api = self.api(object.kind);
        let found = tokio::time::timeout(REQUEST_TIMEOUT, api.get_opt(&object.name)).await;
        match found.map_err(|_elapsed| WriteError::Timeout(REQUEST_TIMEOUT))?? {
            Some(found) if found.metadata.uid.as_deref() == Some(object.uid.as_str()) => {
                Err(WriteError::Conflict(format!("{} {} is still there", object.kind.as_str(), object.name)))
            }
            _ => Ok(()),
        }
    }

    /// Deletes exactly this pod, with its own grace period or the given one.
    pub async fn delete_pod(
        &self,
        name: &str,
        pod_uid: &str,
        grace_seconds: Option<i64>,
    ) -> Result<(), WriteError> {
        let params = DeleteParams {
            grace_period_seconds: grace_seconds.map(|seconds| u32::try_from(seconds).unwrap_or(0)),
            preconditions: Some(uid(pod_uid)),
            ..DeleteParams::background()
        };
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        gone_is_fine(self.send("delete", "Pod", api.delete(name, &params)).await)
    }

    /// JSON merge patch of the metadata of an object that was read at `resource_version`; for adoption of claims.
    ///
    /// `metadata` is what goes below `metadata`, for instance `{"labels": {"a": "b", "gone": null}}`.
    pub async fn merge_metadata(
        &self,
        object: &ObjectRef,
        resource_version: &str,
        mut metadata: Value,
    ) -> Result<(), WriteError> {
        let Some(fields) = metadata.as_object_mut() else {
            return Err(WriteError::Other("the metadata of a patch is not an object".to_owned()));
        };
        fields.insert("uid".to_owned(), json!(object.uid));
        fields.insert("resourceVersion".to_owned(), json!(resource_version));
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        let params =
            PatchParams { field_manager: Some(self.field_manager.clone()), ..PatchParams::default() };
        let api = self.api(object.kind);
        self.send("patch", object.kind.as_str(), api.patch(&object.name, &params, &patch)).await?;
        Ok(())
    }

    /// Replaces the whole status of exactly this resource, and returns the resource as it is now.
    pub async fn replace_status<K>(
        &self,
        name: &str,
        resource_uid: &str,
        status: &Value,
    ) -> Result<K, WriteError>
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + fmt::Debug
            + DeserializeOwned
            + Serialize,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &self.namespace);
        self.replace_status_at(&api, &K::kind(&()), name, resource_uid, status).await
    }

    /// The same for a resource of a kind that is known only now.
    pub async fn replace_companion_status(
        &self,
        kind: &ApiResource,
        name: &str,
        resource_uid: &str,
        status: &Value,
    ) -> Result<(), WriteError> {
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &self.namespace, kind);
        self.replace_status_at(&api, &kind.kind, name, resource_uid, status).await.map(drop)
    }

    async fn replace_status_at<K>(
        &self,
        api: &Api<K>,
        kind: &str,
        name: &str,
        resource_uid: &str,
        status: &Value,
    ) -> Result<K, WriteError>
    where
        K: DeserializeOwned,
    {
        let operations = json!([
            { "op": "test", "path": "/metadata/uid", "value": resource_uid },
            { "op": "add", "path": "/status", "value": status },
        ]);
        let patch =
            serde_json::from_value(operations).map_err(|error| WriteError::Other(error.to_string()))?;
        let params = PatchParams {
            field_manager: Some(format!("{}-status", self.field_manager)),
            ..PatchParams::default()
        };
        self.send("status", kind, api.patch_status(name, &params, &Patch::<()>::Json(patch))).await
    }

    fn api(&self, kind: Kind) -> Api<DynamicObject> {
        api(&self.client, &self.namespace, kind)
    }

    fn post(&self) -> PostParams {
        PostParams { field_manager: Some(self.field_manager.clone()), ..PostParams::default() }
    }

    async fn send<T>(
        &self,
        verb: &'static str,
        kind: &str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WriteError> {
        let result = match self.guarded(request).await {
            Ok(result) => result.map_err(WriteError::from),
            // Nothing was sent: that is no write to be counted.
            Err(error @ WriteError::GateClosed(_)) => return Err(error),
            Err(error) => Err(error),
        };
        self.metrics.wrote(verb, kind, result.as_ref().map_or_else(WriteError::reason, |_| "Ok"));
        result
    }
}

fn uid(uid: &str) -> Preconditions {
    Preconditions { uid: Some(uid.to_owned()), resource_version: None }
}

fn gone_is_fine<T>(result: Result<T, WriteError>) -> Result<(), WriteError> {
    match result {
        Ok(_) | Err(WriteError::NotFound(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::Clock, fake_api::FakeApi};

    fn writer(gate: &Arc<Gate>) -> Writer {
        let api = Arc::new(FakeApi::default());
        Writer::new(api.client(), "thing", "n", gate.clone(), Arc::new(Metrics::new("thing", "1")))
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_frozen_after_the_gate_sends_nothing_when_it_wakes_up() {
        let gate = Arc::new(Gate::expired(Clock::of_tests()));
        let writer = writer(&gate);
        assert!(matches!(writer.guarded(async {}).await, Err(WriteError::GateClosed(_))));
        gate.extend(gate.clock().now() + Duration::from_secs(10));
        assert_eq!(writer.guarded(async { 7 }).await, Ok(7));
        let mut sent = false;
        let write = async {
            // It has passed the gate, and waits for a connection.
            tokio::time::sleep(Duration::from_secs(1)).await;
            sent = true;
        };
        let freeze = async {
            tokio::task::yield_now().await;
            tokio::time::advance(Duration::from_mins(1)).await;
        };
        let (outcome, ()) = tokio::join!(writer.guarded(write), freeze);
        assert_eq!(outcome, Err(WriteError::Timeout(REQUEST_TIMEOUT)));
        assert!(!sent, "another replica leads by now");
    }
}
