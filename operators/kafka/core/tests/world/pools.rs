//! Pools that come and go, and ids that a pool gives up.

use ballast_core::object::Kind;
use ballast_kafka_core::build::{self, Place};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    combined, crash_everywhere, dedicated,
    drain::{five, nothing_is_left},
    model::Placed,
    simulation::{self, Simulation},
};

fn edit(sim: &mut Simulation, spec: &Value) {
    sim.resource.spec = simulation::resource(spec).spec;
}

/// Controllers, and these pools of brokers: name, first id, number.
fn with_pools(pools: &[(&str, i32, i32)]) -> Value {
    let brokers = pools.iter().map(|(name, start, replicas)| {
        json!({"name": name, "roles": ["Broker"], "replicas": replicas, "nodeIds": {"start": start}})
    });
    let controllers =
        json!({"name": "controller", "roles": ["Controller"], "replicas": 3, "nodeIds": {"start": 100}});
    let pools: Vec<Value> = [controllers].into_iter().chain(brokers).collect();
    json!({"version": "4.4.0", "nodePools": pools})
}

fn registered(sim: &Simulation) -> Vec<i32> {
    sim.kafka.registered.keys().copied().collect()
}

#[test]
fn a_pool_that_is_taken_out_of_the_specification_is_emptied_and_removed() {
    let mut sim = five();
    edit(&mut sim, &with_pools(&[("other", 200, 3)]));
    sim = crash_everywhere(sim);
    assert_eq!(registered(&sim), [200, 201, 202]);
    nothing_is_left(&sim, &[200, 201, 202]);
    assert_eq!(sim.kafka.copies, 16, "each replica is copied once");
    assert!(!sim.intents.iter().any(|intent| intent == "UpdateNode"), "{:?}", sim.intents);
    let configs = sim.world.names(Kind::ConfigMap);
    assert!(!configs.iter().any(|name| name.contains("my-broker-")), "{configs:?}");
}

#[rstest]
fn a_pool_that_comes_back_is_taken_back_whatever_is_left_of_it(
    #[values(2, 6, 10, 15, 20, 25, 30, 40, 60)] passes: u32,
    #[values(false, true)] changed: bool,
) {
    let mut sim = five();
    edit(&mut sim, &with_pools(&[("other", 200, 3)]));
    for _ in 0..passes {
        let _ = sim.pass();
        sim.tick();
    }
    let mut spec = dedicated(5);
    spec["rebalance"] = json!({"onScaleUp": "Nothing"});
    if changed {
        spec["config"] = json!({"num.io.threads": "4"});
    }
    edit(&mut sim, &spec);
    sim.converge();
    nothing_is_left(&sim, &[0, 1, 2, 3, 4]);
}

#[test]
fn combined_nodes_become_dedicated_ones_by_another_pool_of_each_kind() {
    let mut sim = Simulation::converged(&combined(3));
    let pool = |name: &str, role: &str, start: i32| json!({"name": name, "roles": [role], "replicas": 3, "nodeIds": {"start": start}});
    let pools = json!([pool("controller", "Controller", 100), pool("broker", "Broker", 200)]);
    edit(&mut sim, &json!({"version": "4.4.0", "zones": ["a", "b", "c"], "nodePools": pools}));
    sim = crash_everywhere(sim);
    assert_eq!(registered(&sim), [200, 201, 202]);
    assert_eq!(sim.kafka.voters.keys().copied().collect::<Vec<_>>(), [100, 101, 102]);
    assert_eq!(sim.kafka.begun.len(), 1);
}

#[test]
fn a_departing_broker_on_which_a_topic_is_made_after_its_stop_comes_back_to_be_emptied() {
    let mut sim = five();
    sim.kafka.level = 27;
    let mut spec = with_pools(&[("other", 200, 3)]);
    spec["metadataVersion"] = json!("4.1");
    edit(&mut sim, &spec);
    for _ in 0..400 {
        let _ = sim.pass();
        if sim.intents.last().is_some_and(|intent| intent == "StopNode") {
            break;
        }
        sim.tick();
    }
    let stopped = sim.trace.iter().rev().find_map(|line| line.strip_prefix("park my-broker-")).unwrap();
    let stopped: i32 = stopped.parse().unwrap();
    sim.kafka.partitions.insert(("late".to_owned(), 0), Placed::of(&[stopped], 10));
    sim.converge();
    nothing_is_left(&sim, &[200, 201, 202]);
}

