//! The cache of one kind of object, by cluster.
//!
//! A watch feeds it; passes read it. What a pass reads is sorted by name, so that plans are the same for the same
//! objects. Several watches (one for each watched namespace) may feed one store.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use kube::{ResourceExt, runtime::watcher::Event};

use crate::{operator::ResourceKey, packed::Keep};

/// Which cluster an object belongs to.
pub type Owner<K> = fn(&K) -> Option<ResourceKey>;

/// What happened to one object.
#[derive(Debug)]
pub struct Change<K: Keep> {
    /// The cluster that it belongs to, or belonged to.
    pub key: ResourceKey,
    /// As it was known.
    pub before: Option<K::Kept>,
    /// As it is now; `None` when it is gone.
    pub after: Option<K::Kept>,
}

/// The objects of one kind.
pub struct Store<K: Keep> {
    owner: Owner<K>,
    inner: RwLock<Inner<K>>,
}

type Id = (String, String);
/// Objects with their names.
type Named<K> = Vec<(Box<str>, <K as Keep>::Kept)>;

struct Inner<K: Keep> {
    owners: HashMap<Id, Arc<ResourceKey>>,
    /// The objects of each cluster, sorted by name.
    by_owner: HashMap<Arc<ResourceKey>, Named<K>>,
    /// What each watch has seen of its current list.
    listing: HashMap<usize, HashSet<Id>>,
    synced: HashSet<usize>,
}

impl<K: Keep> fmt::Debug for Store<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl<K: kube::Resource + ResourceExt + Keep> Store<K> {
    /// An empty store.
    pub fn new(owner: Owner<K>) -> Self {
        let inner = Inner {
            owners: HashMap::new(),
            by_owner: HashMap::new(),
            listing: HashMap::new(),
            synced: HashSet::new(),
        };
        Self { owner, inner: RwLock::new(inner) }
    }

    /// The objects of one cluster, sorted by name.
    pub fn of(&self, key: &ResourceKey) -> Vec<K::Kept> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let objects = inner.by_owner.get(key).into_iter().flatten();
        objects.map(|(_, object)| object.clone()).collect()
    }

    /// The object of this name in the namespace of `key`, if it belongs to the cluster of `key`.
    pub fn named(&self, key: &ResourceKey, name: &str) -> Option<K::Kept> {
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        let objects = inner.by_owner.get(key)?;
        Some(objects[position(objects, name).ok()?].1.clone())
    }

    /// Whether watch number `watch` has listed everything once.
    pub fn synced(&self, watch: usize) -> bool {
        self.inner.read().unwrap_or_else(PoisonError::into_inner).synced.contains(&watch)
    }

    /// Takes in what watch number `watch` (which sees `namespace`, or all) reported, and says what changed.
    pub fn take(&self, watch: usize, namespace: Option<&str>, event: Event<K>) -> Vec<Change<K>> {
        let mut inner = self.inner.write().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Init => {
                inner.listing.insert(watch, HashSet::new());
                vec![]
            }
            Event::InitApply(object) => {
                let id = id(&object);
                let changes = inner.put(self.owner, object);
                inner.listing.entry(watch).or_default().insert(id);
                changes
            }
            Event::InitDone => {
                inner.synced.insert(watch);
                let seen = inner.listing.remove(&watch).unwrap_or_default();
                let gone: Vec<Id> = inner
                    .owners
                    .keys()
                    .filter(|id| namespace.is_none_or(|namespace| id.0 == namespace) && !seen.contains(*id))
                    .cloned()
                    .collect();
                gone.iter().filter_map(|id| inner.remove(id)).collect()
            }
            Event::Apply(object) => inner.put(self.owner, object),
            Event::Delete(object) => inner.remove(&id(&object)).into_iter().collect(),
        }
    }
}

