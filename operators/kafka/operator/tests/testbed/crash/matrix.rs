//! All the runs of a path, and what they must have in common.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use ballast_kafka_core::api::KafkaCluster;
use ballast_kafka_simulated::server::{Moment as KafkaMoment, Strike};
use ballast_testbed::{
    Class, Disturbance, Moment, Operated, Point, Run,
    census::{Census, compare, kinds},
    wait::{self, Seen},
};
use futures::StreamExt;
use kube::api::ApiResource;

use crate::{
    bed::{bed, kafka, operator, sample, turns},
    crash::path::Path,
};

/// Several passes that find nothing, with a look every second.
const QUIET: Duration = Duration::from_secs(3);
const DEADLINE: Duration = Duration::from_mins(1);
/// No run takes longer, its turn once come; each wait in it has a deadline of its own, but not each request.
const LIMIT: Duration = Duration::from_mins(12);

/// One in so many blows is struck unless asked otherwise: all of them take two cores many minutes.
const EVERY: usize = 40;

/// What is done to the operator in a run.
#[derive(Clone, Debug, PartialEq)]
enum Blow {
    /// It is killed around a write to the API server.
    AtApi(Moment, Point),
    /// A request to Kafka that changes something is not done, or its answer is lost; it is killed with that, or not.
    AtKafka { moment: KafkaMoment, number: usize, killed: bool },
}

/// What came of a run.
struct Walked {
    run: Run,
    /// Writes of each class while the path was walked.
    writes: BTreeMap<Class, usize>,
    /// Requests that changed something in Kafka.
    asked: Vec<String>,
    /// Bytes that Kafka copied.
    copied: u64,
    /// Whether the blow was struck.
    struck: bool,
}

/// Strikes the operator around every write of the path, and every request to Kafka that changes something.
pub fn exhaust(path: Path) {
    let begun = Instant::now();
    let counts = bed().block_on(all(path)).unwrap_or_else(|error| panic!("{path:?}: {error:#}"));
    let Counts { struck, missed, left_out, copied } = counts;
    eprintln!(
        "{path:?}: struck {struck} times, {missed} moments did not come, {left_out} left out; {copied} bytes copied; {:.0} s",
        begun.elapsed().as_secs_f64()
    );
    // Several passes may share a status when the machine is slow. If most moments do not come, the test shows nothing.
    assert!(struck > missed, "{missed} of {} moments did not come", struck + missed);
}

#[derive(Default)]
struct Counts {
    struck: usize,
    missed: usize,
    left_out: usize,
    copied: u64,
}

async fn all(path: Path) -> Result<Counts> {
    let (first, second) = tokio::try_join!(walk(path, None), walk(path, None))?;
    let blows = [at_api(&first.writes, &second.writes), at_kafka(&first.asked, &second.asked)].concat();
    ensure!(blows.len() >= 16, "it writes next to nothing: {:?}, {:?}", first.writes, first.asked);
    let total = blows.len();
    let chosen = sample(blows, EVERY);
    let mut counts = Counts { left_out: total - chosen.len(), copied: first.copied, ..Counts::default() };
    let reference = [first.run, second.run];
    let mut wrong = vec![];
    let runs = chosen.iter().map(|blow| async move { (blow, walk(path, Some(blow)).await) });
    let mut runs = futures::stream::iter(runs).buffer_unordered(chosen.len());
    while let Some((blow, outcome)) = runs.next().await {
        let faults: Vec<String> = match outcome {
            Ok(walked) => {
                if walked.struck {
                    counts.struck += 1;
                } else {
                    counts.missed += 1;
                }
                compare(&reference, &walked.run).iter().map(|one| format!("{blow:?}: {one}")).collect()
            }
            Err(error) => vec![format!("{blow:?}: {error:#}")],
        };
        // All runs of a path take long: whoever looks on learns of it at once.
        for fault in faults {
            eprintln!("{path:?}: {fault}");
            wrong.push(fault);
        }
    }
    ensure!(wrong.is_empty(), "{} faults in {} runs:\n{}", wrong.len(), chosen.len(), wrong.join("\n"));
    Ok(counts)
}

fn at_api(first: &BTreeMap<Class, usize>, second: &BTreeMap<Class, usize>) -> Vec<Blow> {
    let both = first
        .iter()
        .map(|(class, count)| (*class, second.get(class).copied().unwrap_or_default().min(*count)));
    both.flat_map(|(class, count)| (1..=count).map(move |number| Point { class, number }))
        .flat_map(|point| [Moment::Before, Moment::After].map(|moment| Blow::AtApi(moment, point)))
        .collect()
}

