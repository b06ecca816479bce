//! Live reads from the API server: what a plan is confirmed with before it is carried out.
//!
//! They are quorum reads (no resourceVersion), in parallel, each bounded.

use std::{fmt::Debug, future::Future, time::Duration};

use ballast_core::{
    label,
    object::{Children, Companion, Kind},
};
use futures::future::try_join_all;
use kube::{
    Api, Client, ResourceExt,
    api::ListParams,
    core::{ApiResource, DynamicObject, NamespaceResourceScope},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{companion, kind, operator::ResourceKey, write_error::message};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// What was to be read could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {what}: {message}")]
pub struct ReadError {
    /// What was to be read.
    pub what: String,
    /// Why it could not.
    pub message: String,
}

/// Everything that exists with the labels of one cluster, now.
pub async fn live_children(
    client: &Client,
    application: &str,
    kinds: &[ApiResource],
    key: &ResourceKey,
) -> Result<Children, ReadError> {
    let selector =
        format!("{}={},{}={}", label::MANAGED_BY, label::manager(application), label::INSTANCE, key.name);
    let params = ListParams::default().labels(&selector);
    let (stateful_sets, pods, claims, config_maps, services, disruption_budgets, network_policies) = futures::try_join!(
        list(client, key, &params),
        list(client, key, &params),
        list(client, key, &params),
        list(client, key, &params),
        list(client, key, &params),
        list(client, key, &params),
        list(client, key, &params),
    )?;
    let companions = live_companions(client, kinds, key).await?;
    Ok(Children {
        stateful_sets,
        pods,
        claims,
        config_maps,
        services,
        disruption_budgets,
        network_policies,
        companions,
    })
}

/// What people ask of one cluster, now.
async fn live_companions(
    client: &Client,
    kinds: &[ApiResource],
    key: &ResourceKey,
) -> Result<Vec<Companion>, ReadError> {
    let of_kind = |resource: &ApiResource| {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &key.namespace, resource);
        let (kind, plural) = (resource.kind.clone(), resource.plural.clone());
        async move {
            let what = || format!("{plural} of {}", key.namespace);
            let found = bounded(what, api.list(&ListParams::default())).await?.items;
            let mine = found.iter().filter(|object| companion::cluster(object).as_ref() == Some(key));
            Ok::<_, ReadError>(mine.map(|object| companion::read(&kind, object)).collect::<Vec<_>>())
        }
    };
    let mut companions = try_join_all(kinds.iter().map(of_kind)).await?.concat();
    companion::sort(&mut companions);
    Ok(companions)
}

/// The resource itself, now.
pub async fn live_resource<R>(client: &Client, key: &ResourceKey) -> Result<Option<R>, ReadError>
where
    R: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let api: Api<R> = Api::namespaced(client.clone(), &key.namespace);
    bounded(|| format!("{} {}/{}", R::kind(&()), key.namespace, key.name), api.get_opt(&key.name)).await
}

/// One object as JSON, whatever its labels are.
pub async fn live_object(
    client: &Client,
    namespace: &str,
    kind: Kind,
    name: &str,
) -> Result<Option<Value>, ReadError> {
    let api = kind::api(client, namespace, kind);
    let object = bounded(|| format!("{} {namespace}/{name}", kind.as_str()), api.get_opt(name)).await?;
    Ok(object.and_then(|object| serde_json::to_value(object).ok()))
}

async fn list<K>(client: &Client, key: &ResourceKey, params: &ListParams) -> Result<Vec<K>, ReadError>
where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client.clone(), &key.namespace);
    let what = || format!("{} of {}/{}", K::plural(&()), key.namespace, key.name);
    let mut objects = bounded(what, api.list(params)).await?.items;
    for object in &mut objects {
        object.managed_fields_mut().clear();
    }
    objects.sort_by_cached_key(ResourceExt::name_any);
    Ok(objects)
}

async fn bounded<T>(
    what: impl FnOnce() -> String,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, ReadError> {
    let message = match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => message(&error),
        Err(_elapsed) => format!("the API server did not answer within {} s", REQUEST_TIMEOUT.as_secs()),
    };
    Err(ReadError { what: what(), message })
}