impl<K: kube::Resource + ResourceExt + Keep> Inner<K> {
    fn put(&mut self, owner: Owner<K>, object: K) -> Vec<Change<K>> {
        let id = id(&object);
        let Some(key) = owner(&object) else { return self.remove(&id).into_iter().collect() };
        let object = object.keep();
        if self.owners.get(&id).is_some_and(|owner| **owner == key)
            && let Some(objects) = self.by_owner.get_mut(&key)
            && let Ok(at) = position(objects, &id.1)
        {
            let known = &mut objects[at].1;
            if K::same(known, &object) {
                return vec![];
            }
            let before = Some(std::mem::replace(known, object.clone()));
            return vec![Change { key, before, after: Some(object) }];
        }
        let removed = self.remove(&id);
        let shared = self.by_owner.get_key_value(&key).map(|(shared, _)| shared.clone());
        let shared = shared.unwrap_or_else(|| Arc::new(key.clone()));
        let objects = self.by_owner.entry(shared.clone()).or_default();
        let at = position(objects, &id.1).unwrap_or_else(|at| at);
        // A cluster has few objects of a kind, and there are many clusters.
        objects.reserve_exact(1);
        objects.insert(at, (id.1.as_str().into(), object.clone()));
        self.owners.insert(id, shared);
        removed.into_iter().chain([Change { key, before: None, after: Some(object) }]).collect()
    }

    fn remove(&mut self, id: &Id) -> Option<Change<K>> {
        let key = self.owners.remove(id)?;
        let objects = self.by_owner.get_mut(&key)?;
        let (_, object) = objects.remove(position(objects, &id.1).ok()?);
        if objects.is_empty() {
            self.by_owner.remove(&key);
        }
        Some(Change { key: Arc::unwrap_or_clone(key), before: Some(object), after: None })
    }
}

/// Where the object of this name is, or belongs.
fn position<T>(objects: &[(Box<str>, T)], name: &str) -> Result<usize, usize> {
    objects.binary_search_by(|(known, _)| known.as_ref().cmp(name))
}

fn id<K: ResourceExt>(object: &K) -> Id {
    (object.namespace().unwrap_or_default(), object.name_any())
}

#[cfg(test)]
mod tests {
    use ballast_core::label;
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;
    use crate::cache::by_instance;

    fn pod(namespace: &str, name: &str, instance: &str, version: &str) -> Pod {
        serde_json::from_value(json!({ "metadata": {
            "namespace": namespace, "name": name, "uid": name, "resourceVersion": version,
            "labels": { label::INSTANCE: instance },
        } }))
        .unwrap()
    }

    fn key(namespace: &str, name: &str) -> ResourceKey {
        ResourceKey { namespace: namespace.into(), name: name.into() }
    }

    fn names(store: &Store<Pod>, key: &ResourceKey) -> Vec<String> {
        store.of(key).iter().map(|pod| pod.open::<Pod>().unwrap().name_any()).collect()
    }

    #[test]
    fn objects_are_found_by_cluster_and_sorted() {
        let store = Store::new(by_instance);
        for name in ["b", "a"] {
            assert_eq!(store.take(0, None, Event::Apply(pod("n", name, "x", "1"))).len(), 1);
        }
        store.take(0, None, Event::Apply(pod("m", "c", "x", "1")));
        assert_eq!(names(&store, &key("n", "x")), ["a", "b"]);
        assert!(store.named(&key("n", "x"), "a").is_some());
        assert!(store.named(&key("n", "y"), "a").is_none());
    }

    #[test]
    fn the_same_version_is_no_change() {
        let store = Store::new(by_instance);
        store.take(0, None, Event::Apply(pod("n", "a", "x", "1")));
        assert!(store.take(0, None, Event::InitApply(pod("n", "a", "x", "1"))).is_empty());
        assert_eq!(store.take(0, None, Event::Apply(pod("n", "a", "x", "2"))).len(), 1);
    }

    #[test]
    fn what_a_new_list_lacks_is_gone_and_wakes_its_cluster() {
        let store = Store::new(by_instance);
        store.take(0, Some("n"), Event::Apply(pod("n", "a", "x", "1")));
        store.take(1, Some("m"), Event::Apply(pod("m", "b", "y", "1")));
        assert!(!store.synced(0));
        store.take(0, Some("n"), Event::Init);
        let changes = store.take(0, Some("n"), Event::InitDone);
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].key, key("n", "x"));
        assert!(changes[0].after.is_none());
        assert!(store.synced(0) && !store.synced(1));
        assert_eq!(names(&store, &key("m", "y")), ["b"]);
    }

    #[test]
    fn an_object_that_moves_to_another_cluster_wakes_both() {
        let store = Store::new(by_instance);
        store.take(0, None, Event::Apply(pod("n", "a", "x", "1")));
        let changes = store.take(0, None, Event::Apply(pod("n", "a", "y", "2")));
        let keys: Vec<_> = changes.iter().map(|change| change.key.name.as_str()).collect();
        assert_eq!(keys, ["x", "y"]);
        assert!(names(&store, &key("n", "x")).is_empty());
    }
}
