use super::*;

const CLUSTER: u64 = 7;

fn ledger(keys: u64) -> Ledger {
    Ledger::new("ledger/run/".into(), keys, 100)
}

/// A server that applies writes.
#[derive(Default)]
struct Server {
    revision: i64,
    stored: BTreeMap<String, Stored>,
}

impl Server {
    fn put(&mut self, key: String, value: String) -> Acknowledgement {
        self.revision += 1;
        let version = self.stored.get(&key).map_or(0, |stored| stored.version) + 1;
        self.stored.insert(key, Stored { value, revision: self.revision, version });
        Acknowledgement { revision: self.revision, cluster: CLUSTER }
    }

    fn write(&mut self, ledger: &mut Ledger, now: u64) {
        let attempt = ledger.next().unwrap();
        let acknowledgement = self.put(ledger.key(&attempt), Ledger::value(&attempt));
        ledger.acknowledge(&attempt, acknowledgement, now);
    }
}

#[test]
fn everything_acknowledged_and_there_is_ok() {
    let (mut ledger, mut server) = (ledger(3), Server::default());
    for now in 0..10 {
        server.write(&mut ledger, now);
    }
    let verdict = ledger.verify(&server.stored, vec![]);
    assert!(verdict.ok, "{verdict:?}");
    assert_eq!((verdict.checked, ledger.acknowledged(), ledger.records()), (10, 10, 3));
}

#[test]
fn a_lost_key_is_missing() {
    let (mut ledger, mut server) = (ledger(3), Server::default());
    server.write(&mut ledger, 0);
    server.stored.clear();
    let verdict = ledger.verify(&server.stored, vec![]);
    assert!(!verdict.ok);
    assert_eq!(verdict.missing_count, 1);
    assert_eq!(verdict.missing[0].key, "ledger/run/00000000");
}

#[test]
fn an_older_value_is_wrong() {
    let (mut ledger, mut server) = (ledger(1), Server::default());
    server.write(&mut ledger, 0);
    let before = server.stored.clone();
    server.write(&mut ledger, 1);
    assert!(ledger.verify(&server.stored, vec![]).ok);
    assert_eq!(ledger.verify(&before, vec![]).wrong_count, 1);
}

#[test]
fn a_lost_write_that_a_later_one_hides_is_found() {
    let (mut ledger, mut server) = (ledger(1), Server::default());
    server.write(&mut ledger, 0);
    let before = server.stored.clone();
    server.write(&mut ledger, 1);
    server.stored = before;
    server.write(&mut ledger, 2);
    let verdict = ledger.verify(&server.stored, vec![]);
    assert_eq!(verdict.wrong_count, 1, "{verdict:?}");
    assert!(verdict.wrong[0].why.contains("changed 2 times"), "{verdict:?}");
}

#[test]
fn a_write_of_unknown_outcome_may_be_there_or_not() {
    let (mut ledger, mut server) = (ledger(1), Server::default());
    server.write(&mut ledger, 0);
    let lost = ledger.next().unwrap();
    ledger.fail(&lost, "timed out".into(), 1);
    assert!(ledger.verify(&server.stored, vec![]).ok, "not applied");
    server.put(ledger.key(&lost), Ledger::value(&lost));
    assert!(ledger.verify(&server.stored, vec![]).ok, "applied");
    assert_eq!(ledger.failed(), 1);
    assert_eq!(ledger.last_error(), Some((1, "timed out")));
}

#[test]
fn a_write_of_unknown_outcome_may_be_applied_after_a_later_one() {
    let (mut ledger, mut server) = (ledger(1), Server::default());
    let late = ledger.next().unwrap();
    ledger.fail(&late, "timed out".into(), 0);
    server.write(&mut ledger, 1);
    server.put(ledger.key(&late), Ledger::value(&late));
    assert!(ledger.verify(&server.stored, vec![]).ok);
    let old = server.stored.values_mut().next().unwrap();
    old.revision = 1;
    assert!(!ledger.verify(&server.stored, vec![]).ok, "but not from before it");
}

