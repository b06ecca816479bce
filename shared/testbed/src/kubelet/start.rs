//! The start of a main container: what it needs is there, the guard decides, the application starts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use ballast_core::config::variables;
use ballast_core::guard::{RunArgs, Start};
use ballast_testkit::{guarded, pod as read};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod};
use kube::{Api, ResourceExt};

use super::place::Place;
use super::pod::LOOK_AGAIN;
use super::state::Run;
use super::status::{Exit, Stage};
use super::{Kubelets, Next};
use crate::Process;

/// A container that ended starts again after this, then twice as long each time. A real kubelet begins with 10 s.
const FIRST_RESTART: Duration = Duration::from_millis(200);
const LAST_RESTART: Duration = Duration::from_secs(5);

impl Kubelets {
    /// Starts the main container, if everything that it needs is there.
    pub(super) async fn start(
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
        if self.state().disks.get(&disk).is_some_and(|disk| disk.full) {
            let message = "write 0.tmp: no space left on device".to_owned();
            return self.ended(uid, Exit { code: 1, message, at: now });
        }
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
