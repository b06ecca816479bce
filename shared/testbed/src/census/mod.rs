//! The census: what was created and deleted in a namespace, and what is there at the end.
//!
//! A crash in the middle must not show: an operator that was disturbed has to end with the same objects, and must have
//! created and deleted each of them as often as one that was not. This is the oracle of Sieve (OSDI 2022), which finds
//! what no list of expected properties would.

mod compare;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{ApiResource, DynamicObject, ListParams, WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt};
use tokio::task::JoinSet;

pub use compare::{Difference, compare};
pub use run::{Count, Run};

/// How long the watches may take to tell what a list already shows.
const CATCH_UP: Duration = Duration::from_secs(30);

/// The kinds that operators make. Their own resources are added by whoever counts.
pub fn kinds() -> Vec<ApiResource> {
    vec![
        ApiResource::erase::<Pod>(&()),
        ApiResource::erase::<StatefulSet>(&()),
        ApiResource::erase::<PersistentVolumeClaim>(&()),
        ApiResource::erase::<ConfigMap>(&()),
        ApiResource::erase::<Secret>(&()),
        ApiResource::erase::<Service>(&()),
        ApiResource::erase::<PodDisruptionBudget>(&()),
        ApiResource::erase::<Job>(&()),
    ]
}

/// What the watches have told so far.
#[derive(Debug, Default)]
struct Seen {
    counts: BTreeMap<String, Count>,
    /// uids of the objects of each kind that are there.
    alive: BTreeMap<String, BTreeSet<String>>,
    /// Why the counts cannot be trusted.
    broken: Option<String>,
}

/// A census under way.
pub struct Census {
    client: Client,
    namespace: String,
    kinds: Vec<ApiResource>,
    seen: Arc<Mutex<Seen>>,
    /// Dropped, it ends its tasks.
    _watches: JoinSet<()>,
}

impl std::fmt::Debug for Census {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Census").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl Census {
    /// Begins to count in a namespace. What is there already counts as neither created nor deleted.
    pub async fn start(client: &Client, namespace: &str, kinds: Vec<ApiResource>) -> Result<Self> {
        let seen = Arc::<Mutex<Seen>>::default();
        let mut watches = JoinSet::new();
        for kind in &kinds {
            let api = Api::<DynamicObject>::namespaced_with(client.clone(), namespace, kind);
            let list = api
                .list(&ListParams::default())
                .await
                .with_context(|| format!("cannot list {}", kind.plural))?;
            let there = list.items.iter().filter_map(ResourceExt::uid).collect();
            lock(&seen).alive.insert(kind.kind.clone(), there);
            let version = list.metadata.resource_version.unwrap_or_default();
            watches.spawn(watch(api, kind.kind.clone(), namespace.to_owned(), version, seen.clone()));
        }
        let (client, namespace) = (client.clone(), namespace.to_owned());
        Ok(Self { client, namespace, kinds, seen, _watches: watches })
    }

    /// What has been counted until now, and what is there now.
    ///
    /// # Errors
    /// When a watch broke, so that something may not have been counted.
    pub async fn run(&self) -> Result<Run> {
        let begin = tokio::time::Instant::now();
        let mut run = Run::default();
        for kind in &self.kinds {
            let api = Api::<DynamicObject>::namespaced_with(self.client.clone(), &self.namespace, kind);
            let objects = loop {
                let objects = api.list(&ListParams::default()).await?.items;
                let uids: BTreeSet<String> = objects.iter().filter_map(ResourceExt::uid).collect();
                {
                    let seen = lock(&self.seen);
                    if let Some(why) = &seen.broken {
                        bail!("the census of {} is not complete: {why}", self.namespace);
                    }
                    if seen.alive.get(&kind.kind) == Some(&uids) {
                        break objects;
                    }
                }
                if begin.elapsed() > CATCH_UP {
                    bail!("the watch of {} in {} does not catch up", kind.plural, self.namespace);
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            };
            for object in objects {
                let key = run::key(&kind.kind, &object.name_any(), &self.namespace);
                let object = run::masked(serde_json::to_value(object)?, &self.namespace);
                run.objects.entry(key).or_default().push(object);
            }
        }
        for same in run.objects.values_mut() {
            same.sort_by_cached_key(ToString::to_string);
        }
        run.counts = lock(&self.seen).counts.clone();
        Ok(run)
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts without a gap: it goes on from the version that it has seen, and says so when the server has forgotten it.
async fn watch(
    api: Api<DynamicObject>,
    kind: String,
    namespace: String,
    mut version: String,
    seen: Arc<Mutex<Seen>>,
) {
    loop {
        let mut events = match api.watch(&WatchParams::default(), &version).await {
            Ok(events) => events.boxed(),
            Err(error) => {
                lock(&seen).broken = Some(format!("watching {kind}: {error}"));
                return;
            }
        };
        while let Some(event) = events.next().await {
            let (object, counted) = match event {
                Ok(WatchEvent::Added(object)) => (object, Some(true)),
                Ok(WatchEvent::Deleted(object)) => (object, Some(false)),
                Ok(WatchEvent::Modified(object)) => (object, None),
                Ok(WatchEvent::Bookmark(mark)) => {
                    version = mark.metadata.resource_version;
                    continue;
                }
                Ok(WatchEvent::Error(status)) => {
                    lock(&seen).broken = Some(format!("watching {kind}: {}", status.message));
                    return;
                }
                // The connection broke; nothing is lost, since the watch goes on where it was.
                Err(_) => break,
            };
            version = object.resource_version().unwrap_or(version);
            let Some(created) = counted else { continue };
            let key = run::key(&kind, &object.name_any(), &namespace);
            let uid = object.uid().unwrap_or_default();
            let mut seen = lock(&seen);
            let count = seen.counts.entry(key).or_default();
            if created {
                count.created += 1;
                seen.alive.entry(kind.clone()).or_default().insert(uid);
            } else {
                count.deleted += 1;
                seen.alive.entry(kind.clone()).or_default().remove(&uid);
            }
        }
    }
}
