//! The imperative shell of the Ballast operators: one reconcile pipeline, one gate for writes, metrics, health.
//!
//! | module | subject |
//! |---|---|
//! | [`operator`] | what an operator brings: the trait |
//! | [`cli`] | the command line of an operator binary |
//! | [`pipeline`] | one pass over one resource |
//! | [`writer`], [`gate`], [`clock`] | the one place through which every mutating call goes |
//! | [`permission`] | the bootstrap record, claims and tickets |
//! | `lease` | which of several replicas may write: leader election |
//! | [`observe`] | live reads |
//! | [`store`], [`packed`], [`cache`] | what the watches have seen |
//! | [`companion`] | resources that ask something of a cluster |
//! | [`queue`], [`lane`], [`controller`] | which resource is looked at when |
//! | [`events`], [`metrics`], [`telemetry`], [`health`], [`http`] | what people and machines see |
//! | [`shutdown`] | how it ends |
//! | [`crd`], [`reference`], [`offline`] | subcommands that need no cluster |
//! | [`prepare`] | the init container of every application pod |

pub mod backoff;
pub mod cache;
mod check;
pub mod cli;
pub mod clock;
pub mod companion;
pub mod controller;
pub mod crd;
pub mod events;
mod execute;
#[cfg(test)]
mod fake_api;
pub mod gate;
pub mod health;
pub mod http;
mod kind;
pub mod lane;
mod lease;
mod memory;
pub mod metrics;
pub mod observe;
pub mod offline;
pub mod operator;
#[cfg(test)]
mod operator_tests;
pub mod packed;
mod patience;
mod pending;
pub mod permission;
pub mod pipeline;
pub mod prepare;
pub mod queue;
pub mod reference;
mod report;
pub mod requests;
mod run;
pub mod server_time;
pub mod shutdown;
mod status;
pub mod store;
pub mod telemetry;
mod watch;
mod write_error;
pub mod writer;

pub use pending::NameTaken;
pub use watch::Namespaces;
