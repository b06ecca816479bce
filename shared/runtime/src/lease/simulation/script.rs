//! What goes wrong in a simulation, and when: drawn at random.

use proptest::prelude::*;

/// True time, in milliseconds.
pub(super) type Time = u64;

/// Nothing goes wrong after this.
pub(super) const FAULTS_END: Time = 120_000;
pub(super) const QUICK: Fate = Fate { to: 10, back: 10, loss: Loss::Nothing, wall: 0 };

/// What becomes of one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fate {
    /// Until the server handles it, and from then until the answer is there.
    pub(super) to: Time,
    pub(super) back: Time,
    pub(super) loss: Loss,
    /// What the clock on the sender's wall shows.
    pub(super) wall: i64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Loss {
    Nothing,
    Request,
    /// The request is applied, and nobody is told.
    Answer,
}

/// What happens to a process.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trouble {
    /// Nothing of it runs for this long; its clock does.
    Freeze(Time),
    Kill,
    /// It is told to stop, and gives the lease up.
    Stop,
}

#[derive(Clone, Debug)]
pub(super) struct Script {
    /// Speed of each process' clock, in thousandths.
    pub(super) speeds: Vec<u64>,
    pub(super) fates: Vec<Fate>,
    pub(super) troubles: Vec<(Time, usize, Trouble)>,
    /// When somebody edits the Lease, without touching its specification.
    pub(super) edits: Vec<Time>,
}

fn fate() -> impl Strategy<Value = Fate> {
    let delay = || prop_oneof![6 => 0..50_u64, 3 => 0..6_000_u64, 1 => 0..30_000_u64];
    let loss = prop_oneof![8 => Just(Loss::Nothing), 1 => Just(Loss::Request), 1 => Just(Loss::Answer)];
    let wall = prop_oneof![Just(0_i64), -40..40_i64, -1_000_000..1_000_000_i64];
    (delay(), delay(), loss, wall).prop_map(|(to, back, loss, wall)| Fate { to, back, loss, wall })
}

fn trouble() -> impl Strategy<Value = Trouble> {
    prop_oneof![
        5 => (0..40_000_u64).prop_map(Trouble::Freeze),
        1 => Just(Trouble::Kill),
        1 => Just(Trouble::Stop),
    ]
}

/// A script whose clocks run at these speeds.
pub(super) fn script(speeds: std::ops::RangeInclusive<u64>) -> impl Strategy<Value = Script> {
    (
        prop::collection::vec(speeds, 2..=3),
        prop::collection::vec(fate(), 1..200),
        prop::collection::vec((0..FAULTS_END, 0..3_usize, trouble()), 0..12),
        prop::collection::vec(0..FAULTS_END, 0..4),
    )
        .prop_map(|(speeds, fates, troubles, edits)| Script { speeds, fates, troubles, edits })
}
