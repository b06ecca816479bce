//! Where partitions go: tables, properties over generated clusters, and figures.

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
