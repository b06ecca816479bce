//! One look at one pod: it is given a node, prepared, started, reported, or ended.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ballast_testkit::pod as read;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Binding, ObjectReference, PersistentVolumeClaim, Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::place::{Place, choose};
use super::status::{Facts, Stage, report, unschedulable};
use super::{Kubelets, Next, unless_changed, volume};

/// What is missing is looked for again after this.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl Kubelets {
    /// Does what is to be done for a pod now.
    pub(super) async fn attend(&self, pod: &Pod) -> Result<Next> {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        if pod.metadata.deletion_timestamp.is_some() {
            return self.end(pod).await;
        }
        if matches!(phase, Some("Succeeded" | "Failed")) {
            return Ok(Next::Wait);
        }
        match read::node_of(pod) {
            None if !read::has_scheduler(pod) => Ok(Next::Wait),
            None => self.schedule(pod).await,
            Some(node) => {
                let place = self.places.iter().find(|place| place.node == node);
                let place =
                    place.with_context(|| format!("pod {} is on unknown node {node}", pod.name_any()))?;
                self.run(pod, place).await
            }
        }
    }

    async fn schedule(&self, pod: &Pod) -> Result<Next> {
        let uid = pod.uid().context("a pod has a uid")?;
        let namespace = pod.namespace().context("a pod has a namespace")?;
        let claim = match read::claim_of(pod) {
            None => None,
            Some(name) => {
                let claims = Api::<PersistentVolumeClaim>::namespaced(self.client.clone(), &namespace);
                match claims.get_opt(&name).await? {
                    None => {
                        return self
                            .cannot(pod, &format!("persistentvolumeclaim \"{name}\" not found"))
                            .await;
                    }
                    Some(claim) if claim.metadata.deletion_timestamp.is_some() => {
                        let why = format!("persistentvolumeclaim \"{name}\" is being deleted");
                        return self.cannot(pod, &why).await;
                    }
                    Some(claim) => Some(claim),
                }
            }
        };
        let disk = claim.as_ref().and_then(ResourceExt::uid).unwrap_or_else(|| uid.clone());
        let chosen = {
            let mut known = self.state();
            let bound = known.disks.get(&disk).and_then(|disk| disk.node.clone());
            let crowd = |node: &str| known.crowd(&namespace, node);
            let chosen = choose(&self.places, pod, bound.as_deref(), crowd);
            if let Ok(place) = chosen {
                known.disks.entry(disk).or_default().node.get_or_insert_with(|| place.node.clone());
                known.placed.insert(uid.clone(), (namespace.clone(), place.node.clone()));
            }
            chosen
        };
        let place = match chosen {
            Ok(place) => place,
            Err(why) => return self.cannot(pod, &why).await,
        };
        if let Some(claim) = claim.filter(|claim| !volume::bound(claim)) {
            volume::bind(&self.client, &claim, &place.node).await?;
        }
        let binding = Binding {
            metadata: ObjectMeta { name: pod.metadata.name.clone(), uid: Some(uid), ..ObjectMeta::default() },
            target: ObjectReference {
                kind: Some("Node".to_owned()),
                name: Some(place.node.clone()),
                ..ObjectReference::default()
            },
        };
        let pods = Api::<Pod>::namespaced(self.client.clone(), &namespace);
        let bound = pods
            .create_subresource::<_, serde_json::Value>(
                "binding",
                &pod.name_any(),
                &PostParams::default(),
                &binding,
            )
            .await;
        unless_changed(bound)?;
        Ok(Next::Wait)
    }

    async fn cannot(&self, pod: &Pod, why: &str) -> Result<Next> {
        let before = pod.status.as_ref();
        let shown = before
            .and_then(|status| status.conditions.as_ref()?.iter().find(|one| one.type_ == "PodScheduled"))
            .and_then(|condition| condition.message.as_deref());
        if shown != Some(why) {
            self.write(pod, &unschedulable(why, Timestamp::now(), before)).await?;
        }
        Ok(Next::Again(LOOK_AGAIN))
    }

    async fn run(&self, pod: &Pod, place: &Place) -> Result<Next> {
        let uid = pod.uid().context("a pod has a uid")?;
        let namespace = pod.namespace().context("a pod has a namespace")?;
        let (running, not_before, last, address) = {
            let mut known = self.state();
            let local = known.pod(&uid, &namespace, &pod.name_any())?;
            (local.running, local.not_before, local.last.clone(), local.address.clone())
        };
        let now = Instant::now();
        let (stage, next) = match (running, not_before, last) {
            (Some(run), _, _) => (Stage::Running(run.since), Next::Wait),
            (None, Some(then), Some(exit)) if then > now => (Stage::Ended(exit), Next::Again(then - now)),
            _ => self.start(pod, &uid, &namespace, &address, place).await?,
        };
        let application = matches!(stage, Stage::Running(_)) && self.runs_application(&uid);
        let ready = matches!(stage, Stage::Running(_)) && (!application || self.application.ready(&uid));
        let status = {
            let mut known = self.state();
            let local = known.pod(&uid, &namespace, &pod.name_any())?;
            let facts = Facts {
                address: Some(address),
                host: place.address.clone(),
                ready,
                restarts: local.restarts,
                last: local.last.clone(),
                since: local.since,
                now: Timestamp::now(),
            };
            let before = local.reported.as_ref().or(pod.status.as_ref());
            let status = report(pod, &stage, &facts, before);
            if local.reported.as_ref() == Some(&status) {
                return Ok(next);
            }
            status
        };
        self.write(pod, &status).await?;
        if let Some(local) = self.state().pods.get_mut(&uid) {
            local.reported = Some(status);
            local.reported_ready = ready;
        }
        Ok(next)
    }

    fn runs_application(&self, uid: &str) -> bool {
        self.state().pods.get(uid).and_then(|local| local.running).is_some_and(|run| run.application)
    }

    async fn end(&self, pod: &Pod) -> Result<Next> {
        let uid = pod.uid().context("a pod has a uid")?;
        self.stop(&uid);
        let local =
            self.state().pods.get(&uid).map(|local| (local.address.clone(), local.restarts, local.since));
        if let (Some((address, restarts, since)), Some(place)) =
            (local, self.places.iter().find(|place| Some(place.node.as_str()) == read::node_of(pod)))
        {
            let facts = Facts {
                address: Some(address),
                host: place.address.clone(),
                ready: false,
                restarts,
                last: None,
                since,
                now: Timestamp::now(),
            };
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            if phase != Some("Succeeded") {
                let status = report(pod, &Stage::Stopped, &facts, pod.status.as_ref());
                self.write(pod, &status).await?;
            }
        }
        let pods =
            Api::<Pod>::namespaced(self.client.clone(), &pod.namespace().context("a pod has a namespace")?);
        let now = DeleteParams::default()
            .grace_period(0)
            .preconditions(Preconditions { uid: Some(uid), resource_version: None });
        unless_changed(pods.delete(&pod.name_any(), &now).await)?;
        Ok(Next::Wait)
    }

    /// Writes a pod's status. The uid goes along, so that a successor of the same name is left alone.
    async fn write(&self, pod: &Pod, status: &PodStatus) -> Result<()> {
        let pods =
            Api::<Pod>::namespaced(self.client.clone(), &pod.namespace().context("a pod has a namespace")?);
        let patch = json!({"metadata": {"uid": pod.uid()}, "status": status});
        unless_changed(
            pods.patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await,
        )
    }
}
