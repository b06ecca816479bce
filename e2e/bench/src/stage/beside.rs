//! Much that is not ours, beside the clusters.

use std::time::Instant;

use anyhow::Result;

use super::{memory, mib, settled, single::latency};
use crate::{
    bench::Bench,
    clusters,
    options::Options,
    report::{Figure, Report},
};

pub(super) async fn run(bench: &mut Bench, options: &Options, report: &mut Report, there: u32) -> Result<()> {
    let (secrets, pods, kib) = (options.secrets, options.pods, options.secret_kib);
    println!("{secrets} Secrets of {kib} KiB and {pods} pods that are not ours");
    let before = bench.memory()?.resident;
    let begun = Instant::now();
    clusters::create_secrets(&bench.client, &bench.namespace, secrets, kib).await?;
    clusters::create_pods(&bench.client, &bench.namespace, pods).await?;
    report.note(format!("what is not ours was created within {:.0} s", begun.elapsed().as_secs_f64()));
    let full = there >= 1000 && secrets >= 10_000 && pods >= 5_000;
    memory(bench, report, "beside all that is not ours", full.then_some(40.0))?;
    let grown = mib(bench.memory()?.resident) - mib(before);
    report.add(Figure::told("memory that it took", "MiB", grown));
    latency(bench, options.repeats.div_ceil(5), report, " beside all that", None).await?;

    println!("a new operator");
    let ready = bench.restart().await?;
    report.add(Figure::told("a new operator begins within", "s", ready.as_secs_f64()));
    settled(bench, report, there, (u32::MAX, 0.0)).await?;
    let own = bench.counters.own().await?;
    let writes = u32::try_from(own.writes).map_or(f64::NAN, f64::from);
    report.add(Figure::told("writes of the new operator", "", writes).at_most(0.0));
    Ok(())
}