#[test]
fn a_key_without_an_acknowledgement_is_not_expected() {
    let mut ledger = ledger(3);
    let attempt = ledger.next().unwrap();
    ledger.fail(&attempt, "refused".into(), 0);
    let verdict = ledger.verify(&BTreeMap::new(), vec![]);
    assert!(verdict.ok);
    assert_eq!(verdict.checked, 0);
}

#[test]
fn a_value_that_was_never_attempted_is_wrong() {
    let (mut ledger, mut server) = (ledger(1), Server::default());
    server.write(&mut ledger, 0);
    server.put("ledger/run/00000000".into(), "foreign".into());
    assert_eq!(ledger.verify(&server.stored, vec![]).wrong_count, 1);
}

#[test]
fn the_same_write_applied_twice_is_wrong() {
    let (mut ledger, mut server) = (ledger(1), Server::default());
    server.write(&mut ledger, 0);
    server.put("ledger/run/00000000".into(), "0".into());
    assert_eq!(ledger.verify(&server.stored, vec![]).wrong_count, 1);
}

#[test]
fn a_revision_that_goes_back_and_another_cluster_are_findings() {
    let mut ledger = ledger(100);
    for (revision, cluster) in [(5, 1), (4, 1), (6, 2)] {
        let attempt = ledger.next().unwrap();
        ledger.acknowledge(&attempt, Acknowledgement { revision, cluster }, 0);
    }
    assert_eq!(ledger.violation_count, 2);
    let verdict = ledger.verify(&BTreeMap::new(), vec![]);
    assert_eq!((verdict.wrong_count, verdict.missing_count), (2, 3));
}

#[test]
fn failed_reads_are_no_verdict_about_keys() {
    let (mut ledger, mut server) = (ledger(1), Server::default());
    server.write(&mut ledger, 0);
    let verdict = ledger.verify(&BTreeMap::new(), vec!["timed out".into()]);
    assert_eq!((verdict.ok, verdict.checked, verdict.missing_count), (false, 0, 0));
}

#[test]
fn memory_is_bounded() {
    let mut ledger = Ledger::new(String::new(), 3, 10);
    while let Some(attempt) = ledger.next() {
        ledger.fail(&attempt, String::new(), 0);
    }
    assert!(ledger.is_full());
    assert_eq!((ledger.failed(), ledger.records()), (7, 10));
}

#[test]
fn the_longest_gap_is_between_two_acknowledgements() {
    let (mut ledger, mut server) = (ledger(3), Server::default());
    assert_eq!(ledger.gap(10_000).longest(), 0, "nothing counts before the first");
    for now in [10_000, 10_020, 10_520, 10_540] {
        server.write(&mut ledger, now);
    }
    let gap = ledger.gap(10_560);
    assert_eq!((gap.longest(), gap.ended()), (500, Some(10_520)));
}

#[test]
fn a_gap_that_is_still_open_counts() {
    let (mut ledger, mut server) = (ledger(3), Server::default());
    server.write(&mut ledger, 0);
    let attempt = ledger.next().unwrap();
    ledger.fail(&attempt, "timed out".into(), 2_000);
    assert_eq!(ledger.gap(3_000).longest(), 3_000);
}

#[test]
fn a_reset_forgets_the_gap_but_counts_on() {
    let (mut ledger, mut server) = (ledger(3), Server::default());
    server.write(&mut ledger, 0);
    ledger.reset_gap(5_000);
    assert_eq!(ledger.gap(5_100).longest(), 100);
    server.write(&mut ledger, 5_300);
    assert_eq!(ledger.gap(5_310).longest(), 300);
}

#[test]
fn a_pause_is_not_a_gap() {
    let (mut ledger, mut server) = (ledger(3), Server::default());
    server.write(&mut ledger, 0);
    ledger.pause(50);
    assert_eq!(ledger.gap(9_000).longest(), 50);
    ledger.resume(9_000);
    server.write(&mut ledger, 9_020);
    assert_eq!(ledger.gap(9_030).longest(), 50);
}
