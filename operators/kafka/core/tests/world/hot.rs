//! Brokers that have more traffic than others.

use ballast_kafka_core::api::{HotMode, Purpose};
use serde_json::{Value, json};

use crate::{
    crash_everywhere, dedicated,
    drain::nothing_is_left,
    model::Placed,
    simulation::{self, Simulation},
};

fn passes(sim: &mut Simulation, number: usize) {
    for _ in 0..number {
        let _ = sim.pass();
        sim.tick();
    }
}

fn of_brokers(number: i32, hot: &Value) -> Value {
    let mut spec = dedicated(number);
    spec["rebalance"] = json!({"hotPartitions": hot, "onScaleUp": "Nothing"});
    spec
}

/// Three brokers, of which the first leads everything; what is written to each partition.
fn skewed(hot: &Value, rates: &[f64]) -> Simulation {
    let mut sim = Simulation::converged(&of_brokers(3, hot));
    let names = (0..).zip(rates).map(|(index, rate)| (("t".to_owned(), index), *rate));
    sim.kafka.rates_in = Some(names.clone().collect());
    sim.kafka.partitions = names.map(|(name, _)| (name, Placed::of(&[0], 60))).collect();
    sim
}

/// What comes in at each broker.
fn traffic(sim: &Simulation) -> Vec<f64> {
    let rates = sim.kafka.rates_in.as_ref().unwrap();
    let on = |id: i32| sim.kafka.partitions.iter().filter(move |(_, placed)| placed.replicas.contains(&id));
    (0..3).map(|id| on(id).map(|(name, _)| rates[name]).sum()).collect()
}

#[test]
fn hot_brokers_are_told_of_and_nothing_is_moved_unless_that_is_wanted() {
    let mut sim = skewed(&json!({"mode": "Report"}), &[100.0; 6]);
    passes(&mut sim, 10);
    let status = sim.resource.status.clone().unwrap();
    let hot = status.hot_partitions.unwrap();
    assert!(hot.brokers[0].contains("broker 0 has 3.0 times"), "{hot:?}");
    assert!(hot.moves >= 3 && hot.bytes >= 180, "{hot:?}");
    assert_eq!((sim.kafka.copies, status.rebalance), (0, None));
    let mut off = skewed(&json!({}), &[100.0; 6]);
    passes(&mut off, 10);
    assert_eq!(off.resource.status.unwrap().hot_partitions, None);
}

#[test]
fn hot_brokers_are_relieved_and_then_all_is_quiet() {
    let mut sim = skewed(&json!({"mode": "Auto"}), &[100.0; 6]);
    passes(&mut sim, 2);
    let status = sim.resource.status.clone().unwrap();
    assert_eq!(status.rebalance.map(|it| it.purpose), Some(Purpose::HotPartitions));
    sim = crash_everywhere(sim);
    assert_eq!((traffic(&sim), sim.kafka.copies), (vec![200.0; 3], 4), "no more is copied than has to be");
    nothing_is_left(&sim, &[0, 1, 2]);
    assert_eq!(sim.resource.status.as_ref().unwrap().hot_partitions, None);
    let copies = sim.kafka.copies;
    passes(&mut sim, 20);
    assert_eq!(sim.kafka.copies, copies);
}

#[test]
fn rates_that_change_a_little_move_nothing_to_and_fro() {
    let mut sim = skewed(&json!({"mode": "Auto"}), &[100.0; 6]);
    let mut noise = 1_u32;
    for look in 0..400 {
        // What is measured over a minute is the same for some looks: long enough for a rebalance to begin.
        for rate in sim.kafka.rates_in.as_mut().unwrap().values_mut().filter(|_| look % 5 == 0) {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *rate = 85.0 + f64::from(noise >> 28) * 2.0;
        }
        let _ = sim.pass();
        sim.tick();
    }
    assert_eq!(sim.kafka.copies, 4);
}

#[test]
fn what_would_copy_too_much_is_only_told() {
    let mut sim = skewed(&json!({"mode": "Auto", "maxBytes": "100"}), &[100.0; 6]);
    passes(&mut sim, 10);
    assert_eq!(sim.kafka.copies, 0);
    assert!(sim.resource.status.unwrap().hot_partitions.unwrap().bytes > 100);
}

