//! `spec.rolling.isrHeadroom`: more replicas in sync than are needed, while a node restarts.

use rstest::rstest;
use serde_json::json;

use crate::{
    dedicated,
    model::Placed,
    simulation::{self, Simulation},
};

/// Five brokers with a topic of four replicas, of which one is behind, and a change.
fn one_behind(headroom: usize, replicas: &[i32]) -> Simulation {
    let mut sim = Simulation::converged(&dedicated(5));
    sim.kafka.only(replicas);
    sim.kafka.behind("t", 0, &[0]);
    let mut spec = dedicated(5);
    spec["rolling"] = json!({"isrHeadroom": headroom});
    spec["config"] = json!({"num.io.threads": "4"});
    sim.resource.spec = simulation::resource(&spec).spec;
    sim
}

fn stops(sim: &Simulation) -> Vec<&str> {
    sim.trace.iter().filter_map(|what| what.strip_prefix("stop my-broker-")).collect()
}

#[test]
fn without_it_a_restart_may_leave_what_is_needed() {
    let mut sim = one_behind(0, &[0, 1, 2, 3]);
    sim.converge();
    assert_eq!(stops(&sim), ["0", "1", "2", "3", "4"]);
}

#[test]
fn with_it_a_restart_waits_for_the_replica_that_is_behind_and_says_of_which_partition() {
    let mut sim = one_behind(1, &[0, 1, 2, 3]);
    sim.run_until_blocked("NoIsrHeadroom");
    // Stopping who is behind takes nothing from anybody.
    assert_eq!(stops(&sim), ["0"]);
    let status = sim.resource.status.clone().unwrap();
    let blocked = &status.plan.unwrap().blocked[0];
    assert!(blocked.message.contains("my-broker-1") && blocked.message.contains("of t-0"), "{blocked:?}");
    sim.kafka.behind("t", 0, &[]);
    sim.converge();
    assert_eq!(stops(&sim).len(), 5);
}

#[rstest]
#[case::one_is_behind(&[0], "NoIsrHeadroom")]
#[case::nobody_is_behind(&[], "")]
fn a_partition_that_cannot_have_so_many_keeps_all_its_others(#[case] behind: &[i32], #[case] reason: &str) {
    let mut sim = one_behind(7, &[0, 1, 2, 3]);
    sim.kafka.behind("t", 0, behind);
    if reason.is_empty() {
        sim.converge();
        assert_eq!(stops(&sim).len(), 5);
    } else {
        sim.run_until_blocked(reason);
        assert_eq!(stops(&sim), ["0"]);
    }
}

/// A copy that never ends must not make headroom out of reach: with it there would be four replicas, of which three stay.
#[test]
fn a_replica_that_is_only_being_copied_is_not_counted_on() {
    let mut sim = one_behind(1, &[0, 1, 2]);
    sim.kafka.behind("t", 0, &[]);
    sim.kafka.stalled = true;
    sim.kafka.reassign("t", 0, Some(&[0, 1, 4])).unwrap();
    for _ in 0..120 {
        let _ = sim.pass();
        sim.tick();
    }
    assert!(!sim.blocked.iter().any(|reason| reason == "NoIsrHeadroom"), "{}", sim.told());
}

#[test]
fn one_that_can_never_be_safe_is_named_and_holds_nothing_up() {
    let mut sim = one_behind(1, &[0, 1]);
    sim.kafka.behind("t", 0, &[]);
    sim.kafka.partitions.insert(("safe".to_owned(), 0), Placed::of(&[1, 2, 3], 10));
    sim.converge();
    assert_eq!(stops(&sim).len(), 5);
    let told = |node: &str| sim.trace.iter().find(|what| what.contains(&format!("giving my-broker-{node} ")));
    let named = |node: &str| told(node).unwrap().contains("t-0 have no more replicas than must be in sync");
    assert_eq!([named("0"), named("1"), named("2")], [true, true, false], "{}", sim.told());
}

#[test]
fn what_is_not_known_to_be_enough_is_not() {
    let mut sim = one_behind(1, &[0, 1, 2, 3]);
    sim.kafka.behind("t", 0, &[]);
    sim.kafka.min_isr = None;
    sim.run_until_blocked("PartitionsAtRisk");
    assert!(stops(&sim).is_empty());
}
