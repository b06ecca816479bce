//! One cluster, and the way from a new cluster to its first StatefulSet.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{memory, millis};
use crate::{
    bench::{Bench, DEADLINE},
    clusters,
    options::Options,
    percentile::Sample,
    report::{Figure, Report},
    sightings::What,
};

pub(super) async fn run(bench: &Bench, options: &Options, report: &mut Report) -> Result<()> {
    println!("one cluster of {}", options.members);
    memory(bench, report, "without a cluster", None)?;
    let first = ["one".to_owned()];
    clusters::create_all(&bench.client, &bench.namespace, &first, options.members).await?;
    bench.sightings.of(&first, What::Ready, DEADLINE).await?;
    bench.quiet().await?;
    report.add(Figure::told(
        "writes for the first cluster",
        "",
        f64::from(u32::try_from(bench.counters.own().await?.writes)?),
    ));
    memory(bench, report, "with 1 cluster", Some(15.0))?;

    println!("{} clusters one after another", options.repeats);
    latency(bench, options.repeats, report, "", Some(20.0)).await
}

/// Measures the way from just before the request to the event of the first StatefulSet.
pub(super) async fn latency(
    bench: &Bench,
    repeats: u32,
    report: &mut Report,
    when: &str,
    aim: Option<f64>,
) -> Result<()> {
    let mut took: Vec<Duration> = vec![];
    for number in 0..repeats {
        let name = format!("single{}{number}", when.len());
        let begun = Instant::now();
        // One member is enough: the others come later.
        clusters::create(&bench.client, &bench.namespace, &name, 1).await?;
        let seen = bench.sightings.of(std::slice::from_ref(&name), What::StatefulSet, DEADLINE).await?;
        took.extend(seen.first().map(|seen| seen.duration_since(begun)));
        bench.sightings.of(std::slice::from_ref(&name), What::Ready, DEADLINE).await?;
        clusters::delete(&bench.client, &bench.namespace, &name).await?;
        bench.sightings.gone(&name, DEADLINE).await?;
    }
    let sample: Sample = took.into_iter().collect();
    let figure = |percent: &str, value| {
        Figure::told(format!("create to first StatefulSet{when}, {percent}"), "ms", millis(value))
    };
    report.add(figure("p50", sample.percentile(50)).at_most_if(aim.is_some(), aim.unwrap_or_default()));
    report.add(figure("p90", sample.percentile(90)));
    report.add(figure("p99", sample.percentile(99)));
    report.add(figure("max", sample.max()));
    Ok(())
}
