//! The scheduler: a node that answers, in the pod's zone, where its volume is; the emptiest of those.

use ballast_core::object::Kind;
use k8s_openapi::api::core::v1::{Pod, PodCondition, PodStatus};
use serde_json::json;

use crate::{
    pod::{claim_of, has_scheduler, node_of, required_zones, scheduled},
    world::World,
};

impl World {
    pub(crate) fn schedule(&mut self) {
        let waiting: Vec<String> = self
            .pods
            .iter()
            .filter(|(_, pod)| {
                !scheduled(pod) && has_scheduler(pod) && pod.metadata.deletion_timestamp.is_none()
            })
            .map(|(name, _)| name.clone())
            .collect();
        for name in waiting {
            let pod = self.pods[&name].clone();
            let placed = self.place(&pod);
            let Some(pod) = self.pods.get_mut(&name) else { continue };
            match placed {
                Ok(node) => {
                    if let Some(spec) = pod.spec.as_mut() {
                        spec.node_name = Some(node.clone());
                    }
                    pod.status =
                        Some(PodStatus { phase: Some("Pending".to_owned()), ..PodStatus::default() });
                    self.bind(&name, &node);
                }
                Err(why) => pod.status = Some(unschedulable(why)),
            }
        }
    }

    fn place(&self, pod: &Pod) -> Result<String, String> {
        let zones = required_zones(pod);
        let bound = match claim_of(pod) {
            None => None,
            Some(claim) => {
                let live = self
                    .live(Kind::PersistentVolumeClaim, &claim)
                    .ok_or_else(|| format!("persistentvolumeclaim \"{claim}\" not found"))?;
                if !live["metadata"]["deletionTimestamp"].is_null() {
                    return Err(format!("persistentvolumeclaim \"{claim}\" is being deleted"));
                }
                if live["status"]["phase"] == "Lost" {
                    return Err(format!("persistentvolumeclaim \"{claim}\" is lost"));
                }
                let disk = live["metadata"]["uid"].as_str().and_then(|uid| self.disks.get(uid));
                disk.and_then(|disk| disk.node.clone())
            }
        };
        let fits = |name: &String| {
            let node = &self.nodes[name];
            let near = match &bound {
                None => true,
                Some(at) if self.local_volumes => at == name,
                Some(at) => self.nodes[at].zone == node.zone,
            };
            node.down_since.is_none() && near && (zones.is_empty() || zones.contains(&node.zone))
        };
        let crowd = |name: &String| {
            let here = |pod: &&Pod| node_of(pod) == Some(name);
            self.pods.values().filter(here).count()
        };
        self.nodes
            .keys()
            .filter(|name| fits(name))
            .min_by_key(|name| crowd(name))
            .cloned()
            .ok_or_else(|| format!("0/{} nodes are available", self.nodes.len()))
    }

    /// The claim of a scheduled pod gets its volume.
    fn bind(&mut self, pod: &str, node: &str) {
        let pod = &self.pods[pod];
        let disk = match claim_of(pod) {
            None => pod.metadata.uid.clone(),
            Some(claim) => self.objects.get_mut(&(Kind::PersistentVolumeClaim, claim)).and_then(|stored| {
                stored.live_mut()["status"]["phase"] = json!("Bound");
                stored.live()["metadata"]["uid"].as_str().map(str::to_owned)
            }),
        };
        if let Some(disk) = disk {
            let disk = self.disks.entry(disk).or_default();
            disk.node.get_or_insert_with(|| node.to_owned());
        }
    }
}

fn unschedulable(why: String) -> PodStatus {
    PodStatus {
        phase: Some("Pending".to_owned()),
        conditions: Some(vec![PodCondition {
            type_: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            reason: Some("Unschedulable".to_owned()),
            message: Some(why),
            ..PodCondition::default()
        }]),
        ..PodStatus::default()
    }
}
