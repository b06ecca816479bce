//! How soon the operator begins.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use kube::api::DeleteParams;
use serde_json::json;

use super::cluster::{Cluster, spec};
use crate::scenario::Context;

const SAMPLES: usize = 20;

/// Apply to first StatefulSet, over clusters that are made one after another.
pub(crate) async fn first_object(context: &Context<'_>) -> Result<()> {
    let mut times = vec![];
    for index in 0..SAMPLES {
        let name = format!("c{index}");
        let begun = Instant::now();
        let ephemeral = json!({"storage": {"size": null, "ephemeral": {}}});
        let cluster = Cluster::create(context, &name, spec(1, "3.6.16", &ephemeral)).await?;
        let sets = cluster.stateful_sets();
        while sets.get_opt(&format!("{name}-0")).await?.is_none() {
            ensure!(begun.elapsed() < Duration::from_secs(30), "no StatefulSet after 30 s");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        times.push(u64::try_from(begun.elapsed().as_millis())?);
        cluster.api().delete(&name, &DeleteParams::default()).await?;
    }
    times.sort_unstable();
    context.figure("apply to first StatefulSet, p50 (ms)", times[SAMPLES / 2]);
    context.figure("apply to first StatefulSet, p99 of 20 (ms)", times[SAMPLES - 1]);
    Ok(())
}
