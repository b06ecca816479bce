//! Alarms, objects that somebody edits or deletes, and not knowing.

use ballast_core::object::Kind;
use ballast_etcd_core::{APPLICATION, observed::Probe, plan::plan};
use ballast_etcd_simulated::model::Entry;
use rstest::rstest;
use serde_json::json;

use crate::simulation::{NAME, Simulation, spec};

#[rstest]
fn a_corrupt_member_is_replaced_and_its_alarm_disarmed(#[values(true, false)] leads: bool) {
    let mut sim = Simulation::converged(&spec(3));
    let leader = sim.leader();
    let member = (0..3).map(|n| format!("my-{n}")).find(|name| (*name == leader) == leads).unwrap();
    let before = sim.id(&member).unwrap();
    let id = sim.cluster().unwrap().id;
    sim.etcd.clusters.get_mut(&id).unwrap().corrupt.insert(before);
    sim.converge();
    assert_ne!(sim.id(&member), Some(before));
    assert_eq!(sim.count("DisarmAlarm"), 1);
}

#[rstest]
#[case::member("my-1")]
#[case::seed("my-0")]
fn a_stateful_set_deleted_by_hand_comes_back_with_its_data(#[case] member: &str) {
    let mut sim = Simulation::converged(&spec(3));
    let list = sim.cluster().unwrap().members.clone();
    sim.world.delete_by_hand(Kind::StatefulSet, member);
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}

#[test]
fn all_stateful_sets_deleted_by_hand_come_back_with_their_data() {
    let mut sim = Simulation::converged(&spec(3));
    let list = sim.cluster().unwrap().members.clone();
    for ordinal in 0..3 {
        sim.world.delete_by_hand(Kind::StatefulSet, &format!("my-{ordinal}"));
    }
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}

#[rstest]
#[case(Kind::Service, "my-client", "/spec/selector", json!({"app.kubernetes.io/instance": "other"}))]
#[case(Kind::Service, "my-nodes", "/spec/publishNotReadyAddresses", json!(false))]
#[case(Kind::PodDisruptionBudget, "my", "/spec/minAvailable", json!(0))]
#[case(Kind::NetworkPolicy, "my", "/spec/ingress", json!([{}]))]
#[case(Kind::Secret, "my-binding", "/data", json!({}))]
fn edits_by_hand_are_undone_and_nothing_rolls(
    #[case] kind: Kind,
    #[case] name: &str,
    #[case] field: &str,
    #[case] value: serde_json::Value,
) {
    let mut sim = Simulation::converged(&spec(3));
    let pods: Vec<String> = sim.etcd.running.keys().cloned().collect();
    let before = sim.world.live(kind, name).unwrap().pointer(field).cloned();
    sim.world.edit(kind, name, field, &value);
    sim.converge();
    assert_eq!(sim.world.live(kind, name).unwrap().pointer(field).cloned(), before);
    sim.world.delete_by_hand(kind, name);
    sim.converge();
    assert_eq!(sim.etcd.running.keys().cloned().collect::<Vec<_>>(), pods);
}

#[rstest]
#[case(Kind::PodDisruptionBudget, json!({"disruptionBudget": {"enabled": false}}))]
#[case(Kind::NetworkPolicy, json!({"networkPolicy": {"enabled": false}}))]
fn what_is_switched_off_goes_and_nothing_rolls(#[case] kind: Kind, #[case] change: serde_json::Value) {
    let mut sim = Simulation::converged(&spec(3));
    let pods: Vec<String> = sim.etcd.running.keys().cloned().collect();
    assert!(sim.world.live(kind, "my").is_some());
    sim.edit(&change);
    sim.converge();
    assert_eq!(sim.world.live(kind, "my"), None);
    assert_eq!(sim.etcd.running.keys().cloned().collect::<Vec<_>>(), pods);
}

#[test]
fn without_the_list_nothing_disruptive_happens() {
    let mut sim = Simulation::converged(&spec(3));
    sim.edit(&json!({"replicas": 1, "etcd": {"snapshotCount": 20000}}));
    for member in ["my-0", "my-1"] {
        sim.etcd.hung.insert(member.to_owned());
    }
    let intents = sim.intents.len();
    sim.run_until_blocked("QuorumUnknown");
    sim.run(80);
    assert_eq!(sim.intents.len(), intents, "{:?}", &sim.intents[intents..]);
    sim.etcd.hung.clear();
    sim.converge();
}

#[test]
fn a_foreign_member_is_reported_and_left_alone() {
    let mut sim = Simulation::converged(&spec(3));
    let id = sim.cluster().unwrap().id;
    let stranger = sim.etcd.new_id();
    let entry = Entry { name: "odd".to_owned(), ..Entry::added("http://10.1.1.1:2380", true) };
    sim.etcd.clusters.get_mut(&id).unwrap().members.insert(stranger, entry);
    sim.tick();
    sim.edit(&json!({"replicas": 5}));
    sim.run_until_blocked("ForeignMember");
    assert!(sim.cluster().unwrap().members.contains_key(&stranger));
    assert_eq!(sim.condition("Degraded"), ("True".to_owned(), "ForeignMember".to_owned()));
    sim.etcd.clusters.get_mut(&id).unwrap().members.remove(&stranger);
    sim.converge();
}

#[test]
fn a_learner_that_does_not_catch_up_is_removed_after_its_deadline() {
    let mut sim = Simulation::converged(&spec(1));
    let id = sim.cluster().unwrap().id;
    for _ in 0..100 {
        sim.etcd.write(id);
    }
    sim.etcd.slow.insert("my-1".to_owned());
    sim.edit(&json!({"replicas": 2}));
    while sim.count("RemoveMember") == 0 {
        sim.pass();
        sim.tick();
        assert!(sim.intents.len() < 100);
    }
    sim.etcd.slow.clear();
    sim.converge();
}

/// Another operator at the same name is gone, its learner is half made: what is there is continued.
#[test]
fn a_learner_whose_stateful_set_was_deleted_by_hand_recovers() {
    let mut sim = Simulation::converged(&spec(1));
    sim.etcd.slow.insert("my-1".to_owned());
    sim.edit(&json!({"replicas": 2}));
    sim.until(|sim| sim.running("my-1").is_some());
    sim.world.delete_by_hand(Kind::StatefulSet, "my-1");
    sim.etcd.slow.clear();
    sim.converge();
}

#[test]
fn two_cluster_ids_stop_everything() {
    let mut sim = Simulation::converged(&spec(3));
    let desired = sim.desired().unwrap();
    let children = sim.world.children(APPLICATION, NAME);
    let (mut observed, _) = sim.look(&desired, children);
    for member in observed.members.iter_mut().filter(|member| member.name == "my-1") {
        if let Probe::Answered(answer) = &mut member.probe {
            answer.cluster_id += 1;
        }
    }
    let plan = plan(&desired, &observed, sim.world.now());
    assert!(plan.is_empty());
    assert_eq!(plan.blocked[0].reason, "SplitBrain");
}
