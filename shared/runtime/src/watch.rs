//! The watches that feed the caches and wake the queue.
//!
//! A watch never ends by itself: it lists, watches, and after an error lists or watches again, with back-off.

use std::{fmt::Debug, future::Future, sync::Arc};

use ballast_core::label;
use futures::StreamExt;
use kube::{
    Api, Client, ResourceExt,
    core::{DeserializeGuard, DynamicObject, NamespaceResourceScope},
    runtime::{
        WatchStreamExt,
        watcher::{self, watcher},
    },
};
use serde::{Serialize, de::DeserializeOwned};
use tracing::{debug, warn};

use crate::{
    cache::Caches,
    metrics::Metrics,
    operator::ResourceKey,
    packed::{Keep, Packed},
    status::{current, same_but_status},
    store::{Change, Store},
    write_error::message,
};

/// The server ends a watch after this many seconds; one that stays silent a little longer is dead.
const WATCH_SECONDS: u32 = 60;

/// Objects in one answer to a list: what is read at once is in memory at once.
const PAGE: u32 = 50;

/// Namespaces that an operator watches; empty: all.
pub type Namespaces = Vec<String>;

/// Tells the queue about a change; not about what is only an echo of our own status.
pub(crate) trait Wake: Send + Sync + 'static {
    /// Look at this resource soon.
    fn wake(&self, key: ResourceKey);
    /// A cache was filled, or filled again.
    fn listed(&self);
    /// Whether `status` is the one that we sent last.
    fn is_echo(&self, key: &ResourceKey, status: &serde_json::Value) -> bool;
}

/// What the watches of one operator need.
pub(crate) struct Watches<R, W> {
    pub(crate) client: Client,
    pub(crate) application: &'static str,
    pub(crate) namespaces: Namespaces,
    pub(crate) caches: Arc<Caches<R>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) wake: Arc<W>,
}

impl<R, W> Watches<R, W>
where
    R: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + Send
        + Sync
        + 'static,
    W: Wake,
{
    /// Everything that feeds the caches; ends when one of the watches does, which it never should.
    pub(crate) async fn run(self) {
        let selector = format!("{}={}", label::MANAGED_BY, label::manager(self.application));
        let owned = watcher::Config::default().timeout(WATCH_SECONDS).page_size(PAGE).labels(&selector);
        let caches = self.caches.clone();
        let mut watches = tokio::task::JoinSet::new();
        let scopes: Vec<Option<String>> = match self.namespaces.as_slice() {
            [] => vec![None],
            namespaces => namespaces.iter().cloned().map(Some).collect(),
        };
        for (number, scope) in scopes.into_iter().enumerate() {
            let all = watcher::Config::default().timeout(WATCH_SECONDS).page_size(PAGE);
            let echo = self.wake.clone();
            let news = move |change: &Change<DeserializeGuard<R>>| is_news(echo.as_ref(), change);
            watches.spawn(self.feed(&caches.resources, &all, number, scope.clone(), news));
            watches.spawn(self.feed(&caches.stateful_sets, &owned, number, scope.clone(), always));
            watches.spawn(self.feed(&caches.pods, &owned, number, scope.clone(), always));
            watches.spawn(self.feed(&caches.claims, &owned, number, scope.clone(), always));
            watches.spawn(self.feed(&caches.config_maps, &owned, number, scope.clone(), always));
            watches.spawn(self.feed(&caches.services, &owned, number, scope.clone(), always));
            watches.spawn(self.feed(&caches.disruption_budgets, &owned, number, scope.clone(), always));
            watches.spawn(self.feed(&caches.network_policies, &owned, number, scope.clone(), always));
            for (kind, store) in &caches.companions {
                let api = match &scope {
                    Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &kind.resource),
                    None => Api::all_with(self.client.clone(), &kind.resource),
                };
                let name = kind.resource.kind.clone();
                let scope = scope.clone();
                watches.spawn(self.feed_from(api, name, store, &all, number, scope, asks_otherwise));
            }
        }
        if let Some(Err(error)) = watches.join_next().await {
            warn!(%error, "a watch ended");
        }
    }

    fn feed<K, F>(
        &self,
        store: &Arc<Store<K>>,
        config: &watcher::Config,
        number: usize,
        scope: Option<String>,
        news: F,
    ) -> impl Future<Output = ()> + Send + 'static + use<K, F, R, W>
    where
        F: Fn(&Change<K>) -> bool + Send + 'static,
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Keep<Kept: Send + Sync>
            + Send
            + Sync
            + 'static,
    {
        let api: Api<K> = match &scope {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        self.feed_from(api, K::kind(&()).into_owned(), store, config, number, scope, news)
    }

    #[allow(clippy::too_many_arguments)]
    fn feed_from<K, F>(
        &self,
        api: Api<K>,
        kind: String,
        store: &Arc<Store<K>>,
        config: &watcher::Config,
        number: usize,
        scope: Option<String>,
        news: F,
    ) -> impl Future<Output = ()> + Send + 'static + use<K, F, R, W>
    where
        F: Fn(&Change<K>) -> bool + Send + 'static,
        K: kube::Resource
            + Clone
            + Debug
            + DeserializeOwned
            + Keep<Kept: Send + Sync>
            + Send
            + Sync
            + 'static,
    {
        let (store, wake, metrics) = (store.clone(), self.wake.clone(), self.metrics.clone());
        let strip = |object: &mut K| object.managed_fields_mut().clear();
        let mut events = watcher(api, config.clone()).modify(strip).default_backoff().boxed();
        async move {
            let mut last_error = None;
            while let Some(event) = events.next().await {
                match event {
                    Ok(event) => {
                        last_error = None;
                        let listed = matches!(event, watcher::Event::InitDone);
                        let changes = store.take(number, scope.as_deref(), event);
                        changes
                            .into_iter()
                            .filter(|change| news(change))
                            .for_each(|change| wake.wake(change.key));
                        if listed {
                            wake.listed();
                        }
                    }
                    Err(error) => {
                        metrics.watch_failed(&kind);
                        let text = readable(&error);
                        if last_error.as_ref() == Some(&text) {
                            debug!(%kind, error = text, "the watch failed again");
                        } else {
                            warn!(%kind, error = text, "the watch failed");
                            last_error = Some(text);
                        }
                    }
                }
            }
        }
    }
}

