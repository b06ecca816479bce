//! The kubelets: containers, the guard at every start, and what a node that does not answer leaves behind.

use ballast_core::{guard::Refusal, object::Kind};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus,
    Pod, PodCondition, PodStatus,
};

use crate::{
    Application, Process, guarded,
    pod::{claim_of, config_maps, main_container},
    server::time,
    world::{Local, World},
};

/// How long mounted ConfigMaps may be behind their objects.
const MOUNT_DELAY: SignedDuration = SignedDuration::from_secs(60);

/// How the application's container is.
enum Stage {
    /// It does not run, and why.
    Waiting(String),
    /// It ended: exit code and termination message.
    Ended(i32, String),
    Running,
}

impl World {
    pub(crate) fn run_kubelets(&mut self, application: &mut impl Application) {
        for pod in application.ended() {
            self.processes.remove(&pod);
        }
        self.stop_removed(application);
        let names: Vec<String> = self.pods.keys().cloned().collect();
        for name in names {
            if self.unchanged(&self.pods[&name], application) {
                continue;
            }
            let pod = self.pods[&name].clone();
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
            let Some(node) = node.and_then(|node| self.nodes.get(&node)) else { continue };
            match node.down_since {
                Some(since) => self.abandon(&name, since),
                None if pod.metadata.deletion_timestamp.is_some() => {
                    self.end(&pod, application);
                    self.pods.remove(&name);
                }
                None => self.run(&name, &pod, application),
            }
        }
    }

    /// Whether a pod runs as its status says: the usual case, made fast.
    fn unchanged(&self, pod: &Pod, application: &impl Application) -> bool {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        let container = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()?.first());
        let Some(container) = container.filter(|_| self.processes.contains_key(uid)) else { return false };
        let running = container.state.as_ref().is_some_and(|state| state.running.is_some());
        running && container.ready == application.ready(uid) && pod.metadata.deletion_timestamp.is_none()
    }

    /// Containers whose pod object is gone are stopped: deleting by force means just that.
    fn stop_removed(&mut self, application: &mut impl Application) {
        let known: Vec<String> = self.pods.values().filter_map(|pod| pod.metadata.uid.clone()).collect();
        let stray: Vec<String> = self.processes.keys().filter(|uid| !known.contains(uid)).cloned().collect();
        for uid in stray {
            self.processes.remove(&uid);
            application.stop(&uid);
        }
    }

    fn end(&mut self, pod: &Pod, application: &mut impl Application) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        if self.processes.remove(&uid).is_some() {
            application.stop(&uid);
        }
    }

    /// The node does not answer: its pods are not ready, and after a while they are told to go, which nobody confirms.
    fn abandon(&mut self, name: &str, since: jiff::Timestamp) {
        let late = self.now.duration_since(since) >= SignedDuration::from_secs(self.eviction_seconds);
        let now = self.now;
        let Some(pod) = self.pods.get_mut(name) else { return };
        let conditions = pod.status.get_or_insert_default().conditions.get_or_insert_default();
        conditions.retain(|condition| condition.type_ != "Ready");
        conditions.push(condition("Ready", false, None));
        if late && pod.metadata.deletion_timestamp.is_none() {
            conditions.push(condition("DisruptionTarget", true, Some("DeletionByTaintManager")));
            pod.metadata.deletion_timestamp = Some(time(now + SignedDuration::from_secs(30)));
        }
    }

    fn run(&mut self, name: &str, pod: &Pod, application: &mut impl Application) {
        let uid = pod.metadata.uid.clone().unwrap_or_default();
        let address = format!("10.0.{}", uid.trim_start_matches("pod-uid-"));
        let stage = if self.processes.contains_key(&uid) {
            Stage::Running
        } else {
            self.try_start(pod, &uid, &address, application)
        };
        let ready = matches!(stage, Stage::Running) && application.ready(&uid);
        let main = main_container(pod).map(|container| container.name.clone()).unwrap_or_default();
        let before =
            pod.status.as_ref().and_then(|status| status.container_statuses.as_ref()?.first().cloned());
        if let Some(pod) = self.pods.get_mut(name) {
            pod.status = Some(reported(&main, address, &stage, ready, before.as_ref()));
        }
    }

    fn try_start(
        &mut self,
        pod: &Pod,
        uid: &str,
        address: &str,
        application: &mut impl Application,
    ) -> Stage {
        let images =
            pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten().chain(&spec.containers));
        if images
            .filter_map(|container| container.image.as_ref())
            .any(|image| self.bad_images.contains(image))
        {
            return Stage::Waiting("ImagePullBackOff".to_owned());
        }
        let maps = config_maps(pod);
        let missing =
            maps.iter().find(|(map, optional)| !optional && self.live(Kind::ConfigMap, map).is_none());
        if missing.is_some() {
            return Stage::Waiting("ContainerCreating".to_owned());
        }
        let config =
            maps.iter().find(|(_, optional)| !optional).map(|(map, _)| map.clone()).unwrap_or_default();
        let ticket = maps.iter().find(|(_, optional)| *optional).map(|(map, _)| map.clone());
        self.mount(uid, ticket.as_deref());
        let Some(container) = main_container(pod) else { return Stage::Waiting("no container".to_owned()) };
        let disk = match claim_of(pod) {
            None => uid.to_owned(),
            Some(claim) => self
                .live(Kind::PersistentVolumeClaim, &claim)
                .and_then(|live| live["metadata"]["uid"].as_str().map(str::to_owned))
                .unwrap_or_default(),
        };
        let run = match guarded::arguments(container) {
            Ok(run) => run,
            Err(refusal) => return refused(&refusal),
        };
        let local = self.local.get(uid);
        let ticket = local.and_then(|local| local.ticket.as_deref());
        let note = local.is_some_and(|local| local.note);
        let how = match guarded::judge(&run, self.disks.get(&disk), ticket, note) {
            Ok(how) => how,
            Err(refusal) => return refused(&refusal),
        };
        let used = guarded::prepare(&how, &run, self.disks.entry(disk.clone()).or_default());
        if let Some(local) = self.local.get_mut(uid) {
            local.note |= used;
        }
        if self.disks.get(&disk).is_some_and(|disk| disk.full) {
            return Stage::Ended(1, "write 0.tmp: no space left on device".to_owned());
        }
        let process = Process {
            member: run.member.clone(),
            pod: uid.to_owned(),
            address: address.to_owned(),
            disk: disk.clone(),
            image: container.image.clone().unwrap_or_default(),
            config,
        };
        match application.start(&process, &how) {
            Ok(()) => {
                self.disks.entry(disk).or_default().data = true;
                self.processes.insert(uid.to_owned(), process);
                Stage::Running
            }
            Err(message) => Stage::Ended(1, message),
        }
    }

    fn mount(&mut self, pod: &str, ticket: Option<&str>) {
        let current = ticket
            .and_then(|ticket| self.live(Kind::ConfigMap, ticket))
            .and_then(|live| live.pointer("/data/ticket.json")?.as_str().map(str::to_owned));
        let now = self.now;
        let lazy = self.lazy_mounts;
        let local = self.local.entry(pod.to_owned()).or_insert_with(|| Local {
            ticket: current.clone(),
            synced: now,
            note: false,
        });
        if !lazy || now.duration_since(local.synced) >= MOUNT_DELAY {
            local.ticket = current;
            local.synced = now;
        }
    }
}

