//! The command line.

use std::path::PathBuf;

use clap::Parser;
use serde_json::{Value, json};

/// Measures the etcd operator with many clusters whose members are simulated.
#[derive(Clone, Debug, Parser)]
#[command(version)]
pub struct Options {
    /// Clusters that are created one after another, each deleted afterwards.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeats: u32,
    /// Clusters that are created at once, after which the operator is left alone for a while.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    pub burst: u32,
    /// Clusters that are then created at once.
    #[arg(long, default_value_t = 500)]
    pub flood: u32,
    /// Clusters there are in the end.
    #[arg(long, default_value_t = 1000)]
    pub clusters: u32,
    /// Members of each cluster.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=9))]
    pub members: u32,
    /// Secrets that have nothing to do with the clusters.
    #[arg(long, default_value_t = 10_000)]
    pub secrets: u32,
    /// Size of each of them, in KiB.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=700))]
    pub secret_kib: u32,
    /// Pods that have nothing to do with the clusters.
    #[arg(long, default_value_t = 5_000)]
    pub pods: u32,
    /// For how many seconds the operator is watched while nothing happens.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub idle_seconds: u32,
    /// The operator's binary; without it, the one that was built beside this program.
    #[arg(long)]
    pub operator: Option<PathBuf>,
    /// Where the report goes, as JSON.
    #[arg(long)]
    pub report: Option<PathBuf>,
}

impl Options {
    /// What a reader of the report needs to know.
    pub fn to_json(&self) -> Value {
        json!({
            "repeats": self.repeats, "burst": self.burst, "flood": self.flood, "clusters": self.clusters,
            "members": self.members, "secrets": self.secrets, "secretKiB": self.secret_kib,
            "pods": self.pods, "idleSeconds": self.idle_seconds,
        })
    }
}
