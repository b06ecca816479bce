//! What users read: conditions and their reasons, and which times are carried over.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use ballast_core::{
    object::Children,
    plan::{Blocked, Plan},
    version::Minor,
};
use ballast_etcd_core::{
    api::{EtcdCluster, EtcdClusterStatus, SuspectZone},
    build, client_url,
    intent::Intent,
    observed::{Answer, Answers, Listed, Observed, Probe, observe},
    peer_url, status,
    validate::{Desired, validate},
};
use ballast_testkit::samples;
use jiff::Timestamp;
use k8s_openapi::api::{
    apps::v1::StatefulSet,
    core::v1::{ConfigMap, PersistentVolumeClaim, Pod},
};
use rstest::rstest;
use serde_json::{Value, json};

const NOW: &str = "2026-01-01T12:00:00Z";
const EARLIER: &str = "2026-01-01T11:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn resource(status: Option<EtcdClusterStatus>) -> EtcdCluster {
    let mut resource: EtcdCluster = serde_json::from_value(json!({
        "apiVersion": "etcd.ballast.dev/v1alpha1", "kind": "EtcdCluster",
        "metadata": {"name": "my", "namespace": "ns", "uid": "u1", "generation": 7},
        "spec": {"version": "3.6.16", "replicas": 3, "zones": ["a", "b", "c"], "storage": {"size": "1Gi"}},
    }))
    .unwrap();
    resource.status = status;
    resource
}

fn desired() -> Desired {
    validate(&resource(None), &samples::environment("image")).unwrap()
}

/// How a member is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Serves,
    Silent,
    /// Answers, without a linearizable read.
    NoRead,
    Unschedulable,
}

/// Three members in these states, whose cluster has started.
fn seen(
    desired: &Desired,
    states: [State; 3],
    previous: Option<&EtcdClusterStatus>,
    listed: bool,
) -> Observed {
    let mut children = Children::default();
    let mut answers = Answers { cluster_version: Some(Minor { major: 3, minor: 6 }), ..Answers::default() };
    let mut list = vec![];
    for (ordinal, state) in (0_u32..).zip(states) {
        let name = desired.member(ordinal);
        let id = 0x10 + u64::from(ordinal);
        let place = build::Place {
            ordinal,
            claim: Some(build::claim_name(desired, &name, None)),
            zone: Some(["a", "b", "c"][ordinal as usize].to_owned()),
            adopted_from: None,
        };
        let with_uid = |value: Value| {
            let mut value = value;
            value["metadata"]["uid"] = json!(format!("uid-{ordinal}"));
            value
        };
        let set: StatefulSet = serde_json::from_value(with_uid(
            serde_json::to_value(build::stateful_set(desired, &place)).unwrap(),
        ))
        .unwrap();
        let mut claim: PersistentVolumeClaim =
            serde_json::from_value(with_uid(serde_json::to_value(build::claim(desired, &place)).unwrap()))
                .unwrap();
        claim.status.get_or_insert_default().phase = Some("Bound".to_owned());
        let template = set.spec.as_ref().unwrap().template.clone();
        let running = state != State::Unschedulable;
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": format!("{name}-0"), "uid": format!("pod-{ordinal}"), "creationTimestamp": EARLIER,
                "labels": template.metadata.as_ref().unwrap().labels, "annotations": template.metadata.as_ref().unwrap().annotations},
            "spec": template.spec,
            "status": {"podIP": format!("10.0.0.{ordinal}"),
                "conditions": [{"type": "PodScheduled", "status": if running { "True" } else { "False" }}],
                "containerStatuses": [{"name": "etcd", "ready": true, "image": "", "imageID": "", "restartCount": 0,
                    "state": if running { json!({"running": {}}) } else { json!({"waiting": {}}) }}]},
        }))
        .unwrap();
        children.stateful_sets.push(set);
        children.claims.push(claim);
        children.pods.push(pod);
        list.push(Listed {
            id,
            name: name.clone(),
            peer_urls: vec![peer_url(&desired.cluster.host(&name))],
            learner: false,
        });
        let probe = match state {
            State::Serves | State::NoRead => Probe::Answered(Answer {
                id,
                cluster_id: 0xabc,
                version: "3.6.16".parse().unwrap(),
                leader: 0x10,
                raft_index: 9,
                applied_index: 9,
                db_size: 1,
                linearizable: state == State::Serves,
            }),
            State::Silent | State::Unschedulable => Probe::Silent("deadline exceeded".to_owned()),
        };
        answers.probes.insert(name, probe);
    }
    answers.list = listed.then_some(list);
    let mut record: ConfigMap = ballast_core::build::config_map::bootstrap(
        &desired.cluster,
        &ballast_core::bootstrap::Record::Started { cluster_id: "abc".to_owned() },
    );
    record.metadata.uid = Some("r".to_owned());
    record.metadata.resource_version = Some("1".to_owned());
    children.config_maps.push(record);
    observe(desired, previous, children, answers)
}

