//! The stages, in their order: each leaves its clusters to the next.
//!
//! | module | what |
//! |---|---|
//! | `single` | one cluster, and the way to the first StatefulSet again and again |
//! | `burst` | many at once |
//! | `idle` | nothing happens |
//! | `beside` | much that is not ours, and a new operator that finds all of it |

mod beside;
mod burst;
mod idle;
mod single;

use std::time::Duration;

use anyhow::Result;

use crate::{
    bench::Bench,
    options::Options,
    report::{Figure, Report},
};

/// All of them.
pub async fn all(bench: &mut Bench, options: &Options, report: &mut Report) -> Result<()> {
    single::run(bench, options, report).await?;
    let mut there = 1;
    for (name, count, aim) in [
        ("burst", options.burst, (100, 25.0)),
        ("flood", options.flood, (500, 40.0)),
        ("rest", options.clusters.saturating_sub(1 + options.burst + options.flood), (1000, 40.0)),
    ] {
        if count == 0 {
            continue;
        }
        burst::run(bench, options, report, name, count).await?;
        there += count;
        settled(bench, report, there, aim).await?;
        if name != "flood" {
            idle::run(bench, options, report, there).await?;
        }
    }
    beside::run(bench, options, report, there).await
}

/// Waits until the operator is done, and tells its memory. The aim is for at least `aim.0` clusters.
async fn settled(bench: &Bench, report: &mut Report, clusters: u32, aim: (u32, f64)) -> Result<()> {
    bench.quiet().await?;
    memory(bench, report, &format!("with {clusters} clusters"), (clusters >= aim.0).then_some(aim.1))
}

fn memory(bench: &Bench, report: &mut Report, when: &str, aim: Option<f64>) -> Result<()> {
    let memory = bench.memory()?;
    let resident = Figure::told(format!("resident memory {when}"), "MiB", mib(memory.resident));
    report.add(resident.at_most_if(aim.is_some(), aim.unwrap_or_default()));
    report.add(Figure::told(format!("of it heap and stacks {when}"), "MiB", mib(memory.own)));
    report.add(Figure::told(format!("peak memory {when}"), "MiB", mib(memory.peak)));
    Ok(())
}

fn mib(kib: u64) -> f64 {
    // Far below what a float cannot tell apart, and u32 is 4 TiB.
    f64::from(u32::try_from(kib).unwrap_or(u32::MAX)) / 1024.0
}

fn millis(duration: Option<Duration>) -> f64 {
    duration.map_or(f64::NAN, |duration| duration.as_secs_f64() * 1000.0)
}
