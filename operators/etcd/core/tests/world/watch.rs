//! The watchers: what must hold after every write, and what must hold in the end.

use ballast_core::{
    bootstrap,
    object::{Kind, ObjectRef},
};
use ballast_etcd_core::{APPLICATION, build};
use ballast_etcd_simulated::model::Violation;
use k8s_openapi::api::apps::v1::StatefulSet;

use crate::simulation::{NAME, Simulation};

impl Simulation {
    /// Ends the test when an invariant is broken.
    #[track_caller]
    pub fn check(&self) {
        if let Some(violation) = self.violation() {
            self.fail(&format!("INVARIANT: {violation}"));
        }
    }

    /// The first invariant that does not hold.
    pub fn violation(&self) -> Option<String> {
        if let Some(violation) = self.etcd.violations.first() {
            return Some(violation.what.clone());
        }
        if self.etcd.clusters.len() > 1 {
            return Some("there are two etcd clusters".to_owned());
        }
        let client = self.world.live(Kind::Service, &format!("{NAME}-client")).is_some();
        if client && !self.started() {
            return Some("there is a client Service before the cluster was recorded as started".to_owned());
        }
        let cluster = self.cluster()?;
        if cluster.members.values().filter(|entry| entry.learner).count() > 1 {
            return Some("there are two learners".to_owned());
        }
        let voters = cluster.voters().map(|(_, entry)| &entry.name);
        let mut ticketed =
            voters.filter(|name| self.world.live(Kind::ConfigMap, &build::ticket_name(name)).is_some());
        if client && let Some(member) = ticketed.next() {
            return Some(format!("{member} votes while its ticket still exists"));
        }
        None
    }

    fn started(&self) -> bool {
        let uid = self.resource.metadata.uid.clone().unwrap_or_default();
        let record = self.world.live(Kind::ConfigMap, &bootstrap::name(NAME, &uid));
        matches!(record.and_then(|live| live["data"]["state"].as_str()), Some("Started" | "Adopted"))
    }

    fn broken(&mut self, what: String) {
        let cluster = self.cluster().map(|cluster| cluster.id).unwrap_or_default();
        self.etcd.violations.push(Violation { cluster, what });
    }

    /// The operator is about to delete an object.
    pub fn watch_delete(&mut self, object: &ObjectRef) {
        match object.kind {
            Kind::StatefulSet if self.listed(&object.name) => {
                self.broken(format!("the StatefulSet of {} is deleted while it is in the list", object.name));
            }
            Kind::PersistentVolumeClaim => {
                let replica = self.etcd.replicas.get(&object.uid).cloned();
                let data = self.world.disks().get(&object.uid).is_some_and(|disk| disk.data);
                if let Some(replica) = replica.filter(|_| data)
                    && self.cluster().is_some_and(|cluster| cluster.members.contains_key(&replica.id))
                {
                    self.broken(format!("{} is deleted while its member is in the list", object.name));
                }
            }
            _ => {}
        }
    }

    /// The operator is about to stop a pod.
    pub fn watch_stop(&mut self, member: &str, uid: &str) {
        let Some(running) = self.etcd.running.get(uid) else { return };
        if self.etcd.serves(running) {
            self.watch_disruption(member, "stopped");
        }
        if self.listed(member) {
            self.disrupted.insert(member.to_owned());
        }
    }

    /// The operator is about to remove a member.
    pub fn watch_leave(&mut self, member: &str) {
        let serves = self.running(member).is_some_and(|running| self.etcd.serves(running));
        if serves {
            self.watch_disruption(member, "removed");
        }
    }