fn planned(
    states: [State; 3],
    previous: Option<EtcdClusterStatus>,
    plan: &Plan<Intent>,
    now: &str,
) -> EtcdClusterStatus {
    let desired = desired();
    let listed = states.iter().filter(|state| **state == State::Serves).count() > 1;
    let observed = seen(&desired, states, previous.as_ref(), listed);
    status::planned(&resource(previous), &desired, &observed, plan, None, at(now))
}

fn condition(status: &EtcdClusterStatus, type_: &str) -> (String, String) {
    let condition = status.conditions.iter().find(|condition| condition.type_ == type_).unwrap();
    assert_eq!(condition.observed_generation, Some(7));
    (condition.status.clone(), condition.reason.clone())
}

use State::{NoRead, Serves, Silent, Unschedulable};

#[rstest]
#[case::all([Serves, Serves, Serves], "Ready", "True", "MembersServe")]
#[case::one_missing([Serves, Serves, Silent], "Ready", "False", "MembersMissing")]
#[case::no_quorum([Serves, Silent, Silent], "Ready", "False", "QuorumUnknown")]
#[case::all([Serves, Serves, Serves], "QuorumHealthy", "True", "QuorumServes")]
#[case::one_missing([Serves, Serves, NoRead], "QuorumHealthy", "True", "QuorumServes")]
#[case::unknown([Silent, Silent, Silent], "QuorumHealthy", "Unknown", "QuorumUnknown")]
#[case::unknown_is_not_lost([NoRead, NoRead, NoRead], "QuorumHealthy", "Unknown", "QuorumUnknown")]
#[case::all([Serves, Serves, Serves], "Degraded", "False", "AsExpected")]
#[case::one_missing([Serves, Serves, Silent], "Degraded", "True", "MemberNotServing")]
#[case::all([Serves, Serves, Serves], "Progressing", "False", "Converged")]
#[case::all([Serves, Serves, Serves], "SpecValid", "True", "Valid")]
#[case::all([Serves, Serves, Serves], "VersionSupported", "True", "Supported")]
fn conditions(#[case] states: [State; 3], #[case] type_: &str, #[case] value: &str, #[case] reason: &str) {
    let status = planned(states, None, &Plan::default(), NOW);
    assert_eq!(condition(&status, type_), (value.to_owned(), reason.to_owned()));
}

#[rstest]
#[case("Paused", "False")]
#[case("DataLost", "False")]
#[case("SplitBrain", "False")]
#[case("VersionStepRefused", "False")]
#[case("RetainedVolumes", "False")]
#[case("QuorumAtRisk", "True")]
#[case("UpdatedMemberNotServing", "True")]
fn what_waits_for_people_is_no_progress(#[case] reason: &'static str, #[case] value: &str) {
    let plan = Plan { blocked: vec![Blocked::new("some-predicate", reason, "why")], ..Plan::default() };
    let status = planned([Serves; 3], None, &plan, NOW);
    assert_eq!(condition(&status, "Progressing"), (value.to_owned(), reason.to_owned()));
}

#[rstest]
#[case("DataLost")]
#[case("SplitBrain")]
#[case("ForeignMember")]
fn what_needs_people_is_degraded(#[case] reason: &'static str) {
    let plan = Plan { blocked: vec![Blocked::new("some-predicate", reason, "why")], ..Plan::default() };
    assert_eq!(
        condition(&planned([Serves; 3], None, &plan, NOW), "Degraded"),
        ("True".to_owned(), reason.to_owned())
    );
}

#[test]
fn the_facts_are_there() {
    let status = planned([Serves; 3], None, &Plan::default(), NOW);
    assert_eq!(status.observed_generation, Some(7));
    assert_eq!((status.replicas, status.ready_members.as_deref()), (3, Some("3/3")));
    assert_eq!((status.version.as_deref(), status.cluster_version.as_deref()), (Some("3.6.16"), Some("3.6")));
    assert_eq!(status.cluster_id.as_deref(), Some("abc"));
    assert_eq!(status.endpoints.unwrap().client, client_url("my-client.ns.svc"));
    let member = &status.members[0];
    assert_eq!(
        (member.name.as_str(), member.id.as_deref(), member.role.as_str()),
        ("my-0", Some("10"), "Leader")
    );
    assert_eq!((member.zone.as_deref(), member.health.as_str()), (Some("a"), "Serving"));
    assert_eq!((&member.unhealthy_since, &member.doing), (&None, &None));
}

#[test]
fn what_is_not_known_now_is_kept() {
    let before = planned([Serves; 3], None, &Plan::default(), EARLIER);
    let status = planned([Silent; 3], Some(before), &Plan::default(), NOW);
    assert_eq!((status.replicas, status.ready_members.as_deref()), (3, Some("0/3")));
    assert_eq!((status.version.as_deref(), status.cluster_version.as_deref()), (Some("3.6.16"), Some("3.6")));
    assert_eq!(status.cluster_id.as_deref(), Some("abc"));
}

