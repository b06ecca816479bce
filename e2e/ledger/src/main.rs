//! Writes to a server and keeps a ledger of what was acknowledged; runs in the cluster under test.

fn main() {}
