use super::*;

/// A topic that keeps what is written to it.
#[derive(Default)]
struct Topic(BTreeMap<i32, Vec<u64>>);

impl Topic {
    fn append(&mut self, attempt: Attempt) -> Place {
        let log = self.0.entry(attempt.partition).or_default();
        log.push(attempt.number);
        Place { partition: attempt.partition, offset: i64::try_from(log.len()).unwrap() - 1 }
    }

    fn read(&self) -> Vec<Read> {
        let of = |(partition, log): (&i32, &Vec<u64>)| {
            let partition = *partition;
            let place = move |offset| Place { partition, offset };
            let read: Vec<Read> = (0..)
                .zip(log)
                .map(|(offset, number)| Read { place: place(offset), number: *number })
                .collect();
            read
        };
        self.0.iter().flat_map(of).collect()
    }
}

/// Twelve acknowledged records of four keys in two partitions.
fn written() -> (Ledger, Topic) {
    let (mut ledger, mut topic) = (Ledger::new(2, 4, 100), Topic::default());
    for now in 0..12 {
        let attempt = ledger.next().unwrap();
        let place = topic.append(attempt);
        ledger.acknowledge(attempt.number, place, now);
    }
    (ledger, topic)
}

#[test]
fn everything_acknowledged_and_there_is_ok() {
    let (ledger, topic) = written();
    let verdict = ledger.verify(&topic.read(), vec![]);
    assert!(verdict.ok, "{verdict:?}");
    assert_eq!((verdict.checked, verdict.unknown, ledger.records()), (12, 0, 12));
    assert_eq!(ledger.ends(), BTreeMap::from([(0, 6), (1, 6)]));
}

#[test]
fn all_partitions_are_written_to_and_a_key_stays_in_its_own() {
    let mut ledger = Ledger::new(7, 3, 100);
    let mut keys: BTreeMap<u64, i32> = BTreeMap::new();
    while let Some(attempt) = ledger.next() {
        assert_eq!(*keys.entry(attempt.key).or_insert(attempt.partition), attempt.partition);
    }
    let partitions: std::collections::BTreeSet<i32> = keys.into_values().collect();
    assert_eq!(partitions, (0..7).collect());
}

#[test]
fn a_lost_record_is_missing() {
    let (ledger, topic) = written();
    let mut read = topic.read();
    read.retain(|read| read.number != 5);
    let verdict = ledger.verify(&read, vec![]);
    assert!(!verdict.ok);
    assert_eq!((verdict.missing_count, verdict.wrong_count, verdict.missing[0].record), (1, 0, 5));
}

#[test]
fn a_record_that_is_there_twice_is_wrong() {
    let (ledger, mut topic) = written();
    topic.append(Attempt { number: 11, key: 3, partition: 1 });
    let verdict = ledger.verify(&topic.read(), vec![]);
    assert!(!verdict.ok);
    assert_eq!((verdict.wrong_count, verdict.wrong[0].record), (1, 11), "{verdict:?}");
    assert!(verdict.wrong[0].why.starts_with("there 2 times"), "{verdict:?}");
}

#[test]
fn a_record_at_another_offset_is_wrong() {
    let (ledger, topic) = written();
    let mut read = topic.read();
    let moved = read.iter_mut().find(|read| read.number == 11).unwrap();
    moved.place.offset += 1;
    let verdict = ledger.verify(&read, vec![]);
    assert_eq!((verdict.wrong_count, verdict.wrong[0].record), (1, 11), "{verdict:?}");
}

#[test]
fn order_of_a_key_is_kept_or_wrong() {
    let (ledger, mut topic) = written();
    // 1 and 5 have one key, 1 and 3 have not.
    let log = topic.0.get_mut(&1).unwrap();
    assert_eq!(log[..3], [1, 3, 5]);
    log.swap(0, 2);
    let verdict = ledger.verify(&topic.read(), vec![]);
    let order =
        verdict.wrong.iter().any(|wrong| wrong.record == 1 && wrong.why.contains("the later record 5"));
    assert!(order && !verdict.ok, "{verdict:?}");
}

#[test]
fn an_offset_that_goes_back_is_wrong() {
    let (mut ledger, topic) = written();
    let attempt = ledger.next().unwrap();
    ledger.acknowledge(attempt.number, Place { partition: attempt.partition, offset: 2 }, 20);
    let verdict = ledger.verify(&topic.read(), vec!["cannot read".into()]);
    assert_eq!((verdict.wrong_count, verdict.wrong[0].record), (1, 12), "{verdict:?}");
}

#[test]
fn one_that_was_not_acknowledged_may_be_there_once_or_not() {
    let (mut ledger, mut topic) = written();
    let attempt = ledger.next().unwrap();
    ledger.fail(attempt.number, "MessageTimedOut".into(), 20);
    let verdict = ledger.verify(&topic.read(), vec![]);
    assert!(verdict.ok, "{verdict:?}");
    assert_eq!(verdict.failures, BTreeMap::from([("MessageTimedOut".to_owned(), 1)]));
    topic.append(attempt);
    let verdict = ledger.verify(&topic.read(), vec![]);
    assert_eq!((verdict.ok, verdict.unacknowledged_present), (true, 1), "{verdict:?}");
    topic.append(attempt);
    assert!(!ledger.verify(&topic.read(), vec![]).ok, "but not twice");
}

#[test]
fn one_that_nothing_was_heard_of_is_counted() {
    let (mut ledger, topic) = written();
    ledger.next().unwrap();
    let verdict = ledger.verify(&topic.read(), vec![]);
    assert_eq!((verdict.ok, verdict.unknown, verdict.checked), (true, 1, 12));
}

#[test]
fn one_that_nobody_wrote_is_wrong() {
    let (ledger, mut topic) = written();
    topic.append(Attempt { number: 99, key: 3, partition: 1 });
    assert_eq!(ledger.verify(&topic.read(), vec![]).wrong_count, 1);
}

#[test]
fn failed_reads_are_no_verdict_about_records() {
    let (ledger, _) = written();
    let verdict = ledger.verify(&[], vec!["timed out".into()]);
    assert_eq!((verdict.ok, verdict.checked, verdict.missing_count), (false, 0, 0));
}

#[test]
fn memory_is_bounded() {
    let mut ledger = Ledger::new(1, 1, 3);
    while ledger.next().is_some() {}
    assert!(ledger.is_full());
    assert_eq!((ledger.records(), ledger.unknown()), (3, 3));
}

#[test]
fn the_time_after_the_end_is_no_gap() {
    let (mut ledger, _) = written();
    ledger.stop(500);
    assert_eq!(ledger.gap(9_000).longest(), 489);
}

#[test]
fn a_consumer_that_reads_again_or_goes_back_is_counted() {
    let mut live = Live::default();
    let read = |partition, offset, number| Read { place: Place { partition, offset }, number };
    for seen in [read(0, 0, 0), read(1, 0, 1), read(0, 1, 2)] {
        live.see(seen);
    }
    assert_eq!((live.read, live.read_again, live.went_back), (3, 0, 0));
    live.see(read(0, 0, 0));
    assert_eq!((live.read_again, live.went_back), (1, 1));
    live.see(read(0, 1, 7));
    assert_eq!((live.read_again, live.went_back), (1, 1), "what replaced a record is no re-read");
    live.see(read(1, 0, 8));
    assert_eq!((live.read_again, live.went_back), (1, 2));
}
