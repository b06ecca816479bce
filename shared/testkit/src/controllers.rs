//! The controllers of Kubernetes: garbage collection, StatefulSets of one, claims.

use ballast_core::object::{Kind, Object};
use k8s_openapi::api::{apps::v1::StatefulSet, core::v1::Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use serde_json::json;

use crate::{
    Application,
    pod::{claim_of, scheduled},
    server::time,
    world::World,
};

impl World {
    /// Every controller acts once. Call it again until [`World::quiet`], or as often as the test wants.
    pub fn step(&mut self, application: &mut impl Application) {
        self.collect_garbage();
        self.scale_down();
        self.make_pods();
        self.settle_claims();
        self.schedule();
        self.run_kubelets(application);
        self.settle_claims();
    }

    /// Pods whose StatefulSet is gone are told to go.
    fn collect_garbage(&mut self) {
        let sets: Vec<String> = self
            .objects
            .iter()
            .filter(|((kind, _), _)| *kind == Kind::StatefulSet)
            .filter_map(|(_, stored)| stored.live()["metadata"]["uid"].as_str().map(str::to_owned))
            .collect();
        let orphans: Vec<(String, String)> = self
            .pods
            .iter()
            .filter(|(_, pod)| {
                let owners = pod.metadata.owner_references.iter().flatten();
                owners.clone().count() > 0 && owners.clone().all(|owner| !sets.contains(&owner.uid))
            })
            .map(|(name, pod)| (name.clone(), pod.metadata.uid.clone().unwrap_or_default()))
            .collect();
        for (name, uid) in orphans {
            let _ = self.delete_pod(&name, &uid, None);
        }
    }

    /// Objects that the resource with this uid owned go with it.
    pub fn collect_owned_by(&mut self, uid: &str) {
        let owned = |live: &serde_json::Value| {
            let owners = live["metadata"]["ownerReferences"].as_array();
            owners.is_some_and(|owners| !owners.is_empty() && owners.iter().all(|owner| owner["uid"] == uid))
        };
        let gone: Vec<_> = self
            .objects
            .iter()
            .filter(|(_, stored)| owned(stored.live()))
            .map(|(key, _)| key.clone())
            .collect();
        for key in gone {
            if key.0 == Kind::PersistentVolumeClaim {
                if let Some(stored) = self.objects.get_mut(&key) {
                    stored.live_mut()["metadata"]["deletionTimestamp"] = json!(self.now.to_string());
                }
            } else {
                self.objects.remove(&key);
            }
        }
    }

    /// Pods whose StatefulSet wants none are told to go.
    fn scale_down(&mut self) {
        let parked = |set: &Object| match set {
            Object::StatefulSet(set) => set.spec.as_ref().is_some_and(|spec| spec.replicas == Some(0)),
            _ => false,
        };
        let sets = self.objects.iter().filter(|((kind, _), _)| *kind == Kind::StatefulSet);
        let surplus: Vec<(String, String)> = sets
            .filter(|((kind, _), stored)| parked(stored.object(*kind)))
            .filter_map(|((_, name), _)| self.pods.get_key_value(&format!("{name}-0")))
            .filter(|(_, pod)| pod.metadata.deletion_timestamp.is_none())
            .map(|(name, pod)| (name.clone(), pod.metadata.uid.clone().unwrap_or_default()))
            .collect();
        for (name, uid) in surplus {
            let _ = self.delete_pod(&name, &uid, None);
        }
    }

    fn make_pods(&mut self) {
        self.take_orphans();
        let sets: Vec<Object> = self
            .objects
            .iter()
            .filter(|((kind, name), _)| *kind == Kind::StatefulSet && !self.has_pod(name))
            .map(|((kind, _), stored)| stored.object(*kind).clone())
            .collect();
        for set in sets {
            let Object::StatefulSet(set) = set else { continue };
            let name = format!("{}-0", set.metadata.name.clone().unwrap_or_default());
            let wanted = set.spec.as_ref().is_some_and(|spec| spec.replicas.unwrap_or(1) > 0);
            self.pods.remove(&name);
            if wanted && set.metadata.deletion_timestamp.is_none() {
                let pod = self.new_pod(&name, &set);
                self.pods.insert(name, pod);
            }
        }
    }

    /// A StatefulSet takes a pod of its name that nobody owns.
    fn take_orphans(&mut self) {
        for (name, pod) in &mut self.pods {
            if pod.metadata.owner_references.is_none()
                && let Some(stored) =
                    self.objects.get(&(Kind::StatefulSet, name.strip_suffix("-0").unwrap_or(name).to_owned()))
                && let Object::StatefulSet(set) = stored.object(Kind::StatefulSet)
            {
                pod.metadata.owner_references = Some(vec![owner(set)]);
            }
        }
    }

    /// Whether a StatefulSet has its pod; one that has ended does not count.
    fn has_pod(&self, set: &str) -> bool {
        self.pods.get(&format!("{set}-0")).is_some_and(|pod| {
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            !matches!(phase, Some("Succeeded" | "Failed")) || pod.metadata.deletion_timestamp.is_some()
        })
    }

    fn new_pod(&mut self, name: &str, set: &StatefulSet) -> Pod {
        let template = set.spec.as_ref().map(|spec| spec.template.clone()).unwrap_or_default();
        let metadata = template.metadata.unwrap_or_default();
        Pod {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                uid: Some(format!("pod-uid-{}", self.next())),
                creation_timestamp: Some(time(self.now)),
                labels: metadata.labels,
                annotations: metadata.annotations,
                owner_references: Some(vec![owner(set)]),
                ..ObjectMeta::default()
            },
            spec: template.spec,
            status: None,
        }
    }

    /// Claims are bound, grow, and go when nothing uses or pins them.
    fn settle_claims(&mut self) {
        let used: Vec<String> =
            self.pods.values().filter(|pod| scheduled(pod)).filter_map(claim_of).collect();
        let mut gone = vec![];
        for ((kind, name), stored) in &mut self.objects {
            if *kind != Kind::PersistentVolumeClaim {
                continue;
            }
            let live = stored.live();
            let pinned = live["metadata"]["finalizers"].as_array().is_some_and(|list| !list.is_empty());
            if !live["metadata"]["deletionTimestamp"].is_null() && !pinned && !used.contains(name) {
                gone.push((name.clone(), live["metadata"]["uid"].as_str().unwrap_or_default().to_owned()));
                continue;
            }
            let size = live["spec"]["resources"]["requests"]["storage"].clone();
            if live["status"]["phase"] == "Bound" && live["status"]["capacity"]["storage"] != size {
                stored.live_mut()["status"]["capacity"]["storage"] = size;
            }
        }
        for (name, uid) in gone {
            self.objects.remove(&(Kind::PersistentVolumeClaim, name));
            self.disks.remove(&uid);
        }
        let pods: Vec<String> = self.pods.values().filter_map(|pod| pod.metadata.uid.clone()).collect();
        self.disks.retain(|disk, _| !disk.starts_with("pod-uid-") || pods.contains(disk));
        self.local.retain(|pod, _| pods.contains(pod));
    }
}

fn owner(set: &StatefulSet) -> OwnerReference {
    OwnerReference {
        api_version: "apps/v1".to_owned(),
        kind: "StatefulSet".to_owned(),
        name: set.metadata.name.clone().unwrap_or_default(),
        uid: set.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}
