//! The imperative shell of the Ballast operators: one reconcile pipeline, one gate for writes, metrics, health.

pub mod operator;
