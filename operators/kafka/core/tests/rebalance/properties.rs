//! What holds for every drain of every cluster.

use ballast_kafka_core::rebalance::{
    plan,
    request::Request,
    schedule::{self, Limits},
    snapshot::Snapshot,
};
use proptest::prelude::*;

use crate::{generator::Shape, referee::Referee, world::World};

prop_compose! {
    fn shapes()(
        seed in any::<u64>(),
        (draining, cordoned, dead, new) in (0..4_usize, 0..3_usize, 0..3_usize, 0..3_usize),
        rest in 1..8_usize,
        racks in 0..5_usize,
        factor in 0..4_usize,
        (skewed, rates, everywhere) in any::<(bool, bool, bool)>(),
        disk in prop_oneof![2 => Just(0.0), 1 => 1.2..2.5],
        partitions in 1..120_usize,
    ) -> Shape {
        let brokers = draining + cordoned + dead + new + rest;
        Shape { seed, brokers, racks, skewed, partitions, factor, new, draining, cordoned, dead, disk, rates, everywhere }
    }
}

fn drain(snapshot: &Snapshot) -> ballast_kafka_core::rebalance::outcome::Plan {
    plan(snapshot, &Request::drain(&[])).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_holds_for_every_drain(shape in shapes()) {
        let snapshot = shape.build();
        let plan = drain(&snapshot);
        Referee::new(&snapshot, &shape.draining_ids()).check_drain(&plan);
        prop_assert_eq!(&plan, &drain(&snapshot), "deterministic");
    }

    /// Some moves are done, some have begun, some not: what is still to be copied is never more than it was.
    #[test]
    fn planning_again_costs_no_more_than_what_remained(
        shape in shapes(), fates in prop::collection::vec(0..4_u8, 64), part in 0.0..1.0,
    ) {
        let snapshot = shape.build();
        let first = drain(&snapshot);
        let mut world = World::of(&snapshot);
        let (mut waiting, mut flying) = (0, 0);
        for (index, it) in first.moves.iter().enumerate() {
            match fates[index % fates.len()] {
                0 => waiting += it.bytes(),
                1 => {
                    world.begin(it, part);
                    let copied = |bytes: u64| (bytes as f64 * part) as u64;
                    flying += it.transfers.iter().map(|it| it.bytes - copied(it.bytes)).sum::<u64>();
                }
                _ => world.finish(it),
            }
        }
        let middle = world.snapshot();
        let second = drain(&middle);
        Referee::new(&middle, &shape.draining_ids()).check_drain(&second);
        let report = &second.report;
        prop_assert_eq!(report.lower_bound_bytes, waiting + first.report.blocked_bytes, "what has not begun");
        prop_assert_eq!(report.bytes + report.blocked_bytes, report.lower_bound_bytes);
        // Bytes of a replica that is added count as the largest replica's, which may be larger than the one replaced.
        prop_assert!(report.in_flight_bytes <= flying, "{} of {}", report.in_flight_bytes, flying);
    }

    /// As the operator goes on: batch after batch, until nothing is left but what is blocked.
    #[test]
    fn it_ends(shape in shapes(), per_source in 1..4_usize) {
        let snapshot = shape.build();
        let mut world = World::of(&snapshot);
        let limits = Limits { per_source, per_target: 4, cluster: 20, per_request: 500 };
        let bound = drain(&snapshot).report.lower_bound_bytes;
        let mut copied = 0;
        for _ in 0..400 {
            let now = world.snapshot();
            let plan = drain(&now);
            let batch = schedule::next(&now, &plan, &limits);
            prop_assert!(batch.moves.len() <= limits.per_request);
            if batch.moves.is_empty() {
                prop_assert!(plan.moves.is_empty(), "{batch:?}");
                let blocked = plan.report.blocked_bytes;
                prop_assert_eq!(copied + blocked, bound, "each forced replica once");
                return Ok(());
            }
            for index in batch.moves {
                world.finish(&plan.moves[index]);
                copied += plan.moves[index].bytes();
            }
        }
        prop_assert!(false, "it goes on for ever");
    }
}