fn refused(refusal: &Refusal) -> Stage {
    Stage::Ended(i32::from(refusal.exit_code()), refusal.message())
}

fn condition(type_: &str, holds: bool, reason: Option<&str>) -> PodCondition {
    PodCondition {
        type_: type_.to_owned(),
        status: if holds { "True" } else { "False" }.to_owned(),
        reason: reason.map(str::to_owned),
        ..PodCondition::default()
    }
}

fn reported(
    main: &str,
    address: String,
    stage: &Stage,
    ready: bool,
    before: Option<&ContainerStatus>,
) -> PodStatus {
    let waiting = |reason: &str| ContainerState {
        waiting: Some(ContainerStateWaiting { reason: Some(reason.to_owned()), message: None }),
        ..ContainerState::default()
    };
    let (current, last_state) = match stage {
        Stage::Running => {
            let running = ContainerStateRunning::default();
            let last = before.and_then(|before| before.last_state.clone());
            (ContainerState { running: Some(running), ..ContainerState::default() }, last)
        }
        Stage::Waiting(reason) => (waiting(reason), None),
        Stage::Ended(exit_code, message) => {
            let ended = ContainerStateTerminated {
                exit_code: *exit_code,
                message: Some(message.clone()),
                ..ContainerStateTerminated::default()
            };
            let last = ContainerState { terminated: Some(ended), ..ContainerState::default() };
            (waiting("CrashLoopBackOff"), Some(last))
        }
    };
    PodStatus {
        phase: Some(if matches!(stage, Stage::Waiting(_)) { "Pending" } else { "Running" }.to_owned()),
        pod_ip: Some(address),
        conditions: Some(vec![condition("PodScheduled", true, None), condition("Ready", ready, None)]),
        container_statuses: Some(vec![ContainerStatus {
            name: main.to_owned(),
            ready,
            started: Some(matches!(stage, Stage::Running)),
            state: Some(current),
            last_state,
            ..ContainerStatus::default()
        }]),
        ..PodStatus::default()
    }
}
