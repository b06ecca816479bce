//! What people and hardware do to a cluster.

use ballast_core::object::{Kind, ObjectRef};
use serde_json::json;

use crate::{Application, world::World};

impl World {
    /// Deletes an object by name, as `kubectl delete` does.
    pub fn delete_by_hand(&mut self, kind: Kind, name: &str) {
        let uid = self.live(kind, name).and_then(|live| live["metadata"]["uid"].as_str().map(str::to_owned));
        if let Some(uid) = uid {
            let _ = self.delete(&ObjectRef { kind, name: name.to_owned(), uid });
        }
    }

    /// Deletes a pod by name, with its own grace.
    pub fn delete_pod_by_hand(&mut self, name: &str) {
        let uid = self.pods.get(name).and_then(|pod| pod.metadata.uid.clone());
        if let Some(uid) = uid {
            let _ = self.delete_pod(name, &uid, None);
        }
    }

    /// Deletes a StatefulSet and leaves its pod.
    pub fn orphan(&mut self, set: &str) {
        if let Some(pod) = self.pods.get_mut(&format!("{set}-0")) {
            pod.metadata.owner_references = None;
        }
        self.delete_by_hand(Kind::StatefulSet, set);
    }

    /// Edits an object past everybody.
    pub fn edit(&mut self, kind: Kind, name: &str, pointer: &str, value: &serde_json::Value) {
        let version = self.next().to_string();
        if let Some(stored) = self.objects.get_mut(&(kind, name.to_owned())) {
            if let Some(field) = stored.live_mut().pointer_mut(pointer) {
                *field = value.clone();
            }
            stored.live_mut()["metadata"]["resourceVersion"] = json!(version);
        }
    }

    /// A foreign finalizer keeps an object from going; or no longer.
    pub fn pin(&mut self, kind: Kind, name: &str, pinned: bool) {
        if let Some(stored) = self.objects.get_mut(&(kind, name.to_owned())) {
            stored.live_mut()["metadata"]["finalizers"] =
                if pinned { json!(["example.com/pin"]) } else { json!([]) };
        }
    }

    /// The content of a disk is gone; a process that has it open runs on until its container restarts.
    pub fn wipe(&mut self, disk: &str) {
        if let Some(disk) = self.disks.get_mut(disk) {
            disk.data = false;
            disk.marker = None;
        }
    }

    /// The volume of a claim is gone for good.
    pub fn lose_volume(&mut self, claim: &str) {
        if let Some(stored) = self.objects.get_mut(&(Kind::PersistentVolumeClaim, claim.to_owned())) {
            stored.live_mut()["status"]["phase"] = json!("Lost");
        }
    }

    /// A disk has no room left, or has some again.
    pub fn fill(&mut self, disk: &str, full: bool) {
        if let Some(disk) = self.disks.get_mut(disk) {
            disk.full = full;
        }
    }

    /// The container of a pod is killed; the kubelet starts it again.
    pub fn kill_container(&mut self, pod: &str, application: &mut impl Application) {
        let uid = self.pods.get(pod).and_then(|pod| pod.metadata.uid.clone());
        if let Some(uid) = uid.filter(|uid| self.processes.remove(uid).is_some()) {
            application.stop(&uid);
        }
    }

    /// A pod has ended, as after the graceful shutdown of its node.
    pub fn complete_pod(&mut self, name: &str, application: &mut impl Application) {
        self.kill_container(name, application);
        if let Some(pod) = self.pods.get_mut(name) {
            pod.status.get_or_insert_default().phase = Some("Succeeded".to_owned());
        }
    }

    /// A node loses power.
    pub fn stop_node(&mut self, name: &str, application: &mut impl Application) {
        let now = self.now;
        if let Some(node) = self.nodes.get_mut(name) {
            node.down_since.get_or_insert(now);
        }
        let stopped: Vec<String> = self
            .pods
            .values()
            .filter(|pod| pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) == Some(name))
            .filter_map(|pod| pod.metadata.uid.clone())
            .filter(|uid| self.processes.remove(uid).is_some())
            .collect();
        for uid in stopped {
            application.stop(&uid);
        }
    }

    /// It comes back.
    pub fn start_node(&mut self, name: &str) {
        if let Some(node) = self.nodes.get_mut(name) {
            node.down_since = None;
        }
    }

    /// An image cannot be pulled, or can again.
    pub fn break_image(&mut self, image: &str, broken: bool) {
        if broken {
            self.bad_images.insert(image.to_owned());
        } else {
            self.bad_images.remove(image);
        }
    }
}
