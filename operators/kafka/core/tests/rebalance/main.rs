//! Where partitions go: tables, properties over generated clusters, and figures.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "small numbers, and ratios that are only looked at"
)]
#![expect(clippy::unwrap_used, reason = "what the tests share is test code too")]

mod drain;
mod exhaustive;
mod figures;
mod generator;
mod hot;
mod leaders;
mod properties;
mod referee;
mod schedule;
mod snapshot;
mod spread;
mod world;
