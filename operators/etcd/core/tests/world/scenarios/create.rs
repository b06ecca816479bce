//! From nothing to a healthy cluster, and other sizes.

use std::collections::BTreeMap;

use ballast_core::object::Kind;
use rstest::rstest;
use serde_json::json;

use crate::simulation::{Pass, Simulation, crash_everywhere, spec};

#[rstest]
fn a_cluster_is_made(#[values(1, 2, 3, 5, 7)] replicas: i32, #[values(true, false)] eager: bool) {
    let mut sim = Simulation::new(&spec(replicas));
    sim.eager = eager;
    sim.converge();
    assert!(sim.cluster().unwrap().acknowledged > 0, "clients write");
}

#[test]
fn members_are_spread_over_zones() {
    let mut spec = spec(5);
    spec["zones"] = json!(["a", "b", "c"]);
    let mut sim = Simulation::new(&spec);
    sim.converge();
    let mut zones: BTreeMap<&str, usize> = BTreeMap::new();
    for process in sim.world.processes().values() {
        let disk = &sim.world.disks()[&process.disk];
        let node = disk.node.as_ref().unwrap();
        *zones.entry(sim.world.nodes()[node].zone.as_str()).or_default() += 1;
    }
    assert_eq!(zones.into_values().collect::<Vec<_>>(), [2, 2, 1]);
}

#[test]
fn sizes_change_by_single_edits() {
    let mut sim = Simulation::new(&spec(1));
    sim.converge();
    for replicas in [7, 3, 5, 1, 3] {
        sim.edit(&json!({"replicas": replicas}));
        sim.converge();
    }
}

/// What it has agreed to it knows as soon as it answers again.
#[test]
fn the_only_voter_restarts_while_a_learner_is_added() {
    for calm in 0..6 {
        let mut sim = Simulation::new(&spec(1));
        sim.eager = false;
        sim.run(calm);
        sim.edit(&json!({"replicas": 2}));
        for _ in 0..12 {
            sim.world.delete_pod_by_hand("my-0-0");
            sim.pass();
            sim.tick();
        }
        sim.converge();
    }
}

#[test]
fn nothing_is_written_once_converged() {
    let mut sim = Simulation::new(&spec(3));
    sim.converge();
    let (writes, status) = (sim.writes, sim.resource.status.clone());
    for _ in 0..5 {
        assert_eq!(sim.pass(), Pass::Quiet);
        sim.tick();
    }
    assert_eq!(sim.writes, writes);
    assert_eq!(sim.resource.status, status, "the status does not change by itself");
}

#[test]
fn clients_come_only_after_the_start_was_recorded() {
    let mut sim = Simulation::new(&spec(3));
    while sim.cluster().is_none() {
        sim.pass();
        sim.tick();
        assert!(sim.world.live(Kind::Service, "my-client").is_none());
    }
    sim.converge();
    assert!(sim.world.live(Kind::Service, "my-client").is_some());
}

/// The operator dies before every write there is, one after the other, and goes on afterwards.
#[rstest]
fn a_crash_before_any_write_is_harmless(#[values(true, false)] eager: bool) {
    let mut sim = Simulation::new(&spec(2));
    sim.eager = eager;
    crash_everywhere(sim.clone());
    sim.converge();
    sim.edit(&json!({"replicas": 1}));
    crash_everywhere(sim);
}
