//! The status of a pod as a kubelet reports it. Pure.

use ballast_core::guard::Refusal;
use ballast_testkit::pod::main_container;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting,
    ContainerStatus, Pod, PodCondition, PodIP, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// How far a pod has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its volumes are not there yet.
    Mounting,
    /// An init container waits, for this reason.
    Preparing { reason: String, message: String },
    /// The main container waits, for this reason.
    Waiting { reason: String, message: String },
    /// The main container ended and will be started again.
    Ended(Exit),
    /// It runs since then.
    Running(Timestamp),
    /// It was asked to end and did.
    Stopped,
}

/// How a main container ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    /// Exit code.
    pub(crate) code: i32,
    /// Termination message.
    pub(crate) message: String,
    /// When.
    pub(crate) at: Timestamp,
}

impl Exit {
    pub(crate) fn refused(refusal: &Refusal, at: Timestamp) -> Self {
        Self { code: refusal.exit_code().into(), message: refusal.message(), at }
    }
}

/// What is reported besides the stage.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) address: Option<String>,
    pub(crate) host: String,
    pub(crate) ready: bool,
    pub(crate) restarts: i32,
    pub(crate) last: Option<Exit>,
    /// When the kubelet first saw the pod.
    pub(crate) since: Timestamp,
    pub(crate) now: Timestamp,
}

/// The status. Conditions keep the time of their last change from `before`.
pub(crate) fn report(pod: &Pod, stage: &Stage, facts: &Facts, before: Option<&PodStatus>) -> PodStatus {
    let prepared = !matches!(stage, Stage::Mounting | Stage::Preparing { .. });
    let ready = facts.ready && matches!(stage, Stage::Running(_));
    let phase = match stage {
        Stage::Mounting | Stage::Preparing { .. } | Stage::Waiting { .. } if facts.restarts == 0 => "Pending",
        Stage::Stopped => "Succeeded",
        _ => "Running",
    };
    let spec = pod.spec.as_ref();
    let inits = spec.and_then(|spec| spec.init_containers.as_deref()).unwrap_or_default();
    let unready = if prepared { "ContainersNotReady" } else { "ContainersNotInitialized" };
    let conditions = [
        ("PodReadyToStartContainers", !matches!(stage, Stage::Mounting | Stage::Stopped), None),
        ("Initialized", prepared, (!prepared).then_some("ContainersNotInitialized")),
        ("Ready", ready, (!ready).then_some(unready)),
        ("ContainersReady", ready, (!ready).then_some(unready)),
        ("PodScheduled", true, None),
    ];
    let conditions = conditions.map(|(type_, holds, reason)| condition(type_, holds, reason, facts, before));
    let address = facts.address.clone().filter(|_| !matches!(stage, Stage::Mounting));
    PodStatus {
        phase: Some(phase.to_owned()),
        conditions: Some(conditions.to_vec()),
        host_ip: Some(facts.host.clone()),
        pod_ips: address.clone().map(|ip| vec![PodIP { ip }]),
        pod_ip: address,
        start_time: Some(Time(facts.since)),
        init_container_statuses: Some(inits.iter().map(|container| init(container, stage, facts)).collect())
            .filter(|statuses: &Vec<_>| !statuses.is_empty()),
        container_statuses: spec.map(|spec| {
            let main_name = main_container(pod).map(|main| main.name.as_str());
            let one = |container: &Container| {
                if Some(container.name.as_str()) == main_name {
                    main(container, stage, facts, ready, !inits.is_empty())
                } else {
                    sidecar(container, prepared, facts)
                }
            };
            spec.containers.iter().map(one).collect()
        }),
        qos_class: before.and_then(|before| before.qos_class.clone()),
        ..PodStatus::default()
    }
}

/// The status of a pod that no node can take.
pub(crate) fn unschedulable(why: &str, now: Timestamp, before: Option<&PodStatus>) -> PodStatus {
    let condition = PodCondition {
        type_: "PodScheduled".to_owned(),
        status: "False".to_owned(),
        reason: Some("Unschedulable".to_owned()),
        message: Some(why.to_owned()),
        last_transition_time: Some(since("PodScheduled", "False", now, before)),
        ..PodCondition::default()
    };
    PodStatus { phase: Some("Pending".to_owned()), conditions: Some(vec![condition]), ..PodStatus::default() }
}

fn since(type_: &str, status: &str, now: Timestamp, before: Option<&PodStatus>) -> Time {
    before
        .and_then(|before| before.conditions.as_ref()?.iter().find(|condition| condition.type_ == type_))
        .filter(|condition| condition.status == status)
        .and_then(|condition| condition.last_transition_time.clone())
        .unwrap_or(Time(now))
}

fn condition(
    type_: &str,
    holds: bool,
    reason: Option<&str>,
    facts: &Facts,
    before: Option<&PodStatus>,
) -> PodCondition {
    let status = if holds { "True" } else { "False" };
    PodCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.map(str::to_owned),
        last_transition_time: Some(since(type_, status, facts.now, before)),
        ..PodCondition::default()
    }
}

fn waiting(reason: &str, message: &str) -> ContainerState {
    let waiting = ContainerStateWaiting {
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()).filter(|message| !message.is_empty()),
    };
    ContainerState { waiting: Some(waiting), ..ContainerState::default() }
}

fn running(at: Timestamp) -> ContainerState {
    let running = ContainerStateRunning { started_at: Some(Time(at)) };
    ContainerState { running: Some(running), ..ContainerState::default() }
}

