//! On clusters so small that everything can be tried, plans are compared with the best there is.

use ballast_kafka_core::rebalance::{
    request::{Goal, Request},
    snapshot::{BrokerId, Partition},
};

use crate::world::{World, partition};

/// Partitions with one replica, on `brokers` brokers, with sizes and rates from a seed.
fn tiny(seed: u64, brokers: i32, partitions: i32) -> World {
    let mut random = fastrand::Rng::with_seed(seed);
    let partitions = (0..partitions).map(|number| {
        let broker = 1 + random.i32(0..brokers.min(2));
        Partition {
            bytes_in: Some(f64::from(random.u32(1..30))),
            bytes_out: Some(0.0),
            ..partition("t", number, vec![broker], random.u64(10..100))
        }
    });
    let partitions = partitions.collect();
    World::new(&vec![""; brokers as usize], partitions)
}

/// Every way to put the partitions on these brokers.
fn assignments(partitions: usize, brokers: &[BrokerId]) -> impl Iterator<Item = Vec<BrokerId>> + '_ {
    (0..brokers.len().pow(partitions as u32)).map(move |mut number| {
        (0..partitions)
            .map(|_| {
                let broker = brokers[number % brokers.len()];
                number /= brokers.len();
                broker
            })
            .collect()
    })
}

/// What each broker has of something.
fn fullest(world: &World, places: &[BrokerId], amount: fn(&Partition) -> f64) -> f64 {
    let on = |id: BrokerId| {
        let here = world.partitions.iter().zip(places).filter(|(_, place)| **place == id);
        here.map(|(partition, _)| amount(partition)).sum::<f64>()
    };
    world.brokers.iter().map(|broker| on(broker.id)).fold(0.0, f64::max)
}

fn after(world: &World, plan: &ballast_kafka_core::rebalance::outcome::Plan) -> Vec<BrokerId> {
    let mut world = world.clone();
    plan.moves.iter().for_each(|it| world.finish(it));
    world.partitions.iter().map(|partition| partition.replicas[0]).collect()
}

#[test]
fn a_drain_is_nearly_as_even_as_the_best_and_costs_the_same() {
    let size = |partition: &Partition| partition.size.unwrap() as f64;
    let (mut sum, mut worst) = (0.0, 0.0_f64);
    for seed in 0..60 {
        let mut world = tiny(seed, 4, 7);
        for partition in &mut world.partitions {
            partition.bytes_in = None;
            partition.bytes_out = None;
        }
        let plan = world.plan(&Request::drain(&[1]));
        let now: Vec<_> = world.partitions.iter().map(|partition| partition.replicas[0]).collect();
        let forced: Vec<_> = (0..now.len()).filter(|index| now[*index] == 1).collect();
        let best = assignments(forced.len(), &[2, 3, 4]).map(|choice| {
            let mut places = now.clone();
            forced.iter().zip(choice).for_each(|(index, broker)| places[*index] = broker);
            fullest(&world, &places, size)
        });
        let best = best.fold(f64::INFINITY, f64::min);
        let ratio = fullest(&world, &after(&world, &plan), size) / best;
        (sum, worst) = (sum + ratio, worst.max(ratio));
        let bytes: u64 = forced.iter().map(|index| world.partitions[*index].size.unwrap()).sum();
        assert_eq!((plan.report.bytes, plan.blocked.len()), (bytes, 0), "seed {seed}");
    }
    // Counts are evened out too, so that it is not always the best for disks alone.
    println!("drain: fullest disk / best: mean {:.3}, worst {worst:.3}", sum / 60.0);
    assert!(sum / 60.0 < 1.1 && worst < 1.5, "mean {}, worst {worst}", sum / 60.0);
}

#[test]
fn relief_costs_little_more_than_the_best_and_the_bound_is_one() {
    let rate = |partition: &Partition| partition.bytes_in.unwrap();
    let (mut best_bytes, mut bytes, mut solvable, mut solved) = (0, 0, 0, 0);
    for seed in 0..60 {
        let world = tiny(seed, 3, 8);
        let request = Request { partition_trigger: 0.01, ..Request::new(Goal::HotPartitions) };
        let plan = world.plan(&request);
        let now: Vec<_> = world.partitions.iter().map(|partition| partition.replicas[0]).collect();
        let total: f64 = world.partitions.iter().map(rate).sum();
        let limit = total / 3.0 * 1.1 + 1e-6;
        let cost = |places: &[BrokerId]| {
            let moved =
                world.partitions.iter().zip(places).zip(&now).filter(|((_, place), now)| place != now);
            moved.map(|((partition, _), _)| partition.size.unwrap()).sum::<u64>()
        };
        let good = assignments(now.len(), &[1, 2, 3]).filter(|places| fullest(&world, places, rate) <= limit);
        let Some(best) = good.map(|places| cost(&places)).min() else { continue };
        solvable += 1;
        assert!(
            plan.report.lower_bound_bytes <= best,
            "seed {seed}: {} > {best}",
            plan.report.lower_bound_bytes
        );
        if plan.unresolved.is_empty() {
            assert!(fullest(&world, &after(&world, &plan), rate) <= limit, "seed {seed}");
            assert!(plan.report.bytes >= best, "seed {seed}: better than the best");
            solved += 1;
            best_bytes += best;
            bytes += plan.report.bytes;
        }
    }
    let ratio = bytes as f64 / best_bytes as f64;
    println!("relief: {solved} of {solvable} solved, bytes / best: {ratio:.3}");
    assert!(solved * 10 >= solvable * 6, "{solved} of {solvable}");
    assert!(ratio < 1.3, "{ratio}");
}