#[rstest]
#[case::the_same_ids(&[("other", 0, 3)])]
#[case::the_same_name(&[("broker", 300, 3)])]
fn a_pool_that_takes_the_name_or_the_ids_of_another_is_refused_until_that_is_back(
    #[case] pools: &[(&str, i32, i32)],
) {
    let mut sim = Simulation::converged(&dedicated(3));
    edit(&mut sim, &with_pools(pools));
    sim.run_until_blocked("PoolReplaced");
    assert_eq!((sim.kafka.running.len(), sim.kafka.copies), (6, 0));
    assert_eq!(sim.departing(), Vec::<String>::new(), "nobody could tell which is which");
    edit(&mut sim, &dedicated(3));
    sim.converge();
}

#[test]
fn of_two_pools_of_one_name_that_are_gone_neither_is_touched() {
    let mut sim = five();
    let mut other = sim.clone();
    edit(&mut other, &with_pools(&[("broker", 300, 3)]));
    let (desired, claim) = (other.desired(), "data-my-broker-300-11111111-0".to_owned());
    let left = build::claim(&desired, desired.pool("broker").unwrap(), &Place { id: 300, claim, zone: None });
    sim.world.create(&left.into()).unwrap();
    edit(&mut sim, &with_pools(&[("other", 200, 3)]));
    sim.run_until_blocked("PoolReplaced");
    assert_eq!((sim.departing(), sim.kafka.copies), (vec![], 0));
}

#[test]
fn the_format_is_not_raised_before_departing_nodes_of_the_old_version_are_gone() {
    let mut old = dedicated(3);
    old["version"] = json!("4.3.1");
    let mut sim = Simulation::converged(&old);
    // There is no room for three replicas on two brokers: the old pool stays.
    edit(&mut sim, &with_pools(&[("other", 200, 2)]));
    for _ in 0..300 {
        let _ = sim.pass();
        sim.tick();
    }
    assert_eq!(sim.kafka.level, 30, "{:?}", sim.blocked);
    assert!(sim.blocked.iter().any(|reason| reason == "DrainInfeasible"), "{:?}", sim.blocked);
    edit(&mut sim, &with_pools(&[("other", 200, 3)]));
    sim.converge();
    assert_eq!((sim.kafka.level, registered(&sim)), (33, vec![200, 201, 202]));
}

#[test]
fn a_broker_in_the_middle_leaves_alone() {
    let mut sim = five();
    let mut spec = dedicated(4);
    spec["nodePools"][1]["nodeIds"] = json!({"start": 0, "without": [1]});
    edit(&mut sim, &spec);
    sim = crash_everywhere(sim);
    nothing_is_left(&sim, &[0, 2, 3, 4]);
    assert_eq!((sim.kafka.copies, sim.kafka.bytes), (3, 60 + 20 + 30));
}

#[test]
fn another_broker_takes_the_place_of_one_whose_id_is_given_up() {
    let mut sim = five();
    let mut spec = dedicated(5);
    spec["nodePools"][1]["nodeIds"] = json!({"start": 0, "without": [0, 3]});
    edit(&mut sim, &spec);
    sim = crash_everywhere(sim);
    nothing_is_left(&sim, &[1, 2, 4, 5, 6]);
}

#[test]
fn the_first_controller_can_leave() {
    let mut sim = Simulation::converged(&combined(3));
    let mut spec = combined(3);
    spec["nodePools"][0]["nodeIds"] = json!({"start": 0, "without": [0]});
    edit(&mut sim, &spec);
    sim = crash_everywhere(sim);
    assert_eq!(sim.kafka.voters.keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((registered(&sim), sim.kafka.begun.len()), (vec![1, 2, 3], 1));
}
