use super::*;
use crate::{
    moving::{Disks, Moving, Reassignment},
    observed::Registered,
};

/// One copy, t-0 from broker 0 to broker 2, which has so many bytes.
fn answers(bytes: u64) -> Answers {
    let name = ("t".to_owned(), 0);
    let broker = |id| Registered { id, fenced: false, rack: None };
    let disks = |bytes| Disks { total: None, replicas: BTreeMap::from([(name.clone(), bytes)]) };
    Answers {
        brokers: Some(vec![broker(0), broker(2)]),
        partitions: Some(vec![Partition {
            topic: "t".to_owned(),
            index: 0,
            replicas: vec![2, 0],
            isr: vec![0],
            leader: Some(0),
            min_isr: None,
        }]),
        moving: Some(Moving {
            reassignments: BTreeMap::from([(
                name.clone(),
                Reassignment { adding: vec![2], removing: vec![0] },
            )]),
            disks: BTreeMap::from([(0, disks(100)), (2, disks(bytes))]),
            ..Moving::default()
        }),
        ..Answers::default()
    }
}

/// How long it is known to stand still after looks half a minute apart.
fn still(looks: &[Answers]) -> Option<u64> {
    let mut progress = Progress::default();
    let mut last = Still::new();
    for (number, answers) in (0..).zip(looks) {
        last = progress.look(Duration::from_secs(30 * number), answers);
    }
    last.into_values().next().map(|still| still.as_secs())
}

#[test]
fn the_same_bytes_are_no_progress_and_any_others_are() {
    assert_eq!(still(&[answers(7), answers(7), answers(7)]), Some(60));
    assert_eq!(still(&[answers(7), answers(7), answers(8)]), Some(0));
    assert_eq!(still(&[answers(7), answers(7), answers(3), answers(3)]), Some(30));
}

#[test]
fn what_is_not_known_is_not_no_progress() {
    let unknown = || Answers { moving: None, ..answers(7) };
    assert_eq!(still(&[answers(7), answers(7), unknown()]), None);
    // The minute in which nothing was known does not count.
    assert_eq!(still(&[answers(7), answers(7), unknown(), answers(7), answers(7)]), Some(60));
    let silent = || {
        let mut answers = answers(7);
        answers.moving.as_mut().map(|moving| moving.disks.remove(&2));
        answers
    };
    assert_eq!(still(&[answers(7), answers(7), silent(), answers(7)]), Some(0));
}

#[test]
fn without_a_leader_no_time_counts() {
    let mut offline = answers(7);
    offline.partitions.iter_mut().flatten().for_each(|partition| partition.leader = None);
    assert_eq!(still(&[answers(7), answers(7), offline.clone()]), None);
    assert_eq!(still(&[answers(7), answers(7), offline, answers(7)]), Some(0));
}

#[test]
fn long_times_between_looks_count_little() {
    let mut progress = Progress::default();
    let _ = progress.look(Duration::ZERO, &answers(7));
    let still = progress.look(Duration::from_hours(3), &answers(7));
    assert_eq!(still.into_values().next(), Some(BETWEEN));
}

#[test]
fn who_is_avoided_is_so_until_its_time_is_over() {
    let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap_or_default();
    let copy = |ours, why| Stuck { name: ("t".to_owned(), 0), broker: 2, ours, why };
    let first = avoided(&[], &[copy(true, Why::NoProgress)], now);
    assert_eq!(first, [AvoidedBroker { broker: 2, until: "2026-01-01T00:30:00Z".to_owned() }]);
    let later = now + Duration::from_mins(29);
    assert_eq!(avoided(&first, &[copy(true, Why::NoProgress)], later), first);
    assert_eq!(avoided(&first, &[], now + Duration::from_mins(30)), []);
    for not in [copy(false, Why::NoProgress), copy(true, Why::LeaderOffline), copy(true, Why::TargetAway)] {
        assert_eq!(avoided(&[], &[not], now), []);
    }
}
