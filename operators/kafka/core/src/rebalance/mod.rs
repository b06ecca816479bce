//! Where partitions go: (snapshot, request) → plan. Pure and deterministic; nothing of it is ever stored.
//!
//! | module | what lives in it |
//! |---|---|
//! | [`snapshot`] | a cluster at one moment, and its file form |
//! | [`request`] | what is wanted |
//! | [`outcome`] | the plan: moves, what is blocked and why, figures |
//! | [`schedule`] | which moves of a plan are sent next, and how they are throttled |
//! | `drain`, `leaders`, `spread`, `hot` | one way to improve a cluster each |
//! | `layout` | the cluster as it will be, while a plan is made; `load`, `roster`, `racks`, `target`: what it is made of |
//!
//! A plan is made anew from what Kafka says, in every pass. Moves that are done are then simply no longer needed, and
//! moves that run are recognised ([`outcome::InFlight`]); so an operator that is killed anywhere goes on where it was.

mod drain;
mod emit;
mod flights;
mod hot;
mod layout;
mod leaders;
mod load;
mod order;
pub mod outcome;
mod racks;
mod report;
pub mod request;
mod roster;
pub mod schedule;
pub mod snapshot;
mod spread;
mod target;

use flights::Flights;
use layout::{Layout, Style};
use outcome::Plan;
use request::{Goal, Request, RequestError};
use roster::Roster;
use snapshot::Snapshot;

/// Decides where partitions go.
///
/// A plan never blocks as a whole: what cannot be placed is in [`Plan::infeasible`] or [`Plan::blocked`], the rest is
/// planned. Whether to begin at all while a topic is infeasible is the caller's decision.
///
/// # Errors
/// Only for requests that make no sense for this snapshot, before anything is planned.
pub fn plan(snapshot: &Snapshot, request: &Request) -> Result<Plan, RequestError> {
    request.check(snapshot)?;
    let roster = Roster::new(snapshot, request);
    let flights = Flights::classify(snapshot, &roster, request);
    let mut layout = Layout::new(snapshot, &roster, Style::of(request));
    let before = report::measure(&layout, &roster.alive);
    let found = match &request.goal {
        Goal::Drain { .. } => drain::plan(&mut layout, &flights, request),
        Goal::Spread { onto } => spread::plan(&mut layout, &flights, request, onto),
        Goal::HotPartitions | Goal::Full => hot::plan(&mut layout, &flights, request),
    };
    Ok(emit::plan(&mut layout, &flights, found, before))
}