    fn watch_disruption(&mut self, member: &str, what: &str) {
        let others: Vec<String> = self.disrupted.iter().filter(|other| *other != member).cloned().collect();
        if !others.is_empty() {
            self.broken(format!("{member} is {what} while {others:?} is still disrupted by us"));
        }
        let Some(cluster) = self.cluster() else { return };
        let voters = cluster.voters().count();
        let rest = cluster
            .voters()
            .filter(|(id, entry)| entry.name != member && self.etcd.alive(cluster.id, *id))
            .count();
        let small = voters <= 2 && self.desired().is_none_or(|desired| desired.replicas <= 2);
        if !small && rest < cluster.quorum() {
            self.broken(format!("{member} is {what} while only {rest} of {voters} others serve"));
        }
    }

    /// The operator is about to let a learner vote.
    pub fn watch_promote(&mut self, member: &str) {
        if self.world.live(Kind::ConfigMap, &build::ticket_name(member)).is_some() {
            self.broken(format!("{member} is promoted while its ticket exists"));
        }
    }

    /// What is not as it should be in the end.
    pub fn unfinished(&self) -> Option<String> {
        let desired = self.desired()?;
        let Some(cluster) = self.cluster() else { return Some("there is no etcd cluster".to_owned()) };
        if cluster.members.len() != desired.replicas || cluster.voters().count() != desired.replicas {
            return Some(format!("{} members instead of {} voters", cluster.members.len(), desired.replicas));
        }
        if let Some((_, entry)) = cluster.voters().find(|(id, _)| !self.etcd.alive(cluster.id, *id)) {
            return Some(format!("{} does not serve", entry.url));
        }
        if !cluster.corrupt.is_empty() {
            return Some("an alarm is left".to_owned());
        }
        let children = self.world.children(APPLICATION, NAME);
        let uid = &desired.cluster.labels.uid;
        if children.stateful_sets.len() != desired.replicas || children.pods.len() != desired.replicas {
            return Some(format!(
                "{} StatefulSets, {} pods",
                children.stateful_sets.len(),
                children.pods.len()
            ));
        }
        let wanted = build::template_hash(&desired);
        let hash = |annotations: Option<&std::collections::BTreeMap<String, String>>| {
            annotations.and_then(|all| all.get(ballast_core::label::TEMPLATE_HASH).cloned())
        };
        if let Some(pod) =
            children.pods.iter().find(|pod| hash(pod.metadata.annotations.as_ref()).as_ref() != Some(&wanted))
        {
            return Some(format!("{:?} has an old template", pod.metadata.name));
        }
        let mounted: Vec<String> = children.stateful_sets.iter().filter_map(claim_of).collect();
        let pinned =
            |live: &k8s_openapi::api::core::v1::PersistentVolumeClaim| live.metadata.finalizers.is_some();
        let mut claims = children.claims.iter().filter(|claim| !pinned(claim));
        if let Some(claim) =
            claims.find(|claim| !claim.metadata.name.as_ref().is_some_and(|name| mounted.contains(name)))
        {
            return Some(format!("the claim {:?} is left over", claim.metadata.name));
        }
        let purpose = |map: &k8s_openapi::api::core::v1::ConfigMap| {
            map.metadata.labels.as_ref().and_then(|labels| labels.get(ballast_core::label::PURPOSE).cloned())
        };
        let of = |wanted: &str| {
            children.config_maps.iter().filter(|map| purpose(map).as_deref() == Some(wanted)).count()
        };
        if of("ticket") > 0 || of("config") != 1 || of("bootstrap") != 1 {
            return Some(format!("{} tickets, {} configurations", of("ticket"), of("config")));
        }
        if !self.started() || uid.is_empty() {
            return Some("the record does not say started".to_owned());
        }
        let ready = self
            .resource
            .status
            .as_ref()
            .is_some_and(|status| ballast_core::condition::is_true(&status.conditions, "Ready"));
        (!ready).then(|| "it is not Ready".to_owned())
    }
}

fn claim_of(set: &StatefulSet) -> Option<String> {
    let volumes = set.spec.as_ref()?.template.spec.as_ref()?.volumes.as_ref()?;
    volumes.iter().find_map(|volume| Some(volume.persistent_volume_claim.as_ref()?.claim_name.clone()))
}
