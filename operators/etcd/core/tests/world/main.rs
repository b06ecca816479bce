//! The pure half of the etcd operator in a simulated world: scenarios with a watcher after every write.
//!
//! | module | what |
//! |---|---|
//! | [`probe`] | what the operator hears of the simulated etcd |
//! | [`simulation`] | the world, etcd and one resource together; time, users, clients |
//! | [`operator`], [`act`] | a pass as the runtime and the operator's `act` make it, with a crash switch |
//! | [`watch`], [`watchers`] | the invariants, and that each of them can fail |
//! | [`scenarios`] | what must happen when things change and break |
//! | [`convergence`] | the same with random edits, faults, crashes and stale looks |
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
// A model is written to read like what it models.
#![allow(clippy::needless_pass_by_value, clippy::single_match_else)]

mod act;
mod convergence;
mod operator;
mod probe;
mod scenarios;
mod simulation;
mod watch;
mod watchers;
