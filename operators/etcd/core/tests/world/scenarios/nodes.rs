//! Nodes that stop, and pods that end.

use rstest::rstest;
use serde_json::json;

use crate::simulation::{Simulation, spec};

fn zoned(zones: bool) -> serde_json::Value {
    let mut spec = spec(3);
    if zones {
        spec["zones"] = json!(["a", "b", "c"]);
    }
    spec
}

#[rstest]
fn a_member_on_a_lost_node_is_replaced_after_its_deadline(#[values(true, false)] zones: bool) {
    let mut sim = Simulation::converged(&zoned(zones));
    sim.world.local_volumes = true;
    let (node, before) = (sim.node_of("my-1"), sim.id("my-1"));
    sim.world.stop_node(&node, &mut sim.etcd);
    sim.run(20);
    assert_eq!(sim.id("my-1"), before, "not before its deadline");
    sim.converge();
    assert_ne!(sim.id("my-1"), before);
    let list = sim.cluster().unwrap().members.clone();
    sim.world.start_node(&node);
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list, "nothing fights when it comes back");
}

/// One node per zone: the lost zone cannot take the new member, the next one does.
#[test]
fn a_member_of_a_lost_zone_goes_to_the_next_one() {
    let mut sim = Simulation::on(&[("n1", "a"), ("n2", "b"), ("n3", "c")], &zoned(true));
    sim.converge();
    sim.world.local_volumes = true;
    let (node, before) = (sim.node_of("my-2"), sim.id("my-2"));
    sim.world.stop_node(&node, &mut sim.etcd);
    sim.converge();
    assert_ne!(sim.id("my-2"), before);
    assert_ne!(sim.node_of("my-2"), node);
    let zones = &sim.resource.status.as_ref().unwrap().suspect_zones;
    assert_eq!(zones.len(), 1, "the status names the zone");
    sim.world.start_node(&node);
    sim.converge();
}

#[test]
fn a_node_that_returns_in_time_changes_nothing() {
    let mut sim = Simulation::converged(&spec(3));
    let list = sim.cluster().unwrap().members.clone();
    let node = sim.node_of("my-0");
    sim.world.stop_node(&node, &mut sim.etcd);
    sim.run(20);
    sim.world.start_node(&node);
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}

#[rstest]
fn all_pods_gone_at_once_without_an_operator_come_back_by_themselves(#[values(1, 3)] replicas: i32) {
    let mut sim = Simulation::converged(&spec(replicas));
    let (list, writes) = (sim.cluster().unwrap().members.clone(), sim.writes);
    for ordinal in 0..replicas {
        sim.world.delete_pod_by_hand(&format!("my-{ordinal}-0"));
    }
    sim.advance(30);
    assert_eq!(sim.unfinished(), None);
    assert_eq!((sim.cluster().unwrap().members.clone(), sim.writes), (list, writes));
    sim.converge();
}

#[test]
fn pods_that_ended_are_made_again() {
    let mut sim = Simulation::converged(&spec(3));
    let list = sim.cluster().unwrap().members.clone();
    for ordinal in 0..3 {
        sim.world.complete_pod(&format!("my-{ordinal}-0"), &mut sim.etcd);
    }
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}

#[test]
fn all_nodes_down_and_up_again_changes_nothing() {
    let mut sim = Simulation::converged(&spec(3));
    sim.world.local_volumes = true;
    let list = sim.cluster().unwrap().members.clone();
    let nodes: Vec<String> = sim.world.nodes().keys().cloned().collect();
    for node in &nodes {
        sim.world.stop_node(node, &mut sim.etcd);
    }
    sim.run(100);
    for node in &nodes {
        sim.world.start_node(node);
    }
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}

#[test]
fn a_hung_member_is_restarted_then_replaced() {
    let mut sim = Simulation::converged(&spec(3));
    let before = sim.id("my-1");
    sim.etcd.hung.insert("my-1".to_owned());
    sim.until(|sim| sim.count("RestartMember") > 0);
    assert_eq!(sim.id("my-1"), before);
    sim.run(30);
    assert_eq!(sim.count("RestartMember"), 1, "once");
    sim.etcd.hung.clear();
    sim.converge();
}

/// A new member's volume would fill as well, and the data of the old one would be gone.
#[test]
fn a_member_whose_volume_is_full_is_waited_for_and_told_of() {
    let mut sim = Simulation::converged(&spec(3));
    let list = sim.cluster().unwrap().members.clone();
    let disk = sim.disk_of("my-1");
    sim.world.fill(&disk, true);
    sim.world.kill_container("my-1-0", &mut sim.etcd);
    sim.run(200);
    assert_eq!(sim.cluster().unwrap().members, list);
    let said = sim.resource.status.clone().unwrap_or_default().plan.unwrap_or_default().blocked;
    assert!(
        said.iter().any(|blocked| blocked.message.contains("volume is full: increase spec.storage.size")),
        "{said:?}"
    );
    sim.world.fill(&disk, false);
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}

/// After an outage of all, the last to come back is not replaced for having been away as long as the others.
#[test]
fn members_that_come_back_one_after_the_other_are_kept() {
    let mut sim = Simulation::converged(&spec(3));
    sim.world.local_volumes = true;
    let list = sim.cluster().unwrap().members.clone();
    let nodes: Vec<String> = (0..3).map(|n| sim.node_of(&format!("my-{n}"))).collect();
    for node in &nodes {
        sim.world.stop_node(node, &mut sim.etcd);
    }
    sim.run(100);
    for node in &nodes {
        sim.world.start_node(node);
        sim.run(5);
    }
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}

/// It was away longer than its deadline, and serves again in the very pass in which it could be replaced.
#[test]
fn what_serves_again_is_not_replaced_for_its_past() {
    let mut sim = Simulation::converged(&spec(3));
    let list = sim.cluster().unwrap().members.clone();
    sim.annotate("ballast.dev/paused", Some("true"));
    sim.etcd.hung.insert("my-1".to_owned());
    sim.run(60);
    sim.etcd.hung.clear();
    sim.etcd.tick(sim.world.now());
    sim.annotate("ballast.dev/paused", None);
    sim.converge();
    assert_eq!(sim.cluster().unwrap().members, list);
}
