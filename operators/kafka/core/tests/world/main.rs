//! The operator's decisions in a simulated world: creation, growth, changes that go from node to node, and what must not be.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod canary;
mod drain;
mod headroom;
mod hot;
mod lost;
mod model;
mod pools;
mod rebalance;
mod simulation;
mod stalled;
mod upgrade;
mod volumes;

use rstest::rstest;
use serde_json::{Value, json};
use simulation::Simulation;

/// Nodes that are controllers and brokers.
fn combined(replicas: i32) -> Value {
    json!({
        "version": "4.4.0",
        "zones": ["a", "b", "c"],
        "nodePools": [{"name": "node", "roles": ["Controller", "Broker"], "replicas": replicas}],
    })
}

/// Controllers and brokers on nodes of their own.
fn dedicated(brokers: i32) -> Value {
    json!({
        "version": "4.4.0",
        "nodePools": [
            {"name": "controller", "roles": ["Controller"], "replicas": 3, "nodeIds": {"start": 100}},
            {"name": "broker", "roles": ["Broker"], "replicas": brokers, "nodeIds": {"start": 0}},
        ],
    })
}

/// Brings it to its end; on the way, at every write, another one dies before it, and every intent is refused to another one: they must
/// come to the same end.
fn crash_everywhere(mut sim: Simulation) -> Simulation {
    for _ in 0..300 {
        let fork = sim.clone();
        let before = sim.writes;
        let quiet = sim.pass() == Ok(true);
        if sim.intents.len() > fork.intents.len() {
            let mut fork = fork.clone();
            fork.refuse = true;
            let _ = fork.pass();
            fork.tick();
            fork.converge();
        }
        for write in 0..sim.writes - before {
            let mut fork = fork.clone();
            fork.crash_after = Some(write);
            assert!(fork.pass().is_err(), "it does not die before write {write}");
            fork.tick();
            fork.converge();
        }
        sim.tick();
        if quiet && sim.is_ready() {
            return sim;
        }
    }
    panic!("not converged: {:?}", sim.blocked)
}

#[rstest]
#[case(combined(1))]
#[case(combined(3))]
#[case(combined(5))]
#[case(dedicated(3))]
fn it_is_made_whenever_the_operator_dies(#[case] spec: Value) {
    let sim = crash_everywhere(Simulation::new(&spec));
    assert_eq!(sim.kafka.begun.len(), 1);
    assert_eq!(sim.kafka.voters.len(), sim.desired().controllers());
    let tickets = sim.world.names(ballast_core::object::Kind::ConfigMap);
    assert!(!tickets.iter().any(|name| name.ends_with("-ticket")), "{tickets:?}");
}

#[test]
fn every_zone_gets_a_node() {
    let sim = Simulation::converged(&combined(3));
    let mut zones: Vec<String> =
        sim.resource.status.unwrap().nodes.into_iter().filter_map(|node| node.zone).collect();
    zones.sort();
    assert_eq!(zones, ["a", "b", "c"]);
}

#[test]
fn clients_come_only_after_the_start_is_recorded() {
    let mut sim = Simulation::new(&combined(3));
    for _ in 0..100 {
        let recorded = sim.trace.iter().filter(|what| *what == "record").count() == 2;
        let service = sim.world.live(ballast_core::object::Kind::Service, "my-client").is_some();
        assert!(recorded || !service, "{}", sim.told());
        let _ = sim.pass();
        sim.tick();
    }
    assert!(sim.is_ready());
}

#[test]
fn more_brokers_join_without_a_restart_of_the_others() {
    let mut sim = Simulation::converged(&dedicated(3));
    sim.resource = simulation::resource(&dedicated(5));
    sim = crash_everywhere(sim);
    assert_eq!(sim.kafka.registered.len(), 5);
    assert!(!sim.intents.iter().any(|intent| intent == "UpdateNode"), "{:?}", sim.intents);
}

#[rstest]
#[case(combined(3))]
#[case(dedicated(3))]
fn a_change_goes_from_node_to_node_and_keeps_enough_in_sync(#[case] spec: Value) {
    let mut sim = Simulation::converged(&spec);
    let mut changed = spec;
    changed["config"] = json!({"log.retention.hours": "72"});
    sim.resource.spec = simulation::resource(&changed).spec;
    sim = crash_everywhere(sim);
    let nodes = sim.desired().nodes().count();
    assert!(sim.intents.iter().filter(|intent| *intent == "UpdateNode").count() >= nodes);
}

#[test]
fn the_active_controller_is_restarted_last() {
    let mut sim = Simulation::converged(&combined(3));
    let mut changed = combined(3);
    changed["config"] = json!({"num.io.threads": "4"});
    sim.resource.spec = simulation::resource(&changed).spec;
    sim.converge();
    let stops: Vec<&String> = sim.trace.iter().filter(|what| what.starts_with("stop ")).collect();
    // In the model the lowest id that runs leads.
    assert_eq!(stops, ["stop my-node-1", "stop my-node-2", "stop my-node-0"]);
}

