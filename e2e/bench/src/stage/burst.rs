//! Many clusters created at once.

use std::time::Instant;

use anyhow::Result;

use crate::{
    bench::{Bench, DEADLINE},
    clusters,
    options::Options,
    report::{Figure, Report},
    sightings::What,
};

/// Creates `count` clusters.
pub(super) async fn run(
    bench: &Bench,
    options: &Options,
    report: &mut Report,
    name: &str,
    count: u32,
) -> Result<()> {
    println!("{count} clusters of {} at once", options.members);
    let names: Vec<String> = (0..count).map(|number| format!("{name}{number}")).collect();
    let begun = Instant::now();
    clusters::create_all(&bench.client, &bench.namespace, &names, options.members).await?;
    let created = begun.elapsed();
    let seen = bench.sightings.of(&names, What::StatefulSet, DEADLINE).await?;
    let ready = bench.sightings.of(&names, What::Ready, DEADLINE).await?;
    let last = |seen: Vec<Instant>| {
        seen.into_iter().max().map_or(f64::NAN, |last| last.duration_since(begun).as_secs_f64())
    };
    let aim = match count {
        100 => Some(2.0),
        500 => Some(10.0),
        _ => None,
    };
    report.add(Figure::told(format!("{count} at once: requests accepted"), "s", created.as_secs_f64()));
    let sets = Figure::told(format!("{count} at once: all have a StatefulSet"), "s", last(seen));
    report.add(sets.at_most_if(aim.is_some(), aim.unwrap_or_default()));
    report.add(Figure::told(format!("{count} at once: all are ready"), "s", last(ready)));
    Ok(())
}
