//! What people ask for with a KafkaRebalance, and what new brokers get by themselves.

use ballast_kafka_core::api::OnScaleUp;
use serde_json::{Value, json};

use crate::{
    crash_everywhere, dedicated,
    drain::{five, nothing_is_left},
    model::Placed,
    simulation::{self, Simulation},
};

fn passes(sim: &mut Simulation, number: usize) {
    for _ in 0..number {
        let _ = sim.pass();
        sim.tick();
    }
}

/// Bytes on each of these brokers.
fn bytes(sim: &Simulation, brokers: &[i32]) -> Vec<u64> {
    let on = |id: &i32| {
        let there = sim.kafka.partitions.values().filter(|placed| placed.replicas.contains(id));
        there.map(|placed| placed.size).sum()
    };
    brokers.iter().map(on).collect()
}

/// Four brokers with everything on the first three, and no share for new ones by itself.
fn lopsided() -> Simulation {
    let mut spec = dedicated(4);
    spec["rebalance"] = json!({"onScaleUp": "Nothing"});
    let mut sim = Simulation::converged(&spec);
    sim.kafka.partitions =
        (0..12).map(|index| (("t".to_owned(), index), Placed::of(&[0, 1, 2], 30))).collect();
    sim
}

#[test]
fn a_broker_that_is_to_be_empty_is_emptied_and_stays_until_the_rebalance_is_deleted() {
    let mut sim = five();
    sim.ask("maintenance", json!({"cluster": "my", "mode": "Drain", "nodeIds": [1]}));
    passes(&mut sim, 4);
    let status = sim.told_of("maintenance");
    assert_eq!((status.state.as_str(), status.plan.as_ref().map(|plan| plan.bytes)), ("Moving", Some(110)));
    sim = crash_everywhere(sim);
    let status = sim.told_of("maintenance");
    assert_eq!((status.state.as_str(), status.partitions_to_go), ("Completed", Some(0)), "{status:#?}");
    assert_eq!((sim.kafka.copies, sim.kafka.bytes), (3, 110));
    assert!(sim.kafka.cordoned.contains(&1) && !sim.kafka.holds(1));
    assert_eq!((sim.kafka.registered.len(), sim.kafka.rates), (5, (None, None)));
    assert_eq!(sim.resource.status.as_ref().unwrap().rebalance.as_ref().unwrap().brokers, [1]);
    // A topic that is made meanwhile, and a restart of everything, change nothing of it.
    let mut spec = dedicated(5);
    spec["config"] = json!({"num.io.threads": "4"});
    spec["rebalance"] = json!({"onScaleUp": "Nothing"});
    sim.resource.spec = simulation::resource(&spec).spec;
    sim.converge();
    assert!(sim.kafka.cordoned.contains(&1) && !sim.kafka.holds(1));
    sim.asked.clear();
    sim = crash_everywhere(sim);
    nothing_is_left(&sim, &[0, 1, 2, 3, 4]);
}

#[test]
fn a_drain_that_is_deleted_half_way_is_taken_back() {
    for after in [2, 4, 6, 8] {
        let mut sim = five();
        sim.resource.spec.rebalance.on_scale_up = OnScaleUp::Nothing;
        sim.ask("maintenance", json!({"cluster": "my", "mode": "Drain", "nodeIds": [3, 4]}));
        passes(&mut sim, after);
        let copies = sim.kafka.copies;
        sim.asked.clear();
        sim.kafka.stalled = true;
        sim = crash_everywhere(sim);
        assert_eq!(sim.kafka.copies, copies);
        assert!(sim.kafka.partitions.values().all(|placed| placed.adding.is_empty()));
        nothing_is_left(&sim, &[0, 1, 2, 3, 4]);
    }
}

