//! What is sent next, and under which throttle.

use std::time::Duration;

use ballast_kafka_core::rebalance::{
    outcome::Plan,
    request::Request,
    schedule::{self, Limits},
    snapshot::{BrokerId, Partition},
};

use crate::{
    generator::Shape,
    world::{World, partition},
};

fn names(plan: &Plan, moves: &[usize]) -> Vec<String> {
    moves.iter().map(|index| plan.moves[*index].topic.to_string()).collect()
}

/// Topics on broker 1, which leaves; 2 and 3 have their other replicas.
fn mixed() -> World {
    let partitions = vec![
        partition("three-large", 0, vec![1, 2, 3], 900),
        partition("three-small", 0, vec![1, 2, 3], 100),
        partition("two", 0, vec![1, 2], 300),
        partition("one-small", 0, vec![1], 10),
        partition("one-large", 0, vec![1], 50),
        Partition { isr: Some(vec![2]), leader: Some(2), ..partition("at-risk", 0, vec![1, 2], 1) },
    ];
    World::new(&["", "", "", "", "", ""], partitions)
}

#[test]
fn what_is_most_at_risk_comes_first_and_of_that_the_largest() {
    let world = mixed();
    let plan = world.plan(&Request { leaders_above: 100.0, ..Request::drain(&[1]) });
    let batch = schedule::next(&world.snapshot(), &plan, &Limits { per_source: 100, ..Limits::default() });
    let order = ["one-large", "one-small", "at-risk", "two", "three-large", "three-small"];
    assert_eq!(names(&plan, &batch.moves), order);
}

#[test]
fn limits_per_broker_cluster_and_request() {
    let partitions = (0..40).map(|number| partition("t", number, vec![1 + number % 2, 3], 100)).collect();
    let world = World::new(&["", "", "", "", "", ""], partitions);
    let snapshot = world.snapshot();
    let plan = world.plan(&Request { leaders_above: 100.0, ..Request::drain(&[1, 2]) });
    let count = |limits: Limits| schedule::next(&snapshot, &plan, &limits).moves.len();
    let open = Limits { per_source: 100, per_target: 100, cluster: 100, per_request: 100 };
    assert_eq!(count(open), 40);
    assert_eq!(count(Limits { per_source: 5, ..open }), 10, "two leaders send");
    assert_eq!(count(Limits { per_target: 5, ..open }), 15, "three brokers receive");
    assert_eq!(count(Limits { cluster: 7, ..open }), 7);
    assert_eq!(count(Limits { per_request: 9, ..open }), 9);
    let batch = schedule::next(&snapshot, &plan, &Limits { cluster: 7, ..open });
    assert_eq!(batch.busy, 33);
}

#[test]
fn what_runs_counts() {
    let mut world = mixed();
    let request = Request { leaders_above: 100.0, ..Request::drain(&[1]) };
    let plan = world.plan(&request);
    let limits = Limits { per_source: 3, ..Limits::default() };
    let first = schedule::next(&world.snapshot(), &plan, &limits);
    // At-risk is led by 2, the others by 1.
    assert_eq!(names(&plan, &first.moves), ["one-large", "one-small", "at-risk", "two"]);
    for index in &first.moves {
        world.begin(&plan.moves[*index], 0.5);
    }
    let again = world.plan(&request);
    assert_eq!(schedule::next(&world.snapshot(), &again, &limits).moves.len(), 0);
    world.finish(&plan.moves[first.moves[0]]);
    let again = world.plan(&request);
    let second = schedule::next(&world.snapshot(), &again, &limits);
    assert_eq!(names(&again, &second.moves), ["three-large"], "as soon as one is done");
}

#[test]
fn replicas_that_catch_up_are_waited_for() {
    let behind = |isr: Vec<BrokerId>| Partition { isr: Some(isr), ..partition("t", 0, vec![1, 2, 3], 100) };
    let waits = |world: &World| {
        let plan = world.plan(&Request::drain(&[1]));
        schedule::next(&world.snapshot(), &plan, &Limits::default()).behind
    };
    let racks = ["", "", "", "", ""];
    assert_eq!(waits(&World::new(&racks, vec![behind(vec![1, 2])])), 1, "3 stays");
    assert_eq!(waits(&World::new(&racks, vec![behind(vec![2, 3])])), 0, "1 leaves anyway");
    let dead = World::new(&racks, vec![behind(vec![1, 2])]).with(3, |broker| broker.dead = true);
    assert_eq!(waits(&dead), 0, "3 is dead, and waiting does not help");
}

