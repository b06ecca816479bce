//! The scenarios that the operators must pass on a real cluster.

fn main() {}