#[test]
fn times_move_only_when_something_changes() {
    let time = |status: &EtcdClusterStatus| {
        status.conditions.iter().find(|condition| condition.type_ == "Ready").unwrap().last_transition_time.0
    };
    let first = planned([Serves; 3], None, &Plan::default(), EARLIER);
    let same = planned([Serves; 3], Some(first.clone()), &Plan::default(), NOW);
    assert_eq!(first, same, "looking again changes nothing");
    let other = planned([Serves, Serves, Silent], Some(same), &Plan::default(), NOW);
    assert_eq!(time(&other), at(NOW));
}

#[test]
fn unhealthy_since_is_set_once_and_goes_with_the_fault() {
    let since = |status: &EtcdClusterStatus| status.members[2].unhealthy_since.clone();
    let first = planned([Serves, Serves, Silent], None, &Plan::default(), EARLIER);
    assert_eq!(since(&first).as_deref(), Some(EARLIER));
    let later = planned([Serves, Serves, NoRead], Some(first), &Plan::default(), NOW);
    assert_eq!(since(&later).as_deref(), Some(EARLIER), "another fault is no new start");
    let well = planned([Serves; 3], Some(later), &Plan::default(), NOW);
    assert_eq!(since(&well), None);
    let again = planned([Serves, Serves, Silent], Some(well), &Plan::default(), NOW);
    assert_eq!(since(&again).as_deref(), Some(NOW));
}

#[test]
fn the_plan_shows_what_waits_and_since_when() {
    let blocked = Plan { blocked: vec![Blocked::new("some-predicate", "Some", "why")], ..Plan::default() };
    let first = planned([Serves; 3], None, &blocked, EARLIER);
    let later = planned([Serves; 3], Some(first), &blocked, NOW);
    let entry = &later.plan.unwrap().blocked[0];
    assert_eq!((entry.predicate.as_str(), entry.since.as_str()), ("some-predicate", EARLIER));
}

#[test]
fn what_is_being_done_stands_with_its_member() {
    let intent = Intent::Promote { member: "my-2".to_owned(), id: 0x12 };
    let plan = Plan { intent: Some(intent), ..Plan::default() };
    let status = planned([Serves; 3], None, &plan, NOW);
    assert_eq!(status.members[2].doing.as_deref(), Some("PromoteMember"));
    assert_eq!(status.members[1].doing, None);
    assert_eq!(condition(&status, "Progressing"), ("True".to_owned(), "PromoteMember".to_owned()));
}

#[test]
fn a_zone_is_suspected_after_a_while_for_an_hour_unless_it_serves_again() {
    let zones = |status: &EtcdClusterStatus| {
        status.suspect_zones.iter().map(|zone| zone.zone.clone()).collect::<Vec<_>>()
    };
    let states = [Serves, Serves, Unschedulable];
    let first = planned(states, None, &Plan::default(), "2026-01-01T12:00:00Z");
    assert!(zones(&first).is_empty(), "not at once");
    let soon = planned(states, Some(first.clone()), &Plan::default(), "2026-01-01T12:04:59Z");
    assert!(zones(&soon).is_empty());
    let late = planned(states, Some(first), &Plan::default(), "2026-01-01T12:05:00Z");
    assert_eq!(zones(&late), ["c"]);
    let well = planned([Serves; 3], Some(late.clone()), &Plan::default(), "2026-01-01T12:06:00Z");
    assert!(zones(&well).is_empty(), "it serves again");
    let mut old = late;
    old.suspect_zones = vec![SuspectZone { zone: "c".to_owned(), since: "2026-01-01T12:05:00Z".to_owned() }];
    let kept = planned([Serves, Serves, Silent], Some(old.clone()), &Plan::default(), "2026-01-01T13:04:59Z");
    assert_eq!(zones(&kept), ["c"]);
    let over = planned([Serves, Serves, Silent], Some(old), &Plan::default(), "2026-01-01T13:05:00Z");
    assert!(zones(&over).is_empty(), "an hour has passed");
}

#[test]
fn an_invalid_resource_keeps_the_facts_and_names_the_field() {
    let before = planned([Serves; 3], None, &Plan::default(), EARLIER);
    let errors = [ballast_core::invalid::Invalid::new("spec.version", "is odd")];
    let status = status::invalid(&resource(Some(before.clone())), &errors, at(NOW));
    assert_eq!((status.members, status.cluster_id), (before.members, before.cluster_id));
    let valid = status.conditions.iter().find(|condition| condition.type_ == "SpecValid").unwrap();
    assert_eq!(valid.status, "False");
    assert!(valid.message.contains("spec.version: is odd"), "{}", valid.message);
    assert_eq!(status.plan, None);
}