#[test]
fn orders_wait_until_everything_is_copied() {
    let mut partitions: Vec<_> = (0..12).map(|number| partition("t", number, vec![2, 3], 10)).collect();
    partitions.push(partition("u", 0, vec![1], 10));
    let mut world = World::new(&["", "", ""], partitions);
    let plan = world.plan(&Request::drain(&[1]));
    let batch = schedule::next(&world.snapshot(), &plan, &Limits::default());
    assert_eq!(names(&plan, &batch.moves), ["u"]);
    assert!(batch.orders >= 5);
    let copy = plan.moves.iter().find(|it| !it.transfers.is_empty()).unwrap();
    world.begin(copy, 0.1);
    let plan = world.plan(&Request::drain(&[1]));
    assert_eq!(schedule::next(&world.snapshot(), &plan, &Limits::default()).moves.len(), 0);
    world.finish(copy);
    let plan = world.plan(&Request::drain(&[1]));
    let batch = schedule::next(&world.snapshot(), &plan, &Limits::default());
    assert!(batch.moves.len() >= 5 && batch.orders == 0);
}

#[test]
fn a_topic_that_was_deleted_is_no_error() {
    let mut world = mixed();
    let plan = world.plan(&Request::drain(&[1]));
    world.partitions.remove(0);
    let batch = schedule::next(&world.snapshot(), &plan, &Limits { per_source: 100, ..Limits::default() });
    assert_eq!((batch.moves.len(), batch.gone), (5, 1));
}

#[test]
fn throttles_name_what_is_copied_and_nothing_else() {
    let mut world = mixed();
    let request = Request { leaders_above: 100.0, ..Request::drain(&[1]) };
    let plan = world.plan(&request);
    let find = |topic: &str| plan.moves.iter().find(|it| it.topic.as_str() == topic).unwrap();
    world.begin(find("two"), 0.5);
    let starting = [find("one-large")];
    let throttled = schedule::throttled(&world.snapshot(), &starting);
    let [one, two] = throttled.as_slice() else { panic!("{throttled:?}") };
    assert_eq!((one.topic.as_str(), one.leader_value()), ("one-large", "0:1".to_owned()));
    assert_eq!(one.follower_value(), format!("0:{}", starting[0].to[0]));
    assert_eq!((two.topic.as_str(), two.leader_value()), ("two", "0:1,0:2".to_owned()));
    assert_eq!(two.follower_value(), format!("0:{}", find("two").to[0]));
}

#[test]
fn the_busiest_broker_says_how_long_it_takes() {
    let partitions =
        (0..4).map(|number| Partition { bytes_in: Some(10.0), ..partition("t", number, vec![1], 1000) });
    let world = World::new(&["", "", ""], partitions.collect());
    let plan = world.plan(&Request::drain(&[1]));
    let snapshot = world.snapshot();
    assert_eq!(schedule::shortest_time(&snapshot, &plan.moves, 100), Duration::from_secs(40));
    assert_eq!(schedule::shortest_time(&snapshot, &plan.moves, 0), Duration::ZERO);
    let starting: Vec<_> = plan.moves.iter().collect();
    assert_eq!(schedule::least_rate(&snapshot, &starting), 48, "four times ten, and a fifth");
}

/// A plan is carried out batch by batch, planned again every time, as the operator does.
#[test]
fn batches_empty_the_brokers() {
    let shape = Shape { partitions: 150, brokers: 8, draining: 2, factor: 0, ..Shape::default() };
    let snapshot = shape.build();
    let mut world = World::of(&snapshot);
    let request = Request::drain(&[]);
    let bound = world.plan(&request).report.lower_bound_bytes;
    let (mut copied, mut passes) = (0, 0);
    let mut flying: Vec<_> = Vec::new();
    loop {
        passes += 1;
        assert!(passes < 1000);
        let plan = world.plan(&request);
        if plan.is_done() {
            break;
        }
        let batch = schedule::next(&world.snapshot(), &plan, &Limits { per_source: 3, ..Limits::default() });
        for index in batch.moves {
            let it = &plan.moves[index];
            copied += it.bytes();
            world.begin(it, 0.5);
            if !it.transfers.is_empty() {
                flying.push(it.clone());
            }
        }
        // The one that was begun last is done first.
        if let Some(it) = flying.pop() {
            world.finish(&it);
        }
    }
    assert_eq!(copied, bound, "every forced replica is copied once");
    let gone = world.partitions.iter().all(|partition| !partition.replicas.iter().any(|broker| *broker <= 2));
    assert!(gone);
}