fn at_kafka(first: &[String], second: &[String]) -> Vec<Blow> {
    let blows = [
        (KafkaMoment::Before, true),
        (KafkaMoment::After, true),
        (KafkaMoment::Before, false),
        (KafkaMoment::After, false),
    ];
    (1..=first.len().min(second.len()))
        .flat_map(|number| blows.map(|(moment, killed)| Blow::AtKafka { moment, number, killed }))
        .collect()
}

async fn walk(path: Path, blow: Option<&Blow>) -> Result<Walked> {
    let _turn = turns().acquire().await?;
    let at = Mutex::new("nothing yet");
    let stage = |what| *at.lock().unwrap_or_else(PoisonError::into_inner) = what;
    match tokio::time::timeout(LIMIT, walk_once(path, blow, &stage)).await {
        Ok(walked) => walked,
        Err(_) => bail!(
            "it did not end in {} s; the last that it began: {}",
            LIMIT.as_secs(),
            at.lock().unwrap_or_else(PoisonError::into_inner)
        ),
    }
}

/// `stage` is told what begins.
async fn walk_once(path: Path, blow: Option<&Blow>, stage: &(dyn Fn(&'static str) + Sync)) -> Result<Walked> {
    stage("a namespace");
    let namespace = bed().namespace(&path.name()).await?;
    let client = bed().client();
    let mut counted = kinds();
    counted.push(ApiResource::erase::<KafkaCluster>(&()));
    stage("the census");
    let census = Census::start(client, &namespace, counted).await?;
    stage("the operator");
    let operated = Operated::start(bed().control_plane(), operator(), &namespace, vec![]).await?;
    stage("what comes before the blow");
    path.prepare(client, &namespace).await.context("before the blow")?;
    let before = numbers(&operated.proxy.points());
    let asked = kafka().writes(&namespace).len();
    let bound = if path == Path::Create { 0 } else { path.bound(&namespace)? };
    aim(blow, &operated, &namespace, &before, asked);
    stage("the path");
    path.walk(client, &namespace).await?;
    stage("to be quiet");
    quiet(&operated, &namespace).await?;
    operated.operator.must_run()?;
    let panics = operated.operator.panics();
    ensure!(panics.is_empty(), "it panicked: {panics:?}");
    let violations = kafka().violations(&namespace);
    ensure!(violations.is_empty(), "{violations:?}");
    path.check(&namespace)?;
    let copied = kafka().edit(&namespace, |kafka| kafka.copied).unwrap_or_default();
    ensure!(copied == bound, "{copied} bytes were copied, and {bound} are the least");
    stage("what the census saw");
    let run = census.run().await?;
    let mut writes = numbers(&operated.proxy.points());
    for (class, before) in before {
        writes.entry(class).and_modify(|count| *count -= before);
    }
    let struck = kafka().struck(&namespace) > 0 || !operated.proxy.kills().is_empty();
    let asked = kafka().writes(&namespace).split_off(asked);
    stage("to end the operator");
    drop(operated);
    stage("to delete the namespace");
    bed().discard(&namespace).await?;
    Ok(Walked { run, writes, asked, copied, struck })
}

/// Has the blow struck when its moment comes; what was written before is not counted.
fn aim(
    blow: Option<&Blow>,
    operated: &Operated,
    namespace: &str,
    before: &BTreeMap<Class, usize>,
    asked: usize,
) {
    match blow {
        None => {}
        Some(Blow::AtApi(moment, point)) => {
            let number = before.get(&point.class).copied().unwrap_or_default() + point.number;
            operated.proxy.disturb(vec![Disturbance::Kill(*moment, Point { number, ..*point })]);
        }
        Some(Blow::AtKafka { moment, number, killed }) => {
            let act = if *killed { operated.operator.killer() } else { Arc::new(|| ()) };
            kafka().strike(namespace, Strike { number: asked + number, moment: *moment, act });
        }
    }
}

/// Waits until the operator has changed nothing for a while, neither in Kubernetes nor in Kafka.
async fn quiet(operated: &Operated, namespace: &str) -> Result<()> {
    let mut asked = (0, Instant::now());
    wait::until(DEADLINE, &format!("{namespace} to be quiet"), || {
        let count = kafka().writes(namespace).len();
        if count != asked.0 {
            asked = (count, Instant::now());
        }
        let quiet = operated.proxy.quiet_for().map(|quiet| quiet.min(asked.1.elapsed()));
        async move {
            Ok(match quiet {
                Some(quiet) if quiet >= QUIET => Seen::Met(()),
                _ => Seen::NotYet(format!("last write {quiet:?} ago: {:?}", operated.proxy.writes().last())),
            })
        }
    })
    .await
}

fn numbers(points: &[Point]) -> BTreeMap<Class, usize> {
    let mut numbers = BTreeMap::new();
    for point in points {
        *numbers.entry(point.class).or_default() += 1;
    }
    numbers
}