/// How many watches feed each store.
pub(crate) fn watch_count(namespaces: &Namespaces) -> usize {
    namespaces.len().max(1)
}

/// Whether all caches have listed everything once.
pub(crate) fn synced<R: kube::Resource<DynamicType = ()>>(
    caches: &Caches<R>,
    namespaces: &Namespaces,
) -> bool {
    (0..watch_count(namespaces)).all(|watch| {
        caches.resources.synced(watch)
            && caches.stateful_sets.synced(watch)
            && caches.pods.synced(watch)
            && caches.claims.synced(watch)
            && caches.config_maps.synced(watch)
            && caches.services.synced(watch)
            && caches.disruption_budgets.synced(watch)
            && caches.network_policies.synced(watch)
            && caches.companions.iter().all(|(_, store)| store.synced(watch))
    })
}

fn always<K: Keep>(_change: &Change<K>) -> bool {
    true
}

/// Whether a companion has another specification, or is gone; its status is what we write.
fn asks_otherwise(change: &Change<DynamicObject>) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else { return true };
    let open = |packed: &Packed<DynamicObject>| packed.open::<DynamicObject>();
    match (open(before), open(after)) {
        (Ok(before), Ok(after)) => !same_but_status(&before, &after),
        _ => true,
    }
}

fn is_news<R>(wake: &impl Wake, change: &Change<DeserializeGuard<R>>) -> bool
where
    R: kube::Resource + Serialize,
    DeserializeGuard<R>: ResourceExt,
{
    let (Some(before), Some(after)) = (&change.before, &change.after) else { return true };
    let Ok(resource) = &after.0 else { return true };
    before.0.is_err()
        || !same_but_status(before.as_ref(), after.as_ref())
        || !wake.is_echo(&change.key, &current(resource))
}

fn readable(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error) => format!("cannot list: {}", message(error)),
        watcher::Error::WatchStartFailed(error) | watcher::Error::WatchFailed(error) => {
            format!("cannot watch: {}", message(error))
        }
        watcher::Error::WatchError(status) => format!("cannot watch: {}", status.message),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}
