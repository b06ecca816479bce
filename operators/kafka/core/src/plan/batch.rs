//! Which replicas are moved next, whatever for: within the limits of the specification, and throttled.

use super::{Context, Next, drain::listed, throttle};
use crate::{
    intent::Intent,
    moving::Moving,
    rebalance::{
        outcome::Move,
        schedule::{self, Limits},
    },
    relocation::Relocation,
};

/// What may be sent now.
pub(super) struct Batch {
    /// Where replicas go.
    moves: Vec<Move>,
    /// How many partitions have replicas that have to catch up first.
    pub(super) behind: usize,
}

impl Batch {
    /// Of what is still to be moved.
    pub(super) fn of(context: &Context<'_>, relocation: &Relocation) -> Self {
        let limits = Limits {
            per_source: context.desired.concurrency,
            per_target: context.desired.concurrency,
            ..Limits::default()
        };
        let plan = &relocation.plan;
        let batch = schedule::next(&relocation.snapshot, plan, &limits);
        let moves = batch.moves.iter().map(|index| plan.moves[*index].clone()).collect();
        Self { moves, behind: batch.behind }
    }

    /// Sends it, with the throttle that it needs before; `None`: there is nothing to be sent.
    pub(super) fn send(
        &self,
        context: &Context<'_>,
        relocation: &Relocation,
        moving: &Moving,
        why: String,
    ) -> Option<Intent> {
        let moves = self.moves.clone();
        (!moves.is_empty()).then(|| {
            let throttle = throttle::wanted(context, relocation, moving, &moves.iter().collect::<Vec<_>>());
            Intent::MoveReplicas { moves, throttle, why }
        })
    }
}

/// Waits for what runs; `None`: nothing does.
pub(super) fn under_way(relocation: &Relocation, what: &str) -> Option<Next> {
    let (running, waiting) = (relocation.in_flight(), relocation.plan.moves.len());
    let message = || {
        let progress = format!("{what}: {running} partitions are being moved, {waiting} wait");
        if relocation.stuck.is_empty() {
            return progress;
        }
        let stuck = listed(relocation.stuck.iter().map(ToString::to_string));
        format!("{progress}; these do not get on: {stuck}")
    };
    (running > 0).then(|| Next::busy("replicas-moved", "MovingReplicas", message()))
}
