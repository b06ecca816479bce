//! How an object is kept in a cache: thousands are kept, and a dozen of them are read in a pass.
//!
//! A typed object takes ten times the memory of its JSON, most of it for fields that are not set. So it is kept as JSON,
//! and read again for every pass.

use std::{
    fmt,
    hash::{DefaultHasher, Hasher},
    marker::PhantomData,
    num::NonZeroU64,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Service},
    networking::v1::NetworkPolicy,
    policy::v1::PodDisruptionBudget,
};
use kube::{
    ResourceExt,
    core::{DeserializeGuard, DynamicObject},
};
use serde::{Serialize, de::DeserializeOwned};

/// A kind of object that a cache keeps.
pub trait Keep: Sized {
    /// As it is kept.
    type Kept: Clone;

    /// To be kept.
    fn keep(self) -> Self::Kept;

    /// Whether both are the same version of the same object.
    fn same(known: &Self::Kept, kept: &Self::Kept) -> bool
    where
        Self: ResourceExt;
}

/// The resources are kept as they are: their watch compares them, and one that does not parse has no JSON.
impl<R> Keep for DeserializeGuard<R> {
    type Kept = Arc<Self>;

    fn keep(self) -> Arc<Self> {
        Arc::new(self)
    }

    fn same(known: &Arc<Self>, kept: &Arc<Self>) -> bool
    where
        Self: ResourceExt,
    {
        known.resource_version().is_some()
            && known.resource_version() == kept.resource_version()
            && known.uid() == kept.uid()
    }
}

macro_rules! packed {
    ($($kind:ty),+ $(,)?) => { $(
        impl Keep for $kind {
            type Kept = Packed<Self>;

            fn keep(self) -> Packed<Self> {
                Packed::new(&self)
            }

            fn same(known: &Packed<Self>, kept: &Packed<Self>) -> bool {
                known.inner.json == kept.inner.json
            }
        }
    )+ };
}

packed!(
    ConfigMap,
    DynamicObject,
    NetworkPolicy,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    Service,
    StatefulSet
);

/// An object as JSON.
pub struct Packed<K> {
    inner: Arc<Inner>,
    kind: PhantomData<fn() -> K>,
}

struct Inner {
    json: Box<[u8]>,
    /// Digest of what was last found to agree with this version of the object; 0: of nothing yet.
    agrees: AtomicU64,
}

impl<K: Serialize + DeserializeOwned> Packed<K> {
    /// Packs an object.
    pub fn new(object: &K) -> Self {
        // Kinds of Kubernetes have no maps with other keys than text, which is all that could fail.
        let json = serde_json::to_vec(object).unwrap_or_default();
        let inner = Inner { json: json.into(), agrees: AtomicU64::new(0) };
        Self { inner: Arc::new(inner), kind: PhantomData }
    }

    /// The object, typed or as JSON.
    ///
    /// # Errors
    /// As of reading any JSON; not for what was packed from the same type.
    pub fn open<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.inner.json)
    }

    /// Whether what has this digest was found to change nothing of this version.
    pub fn agrees(&self, digest: NonZeroU64) -> bool {
        self.inner.agrees.load(Ordering::Relaxed) == digest.get()
    }

    /// What has this digest would change nothing of this version. Another version of the object knows nothing of that.
    pub fn note_agreement(&self, digest: NonZeroU64) {
        self.inner.agrees.store(digest.get(), Ordering::Relaxed);
    }
}

impl<K> Clone for Packed<K> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), kind: PhantomData }
    }
}

impl<K> fmt::Debug for Packed<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.inner.json))
    }
}

/// A digest of what would be sent; only for this process.
pub fn digest(object: &impl Serialize) -> NonZeroU64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&serde_json::to_vec(object).unwrap_or_default());
    NonZeroU64::new(hasher.finish()).unwrap_or(NonZeroU64::MIN)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_opened_is_what_was_packed() {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": { "name": "a", "creationTimestamp": "2026-11-30T10:00:00Z", "annotations": { "x": "" } },
            "spec": { "containers": [{ "name": "c", "resources": { "limits": { "memory": "1Gi" } },
                "ports": [{ "containerPort": 1 }], "livenessProbe": { "httpGet": { "port": "named" } } }] },
            "status": { "phase": "Running" },
        }))
        .unwrap();
        let packed = pod.clone().keep();
        assert_eq!(packed.open::<Pod>().unwrap(), pod);
        assert_eq!(packed.open::<Value>().unwrap(), serde_json::to_value(&pod).unwrap());
    }

    #[test]
    fn only_the_version_that_was_compared_is_known_to_agree() {
        let map = |value: &str| -> ConfigMap {
            serde_json::from_value(json!({ "metadata": { "name": "a" }, "data": { "a": value } })).unwrap()
        };
        let (packed, wanted) = (map("1").keep(), digest(&map("1")));
        assert!(!packed.agrees(wanted));
        packed.note_agreement(wanted);
        assert!(packed.clone().agrees(wanted), "it is the same version");
        assert!(!packed.agrees(digest(&map("2"))), "something else is wanted");
        assert!(!map("1").keep().agrees(wanted), "it may have been another one in between");
    }

    #[test]
    fn another_version_is_not_the_same() {
        let map = |version: &str| -> ConfigMap {
            serde_json::from_value(json!({ "metadata": { "name": "a", "resourceVersion": version } }))
                .unwrap()
        };
        assert!(ConfigMap::same(&map("1").keep(), &map("1").keep()));
        assert!(!ConfigMap::same(&map("1").keep(), &map("2").keep()));
    }
}
