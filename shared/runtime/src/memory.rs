//! What a process remembers of a resource between passes: never needed for a decision, only to write and tell once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ballast_core::plan::Event;
use kube::ResourceExt;
use serde_json::Value;

use crate::{operator::ResourceKey, patience::Patience};

/// What is remembered of one resource.
#[derive(Debug)]
pub(crate) struct Memory<R> {
    /// uid of the resource that this is about.
    pub(crate) uid: String,
    /// The resource as the API server returned it for the last status that was written.
    pub(crate) latest: Option<R>,
    /// The last status that was written.
    pub(crate) written: Option<Value>,
    /// Passes in a row that ended in an error.
    pub(crate) failures: u32,
    /// The last error.
    pub(crate) error: Option<String>,
    /// What was last waited for.
    pub(crate) waiting: Option<String>,
    /// Reason and message of the intent of the last pass.
    pub(crate) intent: Option<(&'static str, String)>,
    /// The events of the last pass.
    pub(crate) events: Vec<Event>,
    /// Until when the caches are believed while the plan waits.
    pub(crate) patience: Patience,
}

impl<R: ResourceExt + Clone> Memory<R> {
    pub(crate) fn of(uid: String) -> Self {
        Self {
            uid,
            latest: None,
            written: None,
            failures: 0,
            error: None,
            waiting: None,
            intent: None,
            events: vec![],
            patience: Patience::default(),
        }
    }

    /// The newer of what the cache has and what the last status write returned.
    pub(crate) fn newest(&mut self, cached: R) -> R {
        match &self.latest {
            Some(latest) if version(latest) > version(&cached) => latest.clone(),
            _ => {
                self.latest = None;
                cached
            }
        }
    }
}

/// resourceVersions are numbers that grow (KEP-5504); one that is not a number counts as old.
fn version<R: ResourceExt>(resource: &R) -> Option<u128> {
    resource.resource_version().and_then(|version| version.parse().ok())
}

/// What is remembered of all resources.
#[derive(Debug)]
pub(crate) struct Memories<R> {
    memories: Mutex<HashMap<ResourceKey, Arc<tokio::sync::Mutex<Memory<R>>>>>,
    sent: Mutex<HashMap<ResourceKey, Value>>,
}

impl<R> Default for Memories<R> {
    fn default() -> Self {
        Self { memories: Mutex::default(), sent: Mutex::default() }
    }
}

impl<R: ResourceExt + Clone> Memories<R> {
    /// The memory of one resource; a new one if there is none. One of an earlier resource must be replaced.
    pub(crate) fn of(&self, key: &ResourceKey, uid: &str) -> Arc<tokio::sync::Mutex<Memory<R>>> {
        let mut memories = lock(&self.memories);
        memories
            .entry(key.clone())
            .or_insert_with(|| Arc::new(tokio::sync::Mutex::new(Memory::of(uid.to_owned()))))
            .clone()
    }

    /// The resource is gone.
    pub(crate) fn forget(&self, key: &ResourceKey) {
        lock(&self.memories).remove(key);
        lock(&self.sent).remove(key);
    }

    /// This status is about to be sent.
    pub(crate) fn sending(&self, key: &ResourceKey, status: Value) {
        lock(&self.sent).insert(key.clone(), status);
    }

    /// Whether this is the status that was sent last: an echo, not news.
    pub(crate) fn sent(&self, key: &ResourceKey, status: &Value) -> bool {
        lock(&self.sent).get(key) == Some(status)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;

    fn resource(version: &str) -> Pod {
        serde_json::from_value(json!({ "metadata": { "name": "a", "resourceVersion": version } })).unwrap()
    }

    #[test]
    fn a_cache_that_lags_behind_our_own_write_is_not_believed() {
        let mut memory = Memory::of("u".into());
        memory.latest = Some(resource("100"));
        assert_eq!(memory.newest(resource("99")).resource_version().as_deref(), Some("100"));
        assert_eq!(memory.newest(resource("101")).resource_version().as_deref(), Some("101"));
        assert!(memory.latest.is_none());
    }
}
