//! The guard: the entry point of every application container that Ballast makes.
//!
//! It runs at *every* container start and decides whether the volume may be used: it execs the application or it
//! refuses. It needs nothing but files, so pods come back by themselves without an operator. The binary
//! `ballast-guard` is thin; operators use this library to write tickets and arguments and to read refusals.
//!
//! | module | what | pure |
//! |---|---|---|
//! | [`ticket`] | [`Ticket`]: the one-time permission to start without data, written by the operator | yes |
//! | [`marker`] | [`Marker`]: the file in the volume that says whose it is | yes |
//! | [`decide`] | the decision table: [`Facts`] to [`Decision`] | yes |
//! | [`refusal`] | [`Refusal`]: exit codes and termination messages, and their parser | yes |
//! | [`room`] | what is said of a full volume before the application starts | reads |
//! | [`termination`] | writes the termination message | IO |
//! | [`args`] | [`RunArgs`]: the command line, parsed and written | yes |
//! | [`evidence`] | [`Pattern`]: which files prove that there is data | reads |
//! | [`volume`] | gathers the facts; cleans the data directory | IO |
//! | [`start`] | the ordered steps of a start, then the exec; `install` | IO |
//!
//! # What is safe after a crash
//! Every file is written under a temporary name, synced, renamed, and its directory synced. The order of a start
//! with a ticket is: clean, marker, configuration, gate, used-note, exec. Until the used-note exists a repeated
//! start takes the same ticket again and finds nothing but its own leftovers; from then on a start without data in
//! the same pod is refused. Nothing is ever deleted before the decision is to start with a ticket.
//!
//! The command line is described by [`args::USAGE`].

pub mod args;
pub mod decide;
pub mod evidence;
mod files;
pub mod marker;
pub mod refusal;
pub mod room;
pub mod start;
pub mod termination;
pub mod ticket;
pub mod volume;

pub use args::{ConfigCopy, Invocation, RunArgs};
pub use decide::{Decision, Facts, Start, decide};
pub use evidence::Pattern;
pub use marker::Marker;
pub use refusal::Refusal;
pub use ticket::{Ticket, TicketKind};