#[test]
fn nothing_is_restarted_while_a_partition_needs_all_that_are_in_sync() {
    let mut sim = Simulation::converged(&combined(3));
    sim.kafka.only(&[0, 1, 77]);
    let mut changed = combined(3);
    changed["config"] = json!({"num.io.threads": "4"});
    sim.resource.spec = simulation::resource(&changed).spec;
    // Node 2 has no replica and may go; the others have to stay.
    sim.run_until_blocked("PartitionsAtRisk");
    let stops: Vec<&String> = sim.trace.iter().filter(|what| what.starts_with("stop ")).collect();
    assert!(stops.is_empty() || stops == ["stop my-node-2"], "{stops:?}");
    sim.kafka.only(&[0, 1, 2]);
    sim.converge();
}

#[test]
fn a_bad_change_stops_at_the_first_node_and_reverting_it_recovers() {
    let mut spec = combined(3);
    spec["version"] = json!("4.3.1");
    let mut sim = Simulation::converged(&spec);
    sim.world.break_image("docker.io/apache/kafka:4.4.0", true);
    sim.resource.spec.version = "4.4.0".to_owned();
    sim.run_until_blocked("NodeNotServing");
    assert_eq!(sim.intents.iter().filter(|intent| *intent == "UpdateNode").count(), 1);
    sim.resource.spec.version = "4.3.1".to_owned();
    sim.converge();
    assert_eq!(sim.kafka.level, 30);
}

#[test]
fn a_new_node_that_never_follows_the_quorum_is_restarted_after_a_while() {
    let mut sim = Simulation::new(&combined(3));
    sim.kafka.stuck_next = [1].into();
    sim.converge();
    let restarts = sim.trace.iter().filter(|line| line.contains("has not followed the quorum")).count();
    assert_eq!((restarts, sim.kafka.voters.len()), (1, 3), "{}", sim.told());
    // Long before, it might just be slow.
    let mut slow = Simulation::new(&combined(3));
    slow.kafka.stuck_next = [1].into();
    for _ in 0..40 {
        let _ = slow.pass();
        slow.tick();
    }
    assert!(!slow.intents.iter().any(|intent| intent == "RestartNode"), "{}", slow.told());
}

#[test]
fn volumes_of_an_earlier_cluster_are_not_touched() {
    let mut sim = Simulation::converged(&combined(3));
    let begun = sim.kafka.begun.clone();
    sim.world.collect_owned_by("11111111-2222-4333-8444-555555555555");
    for _ in 0..10 {
        sim.tick();
    }
    sim.resource.metadata.uid = Some("99999999-2222-4333-8444-555555555555".to_owned());
    sim.resource.status = None;
    sim.run_until_blocked("RetainedVolumes");
    assert_eq!(sim.kafka.begun, begun);
}

#[test]
fn without_its_record_nothing_is_bootstrapped() {
    let mut sim = Simulation::converged(&combined(3));
    let record = ballast_core::bootstrap::name("my", "11111111-2222-4333-8444-555555555555");
    sim.world.delete_by_hand(ballast_core::object::Kind::ConfigMap, &record);
    sim.run_until_blocked("BootstrapRecordMissing");
}

#[test]
fn a_second_voter_change_waits_for_the_quorum() {
    let mut sim = Simulation::new(&combined(3));
    while sim.kafka.voters.len() < 2 {
        let _ = sim.pass();
        sim.tick();
    }
    sim.kafka.silent = vec![0];
    for _ in 0..20 {
        let _ = sim.pass();
        sim.tick();
    }
    assert_eq!(sim.kafka.voters.len(), 2);
    sim.kafka.silent.clear();
    sim.converge();
}

#[test]
fn no_vote_is_given_while_voters_do_not_follow() {
    let mut sim = Simulation::new(&combined(3));
    while sim.kafka.voters.len() < 2 {
        let _ = sim.pass();
        sim.tick();
    }
    sim.kafka.lagging = vec![1];
    sim.run_until_blocked("QuorumAtRisk");
    assert_eq!(sim.kafka.voters.len(), 2);
    sim.kafka.lagging.clear();
    sim.converge();
}

#[test]
fn no_controller_is_restarted_while_another_does_not_follow() {
    let mut sim = Simulation::converged(&combined(3));
    sim.kafka.lagging = vec![1];
    let mut changed = combined(3);
    changed["config"] = json!({"num.io.threads": "4"});
    sim.resource.spec = simulation::resource(&changed).spec;
    sim.run_until_blocked("QuorumAtRisk");
    let stops: Vec<&String> = sim.trace.iter().filter(|what| what.starts_with("stop ")).collect();
    assert_eq!(stops, ["stop my-node-1"], "only the one that does not count anyway");
    sim.kafka.lagging.clear();
    sim.converge();
}