#[test]
fn a_partition_that_is_too_much_for_any_broker_is_told_with_what_its_topic_needs() {
    let mut sim = skewed(&json!({"mode": "Auto"}), &[1000.0, 10.0, 10.0]);
    sim = crash_everywhere(sim);
    let hot = sim.resource.status.as_ref().unwrap().hot_partitions.clone().unwrap();
    assert!(hot.partitions[0].contains("t-0"), "{hot:?}");
    assert!(sim.kafka.partitions[&("t".to_owned(), 0)].replicas == [0], "it is not sent around");
    let copies = sim.kafka.copies;
    passes(&mut sim, 20);
    assert_eq!(sim.kafka.copies, copies);
}

#[test]
fn what_somebody_asks_for_waits_until_traffic_is_known() {
    let mut sim = skewed(&json!({}), &[100.0; 6]);
    let rates = sim.kafka.rates_in.take();
    sim.ask("relief", json!({"cluster": "my", "mode": "HotPartitions"}));
    passes(&mut sim, 5);
    assert_eq!(sim.told_of("relief").state, "Pending");
    sim.kafka.rates_in = rates;
    passes(&mut sim, 3);
    assert_eq!(sim.told_of("relief").state, "Moving");
    sim = crash_everywhere(sim);
    let status = sim.told_of("relief");
    assert_eq!((status.state.as_str(), status.plan.unwrap().bytes), ("Completed", 240));
    assert_eq!(traffic(&sim), vec![200.0; 3]);
}

#[test]
fn relief_waits_until_a_change_is_everywhere() {
    let mut sim = skewed(&json!({"mode": "Auto"}), &[100.0; 6]);
    let mut spec = of_brokers(3, &json!({"mode": "Auto"}));
    spec["config"] = json!({"num.io.threads": "4"});
    sim.resource.spec = simulation::resource(&spec).spec;
    let updates = |sim: &Simulation| sim.intents.iter().filter(|intent| *intent == "UpdateNode").count();
    for _ in 0..100 {
        passes(&mut sim, 1);
        assert!(sim.kafka.copies == 0 || updates(&sim) == 6, "{}", sim.told());
    }
    assert_eq!((updates(&sim), traffic(&sim)), (6, vec![200.0; 3]));
}

#[test]
fn relief_waits_while_a_broker_is_emptied() {
    let hot = json!({"mode": "Auto"});
    let mut sim = skewed(&hot, &[100.0; 6]);
    sim.resource.spec.rebalance.hot_partitions.mode = HotMode::Disabled;
    sim.resource.spec.node_pools[1].replicas = 4;
    sim.converge();
    let last = ("last".to_owned(), 0);
    sim.kafka.partitions.insert(last.clone(), Placed::of(&[3], 6));
    sim.kafka.rates_in.as_mut().unwrap().insert(last.clone(), 1.0);
    sim.resource.spec = simulation::resource(&of_brokers(3, &hot)).spec;
    for look in 0..200 {
        sim.kafka.stalled = look < 20;
        passes(&mut sim, 1);
        let moved = |(name, placed): (&(String, i32), &Placed)| *name != last && placed.replicas != [0];
        let emptied = !sim.kafka.registered.contains_key(&3);
        assert!(emptied || !sim.kafka.partitions.iter().any(moved), "{}", sim.told());
    }
    assert!(!sim.kafka.registered.contains_key(&3), "{}", sim.told());
    sim.converge();
    assert!(traffic(&sim).iter().all(|traffic| *traffic < 250.0), "{:?}", traffic(&sim));
}

#[test]
fn relief_waits_while_a_replica_is_behind() {
    let mut sim = skewed(&json!({"mode": "Auto"}), &[100.0; 6]);
    let slow = ("slow".to_owned(), 0);
    sim.kafka.partitions.insert(slow.clone(), Placed::of(&[1, 2], 10));
    sim.kafka.rates_in.as_mut().unwrap().insert(slow, 0.0);
    sim.kafka.behind("slow", 0, &[2]);
    sim.run_until_blocked("ReplicasBehind");
    assert_eq!(sim.kafka.copies, 0);
    sim.kafka.behind("slow", 0, &[]);
    sim.converge();
    assert_eq!(traffic(&sim), vec![200.0; 3]);
}
