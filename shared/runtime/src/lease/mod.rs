//! Leader election over a Lease of the API server, as Kubernetes' own components do it.
//!
//! | module | subject |
//! |---|---|
//! | `timing` | durations, and the relations between them that make it safe |
//! | `record` | what stands in a Lease |
//! | `elector` | pure: what was answered and what time it is → what to ask next, and until when this process leads |
//! | `candidate` | the shell: asks the API server, moves the gate, tells people |
//! | `arguments` | the command line |
//!
//! Nothing here compares a clock with somebody else's: times in the Lease are written for people and never read.

mod arguments;
mod candidate;
mod elector;
#[cfg(test)]
mod elector_tests;
mod record;
#[cfg(test)]
mod simulation;
mod timing;

pub(crate) use self::{
    arguments::{ElectionArgs, ElectionSettings},
    candidate::Candidate,
    elector::{Outcome, Standing},
};
