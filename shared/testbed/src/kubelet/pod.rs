//! One look at one pod: it is given a node, prepared, started, reported, or ended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use ballast_core::config::variables;
use ballast_core::guard::{RunArgs, Start};
use ballast_testkit::{guarded, pod as read};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Binding, ConfigMap, ObjectReference, PersistentVolumeClaim, Pod, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::json;

use super::place::{Place, choose};
use super::state::Run;
use super::status::{Exit, Facts, Stage, report, unschedulable};
use super::{Kubelets, Next, unless_changed, volume};
use crate::Process;

/// What is missing is looked for again after this.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// A container that ended starts again after this, then twice as long each time. A real kubelet begins with 10 s.
const FIRST_RESTART: Duration = Duration::from_millis(200);
const LAST_RESTART: Duration = Duration::from_secs(5);

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

    /// Starts the main container, if everything that it needs is there.
    async fn start(
        &self,
        pod: &Pod,
        uid: &str,
        namespace: &str,
        address: &str,
        place: &Place,
    ) -> Result<(Stage, Next)> {
        let again = |stage| Ok((stage, Next::Again(LOOK_AGAIN)));
        let Some((config, ticket)) = self.mounts(pod, namespace).await? else {
            return again(Stage::Mounting);
        };
        let disk = match read::claim_of(pod) {
            None => uid.to_owned(),
            Some(name) => {
                let claims = Api::<PersistentVolumeClaim>::namespaced(self.client.clone(), namespace);
                match claims.get_opt(&name).await?.and_then(|claim| claim.uid()) {
                    Some(uid) => uid,
                    None => return again(Stage::Mounting),
                }
            }
        };
        if let Some(stage) = self.unpulled(pod, namespace) {
            return again(stage);
        }
        let main = read::main_container(pod).context("a pod has a container")?;
        let program = main.command.as_ref().and_then(|command| command.first()).map_or("", String::as_str);
        let now = Timestamp::now();
        if program.rsplit('/').next() != Some("ballast-guard") {
            return Ok(self.started(uid, Run { since: now, application: false }));
        }
        let run = match guarded::arguments(main) {
            Ok(run) => run,
            Err(refusal) => return self.ended(uid, Exit::refused(&refusal, now)),
        };
        let config = match rendered(config, pod, &run, place) {
            Ok(config) => config,
            Err(message) => {
                return again(Stage::Preparing { reason: "CrashLoopBackOff".to_owned(), message });
            }
        };
        let judged = {
            let mut known = self.state();
            let note = known.pods.get(uid).is_some_and(|local| local.note);
            let judged = guarded::judge(&run, known.disks.get(&disk), ticket.as_deref(), note);
            if let Ok(how) = &judged {
                let used = guarded::prepare(how, &run, known.disks.entry(disk.clone()).or_default());
                if let Some(local) = known.pods.get_mut(uid) {
                    local.note |= used;
                }
            }
            judged
        };
        let how = match judged {
            Ok(how) => how,
            Err(refusal) => return self.ended(uid, Exit::refused(&refusal, now)),
        };
        let process = Process {
            namespace: namespace.to_owned(),
            member: run.member.clone(),
            cluster_uid: run.cluster_uid.clone(),
            pod: uid.to_owned(),
            pod_name: pod.name_any(),
            address: address.to_owned(),
            disk: disk.clone(),
            image: main.image.clone().unwrap_or_default(),
            command: run.command.clone(),
            config: with_ticket(config, &how),
            zone: place.zone.clone(),
        };
        match self.application.start(&process, &how) {
            Ok(()) => {
                self.state().disks.entry(disk).or_default().data = true;
                Ok(self.started(uid, Run { since: now, application: true }))
            }
            Err(message) => self.ended(uid, Exit { code: 1, message, at: now }),
        }
    }

    /// What the mounted ConfigMaps hold: those that must exist, and the ticket. `None`: one of them is missing.
    async fn mounts(
        &self,
        pod: &Pod,
        namespace: &str,
    ) -> Result<Option<(BTreeMap<String, String>, Option<String>)>> {
        let maps = Api::<ConfigMap>::namespaced(self.client.clone(), namespace);
        let (mut config, mut ticket) = (BTreeMap::new(), None);
        for (name, optional) in read::config_maps(pod) {
            let data = maps.get_opt(&name).await?.map(|map| map.data.unwrap_or_default());
            match (data, optional) {
                (None, false) => return Ok(None),
                (None, true) => {}
                (Some(data), false) => config.extend(data),
                (Some(mut data), true) => {
                    ticket = data.remove(ballast_core::guard::ticket::FILE).or(ticket);
                }
            }
        }
        Ok(Some((config, ticket)))
    }

    /// Where a pod is that names an image which cannot be pulled.
    fn unpulled(&self, pod: &Pod, namespace: &str) -> Option<Stage> {
        let known = self.state();
        let bad = |image: &Option<String>| {
            let image = image.clone().unwrap_or_default();
            known.bad_images.contains(&(namespace.to_owned(), image.clone())).then_some(image)
        };
        let spec = pod.spec.as_ref()?;
        let reason = || "ImagePullBackOff".to_owned();
        let message = |image: String| format!("Back-off pulling image \"{image}\"");
        let init = spec.init_containers.iter().flatten().find_map(|container| bad(&container.image));
        if let Some(image) = init {
            return Some(Stage::Preparing { reason: reason(), message: message(image) });
        }
        let image = spec.containers.iter().find_map(|container| bad(&container.image))?;
        Some(Stage::Waiting { reason: reason(), message: message(image) })
    }

    fn started(&self, uid: &str, run: Run) -> (Stage, Next) {
        if let Some(local) = self.state().pods.get_mut(uid) {
            local.running = Some(run);
            local.not_before = None;
        }
        (Stage::Running(run.since), Next::Wait)
    }

    /// The main container ended, and will be started again.
    pub(super) fn ended(&self, uid: &str, exit: Exit) -> Result<(Stage, Next)> {
        let mut known = self.state();
        let local = known.pods.get_mut(uid).ok_or_else(|| anyhow!("pod {uid} is gone"))?;
        let doublings = u32::try_from(local.restarts).unwrap_or(0).min(8);
        let wait = (FIRST_RESTART * 2_u32.pow(doublings)).min(LAST_RESTART);
        local.running = None;
        local.restarts += 1;
        local.last = Some(exit.clone());
        local.not_before = Some(Instant::now() + wait);
        let key = (local.namespace.clone(), local.name.clone());
        known.nudged.insert(key);
        Ok((Stage::Ended(exit), Next::Again(wait)))
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

/// The configuration as the first init container completes it.
fn rendered(
    config: BTreeMap<String, String>,
    pod: &Pod,
    run: &RunArgs,
    place: &Place,
) -> Result<BTreeMap<String, String>, String> {
    let inits = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    let mut args = inits.flat_map(|container| container.args.iter().flatten());
    let host = args.find_map(|argument| argument.strip_prefix("--host=")).unwrap_or_default();
    let render = |(file, text): (String, String)| {
        let text = variables::render(&text, host, &run.member, &place.zone)
            .map_err(|variable| format!("{file}: there is no variable {variable}"))?;
        Ok((file, text))
    };
    config.into_iter().map(render).collect()
}

/// What the guard appends to the configuration.
fn with_ticket(mut config: BTreeMap<String, String>, how: &Start) -> BTreeMap<String, String> {
    if let Start::Ticket(ticket) = how {
        for (file, more) in &ticket.append {
            let text = config.entry(file.clone()).or_default();
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(more);
        }
    }
    config
}