#[test]
fn brokers_that_leave_and_brokers_that_are_to_be_empty_go_together() {
    let mut sim = five();
    sim.ask("maintenance", json!({"cluster": "my", "mode": "Drain", "nodeIds": [1]}));
    sim.resource.spec = simulation::resource(&dedicated(4)).spec;
    sim = crash_everywhere(sim);
    assert!(!sim.kafka.registered.contains_key(&4) && !sim.kafka.holds(1) && sim.kafka.cordoned.contains(&1));
    assert_eq!(sim.told_of("maintenance").state, "Completed");
    assert_eq!(sim.kafka.copies, 3 + 4, "each replica is copied once");
}

#[test]
fn a_dry_run_says_what_it_would_cost_and_moves_nothing() {
    let mut sim = five();
    sim.ask("look", json!({"cluster": "my", "mode": "Drain", "nodeIds": [3, 4], "dryRun": true}));
    passes(&mut sim, 10);
    let status = sim.told_of("look");
    let plan = status.plan.unwrap();
    assert_eq!(
        (status.state.as_str(), plan.bytes, plan.lower_bound_bytes, plan.replicas),
        ("Planned", 800, 800, 7)
    );
    assert_eq!((sim.kafka.copies, sim.kafka.cordoned.len()), (0, 0));
    assert_eq!(sim.resource.status.unwrap().rebalance, None);
}

#[test]
fn a_dry_run_for_all_brokers_moves_nothing_either() {
    let mut sim = lopsided();
    sim.ask("look", json!({"cluster": "my", "mode": "Full", "dryRun": true}));
    for _ in 0..10 {
        passes(&mut sim, 1);
        let status = sim.told_of("look");
        assert_eq!(status.state, "Planned");
        assert!(status.plan.unwrap().partitions > 0);
        assert_eq!((sim.kafka.copies, sim.resource.status.as_ref().unwrap().rebalance.as_ref()), (0, None));
        // What was told of it could not be written.
        sim.asked[0].status = Value::Null;
    }
}

#[test]
fn what_cannot_be_done_is_refused_or_blocked_and_named() {
    let mut sim = Simulation::converged(&dedicated(3));
    sim.ask("wrong", json!({"cluster": "my", "mode": "Drain", "nodeIds": [7]}));
    sim.ask("too-much", json!({"cluster": "my", "mode": "Drain", "nodeIds": [2]}));
    passes(&mut sim, 10);
    let wrong = sim.told_of("wrong");
    assert_eq!(wrong.state, "Refused");
    assert!(wrong.conditions[0].message.contains("no broker 7"), "{wrong:#?}");
    let blocked = sim.told_of("too-much");
    assert_eq!(blocked.state, "Blocked");
    assert!(blocked.conditions[1].message.contains("t has 3 replicas"), "{blocked:#?}");
    assert_eq!((sim.kafka.copies, sim.kafka.cordoned.len()), (0, 0));
}

#[test]
fn all_brokers_get_their_share_when_somebody_asks_for_it() {
    let mut sim = lopsided();
    passes(&mut sim, 10);
    assert_eq!(sim.kafka.copies, 0, "nobody has asked");
    sim.ask("even", json!({"cluster": "my", "mode": "Full"}));
    sim.ask("later", json!({"cluster": "my", "mode": "Full"}));
    passes(&mut sim, 3);
    assert_eq!(
        (sim.told_of("even").state.as_str(), sim.told_of("later").state.as_str()),
        ("Moving", "Pending")
    );
    sim = crash_everywhere(sim);
    assert_eq!(
        (sim.told_of("even").state.as_str(), sim.told_of("later").state.as_str()),
        ("Completed", "Completed")
    );
    let bytes = bytes(&sim, &[0, 1, 2, 3]);
    assert!(bytes.iter().all(|bytes| (240..=300).contains(bytes)), "{bytes:?}");
    assert!((8..=10).contains(&sim.kafka.copies), "{} copies", sim.kafka.copies);
    nothing_is_left(&sim, &[0, 1, 2, 3]);
    let plan = sim.told_of("even").plan.unwrap();
    assert_eq!(
        plan.evenness.iter().find(|it| it.resource == "Disk").map(|it| it.before),
        Some(133),
        "{plan:?}"
    );
    // What is done stays done, whatever happens then.
    sim.kafka.partitions.insert(("late".to_owned(), 0), Placed::of(&[0, 1, 2], 500));
    let copies = sim.kafka.copies;
    passes(&mut sim, 10);
    assert_eq!(sim.kafka.copies, copies);
}

