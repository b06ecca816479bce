//! Nothing happens: what does the operator do?

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::{
    bench::Bench,
    options::Options,
    report::{Figure, Report},
};

/// Watches the operator, of which `clusters` clusters want nothing.
pub(super) async fn run(bench: &Bench, options: &Options, report: &mut Report, clusters: u32) -> Result<()> {
    println!("{} s in which nothing happens, with {clusters} clusters", options.idle_seconds);
    let (begun, before, requests) = (Instant::now(), bench.processor()?, bench.counters.all().await?);
    tokio::time::sleep(Duration::from_secs(options.idle_seconds.into())).await;
    let (used, minutes) = (bench.processor()?.saturating_sub(before), begun.elapsed().as_secs_f64() / 60.0);
    let requests = bench.counters.all().await?.since(&requests);
    let figure = |what: &str, unit, value: f64| {
        Figure::told(format!("idle with {clusters} clusters: {what}"), unit, value / minutes)
    };
    let count = |number: u64| u32::try_from(number).map_or(f64::NAN, f64::from);
    // Of a hundred clusters and the one of before.
    let comparable = (100..=101).contains(&clusters) && options.members == 1;
    report.add(figure("processor time per minute", "s", used.as_secs_f64()).at_most_if(comparable, 0.1));
    report.add(figure("passes per minute", "", count(requests.passes)));
    report.add(figure("writes per minute, without the lease", "", count(requests.writes)).at_most(0.0));
    report.add(figure("lists per minute, whoever sent them", "", count(requests.lists)).at_most(0.0));
    for (method, number) in requests.methods {
        report.add(figure(&format!("{method} per minute"), "", count(number)));
    }
    Ok(())
}
