//! The operator is killed before and after every single write, and before and after every change that it asks Kafka for.
//!
//! Each kill is a run of its own, in a namespace of its own. A killed run must end with the same objects as undisturbed
//! ones, must have created and deleted each of them as often, and must be quiet afterwards; nothing that must never be may
//! have happened to Kafka, and no byte may have been copied that an undisturbed run would not copy.

mod matrix;
mod oracles;
mod path;

use matrix::exhaust;
use path::Path;
use rstest::rstest;

use crate::bed::bed;

#[rstest]
fn killed(
    #[values(
        Path::Create,
        Path::Drain,
        Path::Roll,
        Path::MoreVoters,
        Path::FewerVoters,
        Path::Shrink,
        Path::Rebalance,
        Path::Lost
    )]
    path: Path,
) {
    exhaust(path);
}

#[test]
fn a_ticket_that_is_not_revoked_would_be_noticed() {
    let said = bed().block_on(oracles::used_ticket()).unwrap();
    assert!(said.iter().any(|what| what.contains("begins a second quorum")), "{said:?}");
}

#[test]
fn a_broker_that_is_stopped_by_somebody_else_would_be_noticed() {
    let said = bed().block_on(oracles::two_stopped()).unwrap();
    assert!(said.iter().any(|what| what.contains("in sync of wide-0")), "{said:?}");
}