fn terminated(exit: &Exit) -> ContainerState {
    let terminated = ContainerStateTerminated {
        exit_code: exit.code,
        reason: Some(if exit.code == 0 { "Completed" } else { "Error" }.to_owned()),
        message: Some(exit.message.clone()).filter(|message| !message.is_empty()),
        finished_at: Some(Time(exit.at)),
        ..ContainerStateTerminated::default()
    };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

fn base(container: &Container) -> ContainerStatus {
    let image = container.image.clone().unwrap_or_default();
    ContainerStatus { name: container.name.clone(), image, ..ContainerStatus::default() }
}

fn init(container: &Container, stage: &Stage, facts: &Facts) -> ContainerStatus {
    let current = match stage {
        Stage::Mounting => waiting("PodInitializing", ""),
        Stage::Preparing { reason, message } => waiting(reason, message),
        _ => terminated(&Exit { code: 0, message: String::new(), at: facts.since }),
    };
    let done = current.terminated.is_some();
    ContainerStatus { ready: done, started: Some(false), state: Some(current), ..base(container) }
}

fn main(container: &Container, stage: &Stage, facts: &Facts, ready: bool, has_init: bool) -> ContainerStatus {
    let current = match stage {
        Stage::Mounting | Stage::Preparing { .. } => {
            waiting(if has_init { "PodInitializing" } else { "ContainerCreating" }, "")
        }
        Stage::Waiting { reason, message } => waiting(reason, message),
        Stage::Ended(_) => {
            waiting("CrashLoopBackOff", &format!("back-off restarting failed container={}", container.name))
        }
        Stage::Running(at) => running(*at),
        Stage::Stopped => terminated(&Exit { code: 0, message: String::new(), at: facts.now }),
    };
    ContainerStatus {
        ready,
        started: Some(matches!(stage, Stage::Running(_))),
        restart_count: facts.restarts,
        state: Some(current),
        last_state: facts.last.as_ref().map(terminated),
        ..base(container)
    }
}

/// Other containers of the pod: nothing of them is simulated, they run as soon as they may.
fn sidecar(container: &Container, prepared: bool, facts: &Facts) -> ContainerStatus {
    let state = if prepared { running(facts.since) } else { waiting("PodInitializing", "") };
    ContainerStatus { ready: prepared, started: Some(prepared), state: Some(state), ..base(container) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "a-0"}, "spec": {
            "initContainers": [{"name": "prepare", "image": "o"}],
            "containers": [{"name": "etcd", "image": "e"}],
        }}))
        .expect("a pod")
    }

    fn facts(second: i64) -> Facts {
        let at = Timestamp::from_second(second).expect("in range");
        Facts {
            address: Some("127.9.0.1".into()),
            host: "10.0.0.1".into(),
            ready: true,
            restarts: 0,
            last: None,
            since: Timestamp::UNIX_EPOCH,
            now: at,
        }
    }

    fn holds<'a>(status: &'a PodStatus, type_: &str) -> &'a PodCondition {
        status.conditions.iter().flatten().find(|condition| condition.type_ == type_).expect("reported")
    }

    #[test]
    fn a_running_pod_is_ready_and_its_init_container_is_done() {
        let status = report(&pod(), &Stage::Running(Timestamp::UNIX_EPOCH), &facts(5), None);
        assert_eq!(status.phase.as_deref(), Some("Running"));
        assert_eq!(holds(&status, "Ready").status, "True");
        let init = &status.init_container_statuses.as_ref().expect("one")[0];
        assert_eq!(
            init.state.as_ref().and_then(|state| state.terminated.as_ref()).map(|end| end.exit_code),
            Some(0)
        );
    }

    #[test]
    fn a_refusal_is_read_back_from_the_last_state() {
        let refusal = Refusal::DataLost("nothing there".into());
        let exit = Exit::refused(&refusal, Timestamp::UNIX_EPOCH);
        let facts = Facts { restarts: 1, last: Some(exit.clone()), ..facts(5) };
        let status = report(&pod(), &Stage::Ended(exit), &facts, None);
        let main = &status.container_statuses.as_ref().expect("one")[0];
        let ended = main.last_state.as_ref().and_then(|state| state.terminated.clone()).expect("it ended");
        let read = Refusal::from_termination(ended.exit_code, &ended.message.unwrap_or_default());
        assert_eq!(read, Some(refusal));
        assert_eq!(holds(&status, "Ready").status, "False");
    }

    #[test]
    fn a_condition_keeps_the_time_of_its_last_change() {
        let first = report(&pod(), &Stage::Mounting, &facts(5), None);
        let second = report(&pod(), &Stage::Running(Timestamp::UNIX_EPOCH), &facts(9), Some(&first));
        let time = |status: &PodStatus, type_: &str| holds(status, type_).last_transition_time.clone();
        assert_eq!(time(&second, "PodScheduled"), time(&first, "PodScheduled"));
        assert_ne!(time(&second, "Ready"), time(&first, "Ready"));
    }

    #[test]
    fn an_image_that_cannot_be_pulled_keeps_the_pod_pending() {
        let stage = Stage::Waiting { reason: "ImagePullBackOff".into(), message: "no".into() };
        let status = report(&pod(), &stage, &facts(5), None);
        assert_eq!(status.phase.as_deref(), Some("Pending"));
        assert_eq!(holds(&status, "Initialized").status, "True");
    }
}
