//! Two replicas; the one that leads is frozen in the middle of its work, and wakes up when the other has done it.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ballast_testbed::{
    Class, Operated,
    census::{Census, compare, kinds},
    wait,
};

use crate::{
    bed::{bed, replica, turns},
    crash::path::Path,
};

const DEADLINE: Duration = Duration::from_mins(1);

/// Freezes the leader after so many writes of objects.
pub fn leader(after: usize) {
    bed().block_on(run(after)).unwrap_or_else(|error| panic!("frozen after {after} writes: {error:#}"));
}

async fn run(after: usize) -> Result<()> {
    let _turn = turns().acquire().await?;
    let client = bed().client();
    // What happens when nobody is frozen.
    let mut reference = vec![];
    for _ in 0..2 {
        let namespace = bed().namespace("calm").await?;
        let census = Census::start(client, &namespace, kinds()).await?;
        let _one = start(&namespace, "one").await?;
        Path::Create.walk(client, &namespace).await?;
        reference.push(census.run().await?);
        bed().discard(&namespace).await?;
    }

    let namespace = bed().namespace("frozen").await?;
    let census = Census::start(client, &namespace, kinds()).await?;
    let first = start(&namespace, "one").await?;
    wait::until(DEADLINE, "the first replica to lead", || async {
        Ok(first.operator.logged().iter().any(leads).then_some(()))
    })
    .await?;
    let second = start(&namespace, "two").await?;
    let walk = Path::Create.walk(client, &namespace);
    let freeze = async {
        wait::until(DEADLINE, "the first replica to be at work", || async {
            Ok((objects(&first) >= after).then_some(()))
        })
        .await?;
        first.operator.freeze()?;
        let frozen = Instant::now();
        wait::until(DEADLINE, "the second replica to act", || async {
            Ok((objects(&second) > 0).then_some(()))
        })
        .await?;
        anyhow::Ok(frozen.elapsed())
    };
    let (walked, took_over) = tokio::join!(walk, freeze);
    let took_over = took_over?;
    walked?;
    let before = objects(&first);
    first.operator.thaw()?;
    wait::until(DEADLINE, "the first replica to end", || async {
        Ok(first.operator.has_ended().then_some(()))
    })
    .await?;
    ensure!(objects(&first) == before, "it woke up and wrote: {:?}", first.proxy.writes().last());
    ensure!(second.operator.panics().is_empty() && first.operator.panics().is_empty(), "it panicked");
    second.operator.must_run()?;
    let differences = compare(&reference, &census.run().await?);
    ensure!(differences.is_empty(), "{differences:?}");
    eprintln!("frozen after {after} writes: the other acted {:.1} s later", took_over.as_secs_f64());
    bed().discard(&namespace).await
}

async fn start(namespace: &str, pod: &str) -> Result<Operated> {
    Operated::start(bed().control_plane(), replica(namespace, pod), namespace, vec![]).await
}

/// Writes of objects and statuses: what only a leader may do.
fn objects(one: &Operated) -> usize {
    one.proxy.points().iter().filter(|point| matches!(point.class, Class::Object | Class::Status)).count()
}

fn leads(line: &serde_json::Value) -> bool {
    line["message"].as_str().is_some_and(|message| message.contains("this replica leads"))
}
