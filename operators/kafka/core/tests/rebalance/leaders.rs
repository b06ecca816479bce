//! Preferred leaders are evened out without copying.

use ballast_kafka_core::rebalance::{outcome::Plan, request::Request, snapshot::Partition};

use crate::world::{World, partition};

fn leads(world: &World, plan: &Plan) -> Vec<usize> {
    let mut world = world.clone();
    for it in &plan.moves {
        world.finish(it);
    }
    let ids = world.brokers.iter().map(|broker| broker.id);
    ids.map(|id| world.partitions.iter().filter(|partition| partition.replicas[0] == id).count()).collect()
}

/// Forty partitions on three brokers, all led by the first; a fourth broker has nothing to do with it.
fn skewed() -> World {
    let partitions = (0..40).map(|number| {
        let followers = if number % 2 == 0 { [2, 3] } else { [3, 2] };
        partition("t", number, [vec![1], followers.to_vec()].concat(), 10)
    });
    World::new(&["", "", ""], partitions.collect())
}

#[test]
fn it_stops_at_the_threshold() {
    let world = skewed();
    let plan = world.plan(&Request { leaders_above: 1.2, ..Request::drain(&[]) });
    let leads = leads(&world, &plan);
    assert_eq!(plan.report.bytes, 0);
    assert!(leads.iter().all(|count| *count <= 16), "{leads:?}");
    assert_eq!((leads[0], plan.report.leader_changes), (16, 24), "not one more than it takes");
    assert!(plan.moves.iter().all(|it| it.transfers.is_empty()));
}

#[test]
fn below_the_threshold_nothing_changes() {
    assert_eq!(skewed().plan(&Request { leaders_above: 3.1, ..Request::drain(&[]) }).moves, []);
}

#[test]
fn what_cannot_be_more_even_is_left() {
    let partitions =
        (0..4).map(|number| partition("t", number, vec![1 + number % 3, 1 + (number + 1) % 3], 10));
    let plan = World::new(&["", "", ""], partitions.collect()).plan(&Request::drain(&[]));
    assert_eq!(plan.moves, []);
}

#[test]
fn one_leader_among_many_brokers_is_left_where_it_is() {
    let racks = ["", "", "", "", "", "", "", "", "", "", "", ""];
    for number in 0..20 {
        let one = Partition {
            bytes_in: Some(7.3),
            bytes_out: Some(1.9),
            ..partition("t", number, vec![1, 2, 3], 10)
        };
        assert_eq!(World::new(&racks, vec![one]).plan(&Request::drain(&[])).moves, []);
    }
}

#[test]
fn a_replica_that_is_behind_does_not_lead() {
    let mut world = skewed();
    for partition in &mut world.partitions {
        partition.isr = Some(vec![1, 3]);
    }
    let plan = world.plan(&Request::drain(&[]));
    assert!(!plan.moves.is_empty());
    assert!(plan.moves.iter().all(|it| it.to[0] == 3));
}

#[test]
fn a_dead_broker_does_not_lead() {
    let world = skewed().with(2, |broker| broker.dead = true);
    let plan = world.plan(&Request::drain(&[]));
    assert!(plan.moves.iter().all(|it| it.to[0] == 3));
}

#[test]
fn traffic_counts_where_it_is_known() {
    let partitions = (0..4).map(|number| {
        let replicas = if number < 2 { vec![1, 2] } else { vec![2, 1] };
        Partition {
            bytes_in: Some(1.0),
            bytes_out: Some(if number < 2 { 100.0 } else { 1.0 }),
            ..partition("t", number, replicas, 10)
        }
    });
    let world = World::new(&["", ""], partitions.collect());
    let plan = world.plan(&Request::drain(&[]));
    // One that is read a lot for one that is not.
    assert_eq!(leads(&world, &plan), [2, 2]);
    assert_eq!(plan.moves.iter().filter(|it| it.partition < 2).count(), 1, "{:?}", plan.moves);
}

#[test]
fn a_partition_that_is_in_flight_is_left() {
    let mut world = skewed();
    for partition in &mut world.partitions {
        partition.replicas = vec![1, 2, 3];
        partition.adding = vec![3];
        partition.removing = vec![2];
        partition.isr = None;
    }
    assert_eq!(world.plan(&Request::drain(&[])).moves, []);
}
