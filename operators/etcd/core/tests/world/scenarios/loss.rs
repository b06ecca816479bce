//! Data, claims and volumes that are gone.

use ballast_core::object::Kind;
use rstest::rstest;
use serde_json::json;

use crate::simulation::{Simulation, crash_everywhere, spec};

const ORDINALS: [&str; 3] = ["my-0", "my-1", "my-2"];

#[rstest]
fn a_member_whose_volume_was_wiped_is_replaced(
    #[values(0, 1, 2)] ordinal: usize,
    #[values(true, false)] pod_too: bool,
) {
    let mut sim = Simulation::converged(&spec(3));
    let member = ORDINALS[ordinal];
    let before = sim.id(member);
    sim.world.wipe(&sim.disk_of(member));
    sim.run(3);
    assert_eq!(sim.id(member), before, "what still serves is not replaced");
    if pod_too {
        sim.world.delete_pod_by_hand(&format!("{member}-0"));
    } else {
        sim.world.kill_container(&format!("{member}-0"), &mut sim.etcd);
    }
    sim.converge();
    assert_ne!(sim.id(member), before);
}

#[test]
fn a_wiped_member_is_replaced_whatever_write_the_operator_dies_before() {
    let mut sim = Simulation::converged(&spec(3));
    sim.world.wipe(&sim.disk_of("my-1"));
    sim.world.kill_container("my-1-0", &mut sim.etcd);
    sim.tick();
    crash_everywhere(sim);
}

#[test]
fn a_member_whose_claim_and_pod_were_deleted_is_replaced() {
    let mut sim = Simulation::converged(&spec(3));
    let (claim, before) = (sim.claim_of("my-1"), sim.id("my-1"));
    sim.world.delete_by_hand(Kind::PersistentVolumeClaim, &claim);
    sim.run(5);
    assert_eq!(sim.id("my-1"), before, "it runs: the claim waits");
    sim.world.delete_pod_by_hand("my-1-0");
    sim.converge();
    assert_ne!(sim.id("my-1"), before);
}

#[test]
fn a_pinned_claim_does_not_hold_up_the_repair_of_others() {
    let mut sim = Simulation::converged(&spec(3));
    let claim = sim.claim_of("my-1");
    sim.world.pin(Kind::PersistentVolumeClaim, &claim, true);
    sim.world.delete_by_hand(Kind::PersistentVolumeClaim, &claim);
    sim.world.delete_pod_by_hand("my-1-0");
    sim.run(2);
    sim.world.delete_pod_by_hand("my-2-0");
    sim.converge();
    assert!(sim.world.live(Kind::PersistentVolumeClaim, &claim).is_some(), "it is still pinned");
    sim.world.pin(Kind::PersistentVolumeClaim, &claim, false);
    sim.tick();
    assert!(sim.world.live(Kind::PersistentVolumeClaim, &claim).is_none());
    sim.converge();
}

#[test]
fn a_lost_volume_is_replaced() {
    let mut sim = Simulation::converged(&spec(3));
    let (claim, before) = (sim.claim_of("my-0"), sim.id("my-0"));
    sim.world.lose_volume(&claim);
    sim.world.delete_pod_by_hand("my-0-0");
    sim.converge();
    assert_ne!(sim.id("my-0"), before);
}

#[rstest]
#[case(1)]
#[case(2)]
fn with_one_or_two_members_lost_data_stops_everything(#[case] replicas: i32) {
    let mut sim = Simulation::converged(&spec(replicas));
    let list = sim.cluster().unwrap().members.clone();
    sim.world.wipe(&sim.disk_of("my-0"));
    sim.world.kill_container("my-0-0", &mut sim.etcd);
    for _ in 0..80 {
        sim.pass();
        sim.tick();
        assert_eq!(sim.cluster().unwrap().members, list, "nothing is removed");
    }
    assert_eq!(sim.count("RemoveMember"), 0);
    assert!(sim.claim_of("my-0").contains("my-0"));
    assert_eq!(sim.condition("Ready").0, "False");
    assert!(sim.blocked.iter().any(|(_, reason)| reason == "DataLost"), "{:?}", sim.blocked);
}

#[test]
fn two_of_three_lost_stop_everything_and_one_of_them_coming_back_recovers() {
    let mut sim = Simulation::converged(&spec(3));
    sim.world.wipe(&sim.disk_of("my-0"));
    sim.world.kill_container("my-0-0", &mut sim.etcd);
    let node = sim.node_of("my-1");
    sim.world.local_volumes = true;
    sim.world.stop_node(&node, &mut sim.etcd);
    let list = sim.cluster().unwrap().members.clone();
    sim.run(60);
    assert_eq!(sim.cluster().unwrap().members, list);
    sim.world.start_node(&node);
    sim.converge();
}

#[test]
fn a_learner_that_loses_its_data_is_removed_and_added_again() {
    let mut sim = Simulation::converged(&spec(1));
    sim.edit(&json!({"replicas": 2}));
    sim.etcd.slow.insert("my-1".to_owned());
    for _ in 0..40 {
        sim.pass();
        sim.tick();
        if sim.running("my-1").is_some() && sim.world.live(Kind::ConfigMap, "my-1-ticket").is_none() {
            break;
        }
    }
    let before = sim.id("my-1");
    sim.world.wipe(&sim.disk_of("my-1"));
    sim.world.kill_container("my-1-0", &mut sim.etcd);
    sim.etcd.slow.clear();
    sim.converge();
    assert_ne!(sim.id("my-1"), before);
}

fn ephemeral(replicas: i32) -> serde_json::Value {
    let mut spec = spec(replicas);
    spec["storage"] = json!({"ephemeral": {}});
    spec
}

#[test]
fn ephemeral_members_are_replaced_when_their_pod_goes() {
    let mut sim = Simulation::converged(&ephemeral(3));
    let before = sim.id("my-1");
    sim.world.kill_container("my-1-0", &mut sim.etcd);
    sim.converge();
    assert_eq!(sim.id("my-1"), before, "a container restart keeps the pod's space");
    sim.world.delete_pod_by_hand("my-1-0");
    sim.converge();
    assert_ne!(sim.id("my-1"), before);
}

#[test]
fn ephemeral_members_are_rolled_by_replacing_them() {
    let mut sim = Simulation::converged(&ephemeral(3));
    sim.edit(&json!({"etcd": {"snapshotCount": 20000}}));
    sim.converge();
}
