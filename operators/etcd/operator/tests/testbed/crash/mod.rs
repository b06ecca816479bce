//! The operator is killed before and after every single write, and before and after every change that it asks etcd for.
//!
//! Each kill is a run of its own, in a namespace of its own. A killed run must end with the same objects as undisturbed
//! ones, must have created and deleted each of them as often, and must be quiet afterwards.
//!
//! `frozen` does the same to one of two replicas, which is stopped and goes on when the other leads.

mod frozen;
mod matrix;
mod oracles;
mod path;

use matrix::{disturb, exhaust, hide, nothing_to_write, set_clock};
use path::Path;
use rstest::rstest;

use crate::bed::bed;

#[rstest]
fn killed(#[values(Path::Create, Path::ScaleUp, Path::ScaleDown, Path::Replace, Path::Settings)] path: Path) {
    exhaust(path);
}

#[rstest]
fn with_a_clock_that_is_wrong_by_an_hour(#[values(Path::Create, Path::Hang)] path: Path) {
    set_clock(path);
}

#[test]
fn delete() {
    nothing_to_write(Path::Delete);
}

#[rstest]
fn a_frozen_leader_writes_nothing_when_it_wakes(#[values(3, 7, 12)] after: usize) {
    frozen::leader(after);
}

#[rstest]
#[ignore = "takes many minutes: make test-full"]
fn disturbed(
    #[values(Path::Create, Path::ScaleUp, Path::ScaleDown, Path::Replace, Path::Settings)] path: Path,
) {
    disturb(path);
}

#[rstest]
#[ignore = "takes many minutes: make test-full"]
fn hidden_events(#[values(Path::Create, Path::Replace)] path: Path) {
    hide(path);
}

#[test]
fn a_deletion_that_is_late_hits_no_successor() {
    assert!(bed().block_on(oracles::late_deletion(false)).unwrap(), "a pod that was not meant is gone");
}

#[test]
fn without_its_preconditions_a_late_deletion_would_be_noticed() {
    assert!(!bed().block_on(oracles::late_deletion(true)).unwrap(), "nobody noticed");
}

#[test]
fn a_ticket_that_is_not_revoked_would_be_noticed() {
    let said = bed().block_on(oracles::used_ticket()).unwrap();
    assert!(said.iter().all(|what| what.contains("starts on an empty disk")), "{said:?}");
}
