//! Volumes of brokers that leave: what becomes of them, and how full others may get.

use ballast_core::object::Kind;
use serde_json::json;

use crate::{
    crash_everywhere, dedicated,
    drain::{five, lower, nothing_is_left},
    simulation::{self, Simulation},
};

#[test]
fn volumes_of_removed_brokers_stay_and_are_not_used_again() {
    let mut sim = five();
    lower(&mut sim, 3);
    sim.converge();
    let claims = sim.world.names(Kind::PersistentVolumeClaim);
    assert_eq!(claims.len(), 8, "{claims:?}");
    lower(&mut sim, 5);
    sim.converge();
    assert_eq!(sim.world.names(Kind::PersistentVolumeClaim).len(), 10);
    lower(&mut sim, 3);
    sim.converge();
    nothing_is_left(&sim, &[0, 1, 2]);
}

#[test]
fn a_volume_that_comes_again_has_a_name_that_none_had() {
    let mut sim = five();
    let again = |sim: &mut Simulation| {
        lower(sim, 4);
        sim.converge();
        lower(sim, 5);
        sim.converge();
    };
    let claims = |sim: &Simulation| {
        let all = sim.world.names(Kind::PersistentVolumeClaim).into_iter();
        all.filter(|name| name.starts_with("data-my-broker-4-")).collect::<Vec<_>>()
    };
    let name = |attempt: u32| format!("data-my-broker-4-11111111-{attempt}");
    again(&mut sim);
    assert_eq!(claims(&sim), [name(0), name(1)]);
    sim.world.delete_by_hand(Kind::PersistentVolumeClaim, &name(0));
    sim.tick();
    again(&mut sim);
    assert_eq!(claims(&sim), [name(1), name(2)]);
}

#[test]
fn disks_are_not_filled_to_the_brim() {
    let mut sim = five();
    // All would fit, and not below 85 % of each.
    sim.kafka.totals = [0, 1, 2].map(|id| (id, 500)).into();
    lower(&mut sim, 3);
    sim.run_until_blocked("DrainBlocked");
    let on = |sim: &Simulation, id: i32| {
        let there = sim.kafka.partitions.values().filter(|placed| placed.replicas.contains(&id));
        there.map(|placed| placed.size).sum::<u64>()
    };
    assert!([0, 1, 2].iter().all(|id| on(&sim, *id) <= 425), "{:?}", sim.kafka.partitions);
    let status = sim.resource.status.clone().unwrap();
    assert!(!status.rebalance.unwrap().blocked.is_empty());
    sim.kafka.totals.clear();
    sim.converge();
    nothing_is_left(&sim, &[0, 1, 2]);
}

#[test]
fn volumes_go_with_their_brokers_where_that_is_wanted() {
    let mut sim = five();
    let mut spec = dedicated(3);
    spec["nodePools"][1]["storage"] = json!({"whenScaled": "Delete"});
    sim.resource.spec = simulation::resource(&spec).spec;
    sim = crash_everywhere(sim);
    nothing_is_left(&sim, &[0, 1, 2]);
    assert_eq!(sim.world.names(Kind::PersistentVolumeClaim).len(), 6);
}