#[test]
fn who_asks_for_it_gets_what_can_be_better_however_little_that_is() {
    let mut sim = lopsided();
    // A fifth more than the others on the first, a fifth less on the last.
    let on = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3];
    let placed = (0..).zip(on).map(|(index, id)| (("t".to_owned(), index), Placed::of(&[id], 20)));
    sim.kafka.partitions = placed.collect();
    sim.ask("even", json!({"cluster": "my", "mode": "Full"}));
    sim.converge();
    assert_eq!((sim.told_of("even").state.as_str(), sim.kafka.copies), ("Completed", 1));
    assert_eq!(bytes(&sim, &[0, 1, 2, 3]), [100; 4]);
}

#[test]
fn a_rebalance_waits_while_replicas_are_behind() {
    let mut sim = lopsided();
    sim.kafka.silent = vec![2];
    sim.ask("even", json!({"cluster": "my", "mode": "Full"}));
    passes(&mut sim, 20);
    assert_eq!(sim.kafka.copies, 0);
    sim.kafka.silent.clear();
    sim.converge();
    assert_eq!(sim.told_of("even").state, "Completed");
}

#[test]
fn a_rebalance_waits_for_one_replica_that_is_behind_on_a_broker_that_serves() {
    let mut sim = lopsided();
    sim.kafka.behind("t", 0, &[2]);
    sim.ask("even", json!({"cluster": "my", "mode": "Full"}));
    sim.run_until_blocked("ReplicasBehind");
    assert_eq!(sim.kafka.copies, 0);
    sim.kafka.behind("t", 0, &[]);
    sim.converge();
    assert_eq!(sim.told_of("even").state, "Completed");
}

#[test]
fn new_brokers_get_their_share_once() {
    let mut sim = Simulation::converged(&dedicated(3));
    sim.kafka.partitions =
        (0..12).map(|index| (("t".to_owned(), index), Placed::of(&[0, 1, 2], 30))).collect();
    sim.resource.spec = simulation::resource(&dedicated(4)).spec;
    sim = crash_everywhere(sim);
    assert_eq!((sim.kafka.copies, sim.kafka.bytes), (9, 270), "its share, and no more");
    nothing_is_left(&sim, &[0, 1, 2, 3]);
    let spread = sim.trace.iter().find(|line| line.contains("giving broker 3 a share"));
    assert!(spread.is_some() || sim.trace.len() > 40, "{}", sim.told());
}

#[test]
fn a_broker_that_comes_while_another_gets_its_share_gets_its_own() {
    let mut sim = Simulation::converged(&dedicated(3));
    sim.kafka.partitions =
        (0..12).map(|index| (("t".to_owned(), index), Placed::of(&[0, 1, 2], 30))).collect();
    sim.kafka.stalled = true;
    sim.resource.spec = simulation::resource(&dedicated(4)).spec;
    passes(&mut sim, 40);
    assert!(sim.kafka.holds(3), "{}", sim.told());
    sim.resource.spec = simulation::resource(&dedicated(5)).spec;
    passes(&mut sim, 40);
    assert_eq!(sim.resource.status.as_ref().unwrap().rebalance.as_ref().unwrap().brokers, [3, 4]);
    sim.kafka.stalled = false;
    sim.converge();
    assert!(sim.kafka.holds(3) && sim.kafka.holds(4));
    nothing_is_left(&sim, &[0, 1, 2, 3, 4]);
}

#[test]
fn a_cluster_with_too_little_to_share_is_quiet() {
    let mut sim = Simulation::converged(&dedicated(5));
    sim.converge();
    assert_eq!((sim.kafka.copies, sim.resource.status.unwrap().rebalance), (0, None));
}
