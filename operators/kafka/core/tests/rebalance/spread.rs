//! New brokers get their share, and no more is copied than that.

use std::collections::BTreeSet;

use ballast_kafka_core::rebalance::{
    request::{Request, RequestError},
    snapshot::BrokerId,
};
use proptest::prelude::*;

use crate::{
    generator::Shape,
    referee::{Referee, size},
    world::{World, partition},
};

fn on(world: &World, broker: BrokerId) -> u64 {
    let held = world.partitions.iter().filter(|partition| partition.replicas.contains(&broker));
    held.map(|partition| size(partition, broker)).sum()
}

#[test]
fn new_brokers_are_filled_to_their_share() {
    let shape = Shape { brokers: 12, new: 2, draining: 0, partitions: 3000, ..Shape::default() };
    let snapshot = shape.build();
    let plan = World::of(&snapshot).plan(&Request::spread(&shape.new_ids()));
    Referee::new(&snapshot, &[]).check(&plan);
    assert!(plan.report.bytes <= plan.report.lower_bound_bytes);
    let mut world = World::of(&snapshot);
    plan.moves.iter().for_each(|it| world.finish(it));
    let total: u64 = world.brokers.iter().map(|broker| on(&world, broker.id)).sum();
    for new in shape.new_ids() {
        let filled = on(&world, new) as f64 / (total as f64 / 12.0);
        assert!((0.9..=1.0).contains(&filled), "{filled}");
    }
    let new: BTreeSet<_> = shape.new_ids().into_iter().collect();
    let receivers = plan.moves.iter().flat_map(|it| it.transfers.iter().map(|transfer| transfer.joins));
    assert!(receivers.into_iter().all(|broker| new.contains(&broker)));
}

#[test]
fn without_sizes_replicas_are_counted() {
    let partitions = (0..30).map(|number| partition("t", number, vec![1 + number % 2], 0)).collect();
    let plan = World::new(&["", "", ""], partitions).plan(&Request::spread(&[3]));
    assert_eq!(plan.report.transfers, 10);
}

#[test]
fn limits_are_kept() {
    let shape = Shape { brokers: 6, new: 1, draining: 0, partitions: 300, ..Shape::default() };
    let world = World::of(&shape.build());
    let all = world.plan(&Request::spread(&[6])).report;
    let half = world.plan(&Request { max_bytes: Some(all.bytes / 2), ..Request::spread(&[6]) }).report;
    assert!(half.bytes <= all.bytes / 2 && half.bytes > all.bytes / 4);
    let three = world.plan(&Request { max_moves: Some(3), ..Request::spread(&[6]) }).report;
    assert_eq!(three.transfers, 3);
}

#[test]
fn a_broker_that_takes_nothing_is_refused() {
    let world = World::new(&["", ""], vec![partition("t", 0, vec![1], 1)]);
    let world = world.with(2, |broker| broker.cordoned = true);
    let error = ballast_kafka_core::rebalance::plan(&world.snapshot(), &Request::spread(&[2])).unwrap_err();
    assert_eq!(error, RequestError::TakesNothing { id: 2 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// What was moved is not moved again, and what remains never becomes more.
    #[test]
    fn planning_again_costs_no_more(
        seed in any::<u64>(), brokers in 4..9_usize, new in 1..3_usize, factor in 0..3_usize, every in 1..4_usize,
    ) {
        let shape = Shape { seed, brokers, new, factor, draining: 0, partitions: 150, ..Shape::default() };
        let snapshot = shape.build();
        let request = Request::spread(&shape.new_ids());
        let mut world = World::of(&snapshot);
        let first = world.plan(&request);
        Referee::new(&snapshot, &[]).check(&first);
        prop_assert!(first.report.bytes <= first.report.lower_bound_bytes);
        let mut sent = 0;
        for (index, it) in first.moves.iter().enumerate() {
            if index % every == 0 {
                if index % 2 == 0 { world.finish(it) } else { world.begin(it, 0.5) }
                sent += it.bytes();
            }
        }
        let second = world.plan(&request);
        prop_assert!(sent + second.report.bytes <= first.report.lower_bound_bytes + shape.new as u64);
    }
}
