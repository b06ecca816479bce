//! When what was seen for the first time: StatefulSets, and clusters that are ready, by watches.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Result;
use ballast_core::label;
use ballast_etcd_core::api::EtcdCluster;
use ballast_testbed::wait::{self, Seen};
use futures::{Stream, StreamExt};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::{
    Api, Client, ResourceExt,
    core::PartialObjectMeta,
    runtime::{WatchStreamExt, watcher, watcher::Event},
};

/// What the watches have told.
#[derive(Debug, Default)]
pub struct Sightings(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By cluster: when its first StatefulSet was seen.
    first_set: HashMap<String, Instant>,
    /// When it was seen to be ready.
    ready: HashMap<String, Instant>,
    /// StatefulSets and clusters that are there now.
    there: HashSet<(&'static str, String)>,
    /// Watches that have listed what there was.
    listed: usize,
}

/// What of a cluster is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Its first StatefulSet.
    StatefulSet,
    /// That it is ready, and nothing is left to be done.
    Ready,
}

impl Sightings {
    /// Follows the clusters of a namespace, for ever.
    pub async fn follow(&self, client: Client, namespace: &str) {
        let sets = Api::<PartialObjectMeta<StatefulSet>>::namespaced(client.clone(), namespace);
        let sets = watcher(sets, watcher::Config::default()).default_backoff();
        let clusters = Api::<EtcdCluster>::namespaced(client, namespace);
        let clusters = watcher(clusters, watcher::Config::default()).default_backoff();
        futures::join!(
            self.take(sets, "StatefulSet", |set: &PartialObjectMeta<StatefulSet>, state, now| {
                if let Some(cluster) = set.labels().get(label::INSTANCE) {
                    state.first_set.entry(cluster.clone()).or_insert(now);
                }
            }),
            self.take(clusters, "EtcdCluster", |cluster: &EtcdCluster, state, now| {
                if ready(cluster) {
                    state.ready.entry(cluster.name_any()).or_insert(now);
                }
            }),
        );
    }

    async fn take<K: ResourceExt>(
        &self,
        events: impl Stream<Item = watcher::Result<Event<K>>>,
        kind: &'static str,
        note: impl Fn(&K, &mut State, Instant),
    ) {
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            let now = Instant::now();
            let mut state = self.state();
            match event {
                Ok(Event::Apply(object) | Event::InitApply(object)) => {
                    note(&object, &mut state, now);
                    state.there.insert((kind, object.name_any()));
                }
                Ok(Event::Delete(object)) => {
                    state.there.remove(&(kind, object.name_any()));
                }
                Ok(Event::InitDone) => state.listed += 1,
                // It begins anew by itself; who waits for what it does not tell fails in time.
                Ok(Event::Init) | Err(_) => {}
            }
        }
    }

    /// Waits until both watches have listed what there is.
    pub async fn began(&self, deadline: Duration) -> Result<()> {
        let listed = || async { Ok((self.state().listed >= 2).then_some(())) };
        wait::until(deadline, "the watches of clusters and StatefulSets", listed).await
    }

    /// When each of these clusters came so far.
    pub async fn of(&self, clusters: &[String], what: What, deadline: Duration) -> Result<Vec<Instant>> {
        let look = || async {
            let state = self.state();
            let known = match what {
                What::StatefulSet => &state.first_set,
                What::Ready => &state.ready,
            };
            let seen: Vec<_> = clusters.iter().filter_map(|cluster| known.get(cluster)).copied().collect();
            let (have, all) = (seen.len(), clusters.len());
            Ok(if have == all { Seen::Met(seen) } else { Seen::NotYet(format!("{have} of {all}")) })
        };
        wait::until(deadline, &format!("{what:?} of {} clusters", clusters.len()), look).await
    }

    /// Waits until a cluster of one member is gone, and its StatefulSet.
    pub async fn gone(&self, cluster: &str, deadline: Duration) -> Result<()> {
        let look = || async {
            let state = self.state();
            let mine = |name: &str| name == cluster || name.starts_with(&format!("{cluster}-"));
            let left: Vec<_> = state.there.iter().filter(|(_, name)| mine(name)).collect();
            Ok(if left.is_empty() { Seen::Met(()) } else { Seen::NotYet(format!("{left:?}")) })
        };
        wait::until(deadline, &format!("the end of {cluster}"), look).await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ready(cluster: &EtcdCluster) -> bool {
    let Some(status) = &cluster.status else { return false };
    let is = |type_: &str, value: &str| {
        status.conditions.iter().any(|condition| condition.type_ == type_ && condition.status == value)
    };
    is("Ready", "True") && is("Progressing", "False")
}
