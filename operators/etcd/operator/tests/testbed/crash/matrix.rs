//! All the runs of a path, and what they must have in common.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use ballast_etcd_core::api::EtcdCluster;
use ballast_etcd_simulated::server::{Fault, Request, Rule};
use ballast_testbed::{
    Class, Disturbance, Fault as ApiFault, Moment, Operated, Point, Run,
    census::{Census, compare, kinds},
    wait::{self, Seen},
};
use futures::StreamExt;
use kube::api::ApiResource;

use crate::{
    bed::{bed, etcd, operator, sample, turns},
    crash::path::Path,
};

/// Several passes that find nothing, with a look every second.
const QUIET: Duration = Duration::from_secs(3);
const DEADLINE: Duration = Duration::from_mins(1);
/// Longer than the operator waits for an answer of etcd.
const LATE: Duration = Duration::from_secs(3);

/// One in so many blows is struck unless asked otherwise: all of them take two cores many minutes.
const EVERY: usize = 8;

/// What is done to the operator in a run.
#[derive(Clone, Debug, PartialEq)]
enum Blow {
    /// It is killed around a write to the API server.
    AtApi(Moment, Point),
    /// Its first request of this kind meets a fault, and it is killed while it waits for the answer, or not.
    AtEtcd { request: Request, fault: Fault, killed: bool },
    /// Its clock is wrong by so much.
    Clock(&'static str),
    /// What it reads or is answered is not as it should be, from then on.
    Disturbed(Vec<Disturbance>),
}

/// What came of a run.
struct Walked {
    run: Run,
    /// Writes of each class while the path was walked.
    writes: BTreeMap<Class, usize>,
    /// Events of each object before and after.
    events: (BTreeMap<String, usize>, BTreeMap<String, usize>),
    /// Whether the blow was struck.
    struck: bool,
}

/// Strikes the operator around every write of the path, and every request to etcd that changes something.
pub fn exhaust(path: Path) {
    strike(path, EVERY, |path, first, second| {
        let at_api = at_api(&first.writes, &second.writes);
        assert!(at_api.len() >= 8, "{path:?} writes next to nothing: {:?}", first.writes);
        [at_api, at_etcd(path)].concat()
    });
}

/// Lets the operator see the path in the wrong order, late, as it was, or with answers that fail.
pub fn disturb(path: Path) {
    strike(path, EVERY, |_, first, second| disturbances(first, second));
}

/// Hides one event from the operator, each in turn.
pub fn hide(path: Path) {
    strike(path, EVERY, |_, first, second| hidden(first, second));
}

/// Gives the operator a clock that is wrong by an hour, either way.
pub fn set_clock(path: Path) {
    strike(path, 1, |_, _, _| ["+1h", "-1h"].map(Blow::Clock).to_vec());
}

fn strike(path: Path, every: usize, blows: impl Fn(Path, &Walked, &Walked) -> Vec<Blow>) {
    let begun = Instant::now();
    let Counts { struck, missed, left_out } =
        bed().block_on(all(path, every, blows)).unwrap_or_else(|error| panic!("{path:?}: {error:#}"));
    eprintln!(
        "{path:?}: struck {struck} times, {missed} moments did not come, {left_out} left out; {:.0} s",
        begun.elapsed().as_secs_f64()
    );
    // Several passes may share a status when the machine is slow, and leadership may be elsewhere already. If most moments do
    // not come, the test shows nothing.
    assert!(struck > missed, "{missed} of {} moments did not come", struck + missed);
}

/// Kubernetes itself takes away what belongs to a deleted resource: the operator has nothing to do.
pub fn nothing_to_write(path: Path) {
    let walked = bed().block_on(walk(path, None)).unwrap_or_else(|error| panic!("{path:?}: {error:#}"));
    assert!(walked.writes.values().all(|count| *count == 0), "{:?}", walked.writes);
}

#[derive(Default)]
struct Counts {
    struck: usize,
    missed: usize,
    left_out: usize,
}

async fn all(
    path: Path,
    every: usize,
    blows: impl Fn(Path, &Walked, &Walked) -> Vec<Blow>,
) -> Result<Counts> {
    let (first, second) = tokio::try_join!(walk(path, None), walk(path, None))?;
    let blows = blows(path, &first, &second);
    let total = blows.len();
    let chosen = if every == 1 { blows } else { sample(blows, every) };
    let reference = [first.run, second.run];
    let mut counts = Counts { left_out: total - chosen.len(), ..Counts::default() };
    let mut wrong = vec![];
    let runs = chosen.iter().map(|blow| async move { (blow, walk(path, Some(blow)).await) });
    let mut runs = futures::stream::iter(runs).buffer_unordered(chosen.len());
    while let Some((blow, outcome)) = runs.next().await {
        match outcome {
            Ok(walked) => {
                if walked.struck {
                    counts.struck += 1;
                } else {
                    counts.missed += 1;
                }
                let differences = compare(&reference, &walked.run);
                wrong.extend(differences.iter().map(|difference| format!("{blow:?}: {difference}")));
            }
            Err(error) => wrong.push(format!("{blow:?}: {error:#}")),
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

fn at_etcd(path: Path) -> Vec<Blow> {
    let faults = [
        (Fault::Silence, true),
        (Fault::AnswerLate(LATE), true),
        (Fault::ApplyLate(Duration::from_millis(500)), true),
        (Fault::Refuse, false),
        (Fault::Silence, false),
        (Fault::ResetAfter, false),
        (Fault::AnswerLate(LATE), false),
        (Fault::ApplyLate(LATE), false),
    ];
    path.asks()
        .iter()
        .flat_map(|request| faults.map(|(fault, killed)| Blow::AtEtcd { request: *request, fault, killed }))
        .collect()
}

/// The seeds of what comes by chance.
const SEEDS: std::ops::Range<u64> = 0..4;

fn disturbances(first: &Walked, second: &Walked) -> Vec<Blow> {
    let faults = vec![
        ApiFault::Conflict,
        ApiFault::TooManyRequests(1),
        ApiFault::InternalError,
        ApiFault::Unavailable,
        ApiFault::Unsent,
        ApiFault::Unanswered,
    ];
    let chance = SEEDS.flat_map(|seed| {
        [
            Disturbance::Answers { seed, one_in: 20, faults: faults.clone() },
            Disturbance::EndWatches { seed, one_in: 4 },
            Disturbance::ShuffleLists { seed },
            Disturbance::Delay { seed, up_to: Duration::from_millis(400) },
        ]
    });
    let count = |walked: &Walked| walked.writes.get(&Class::Object).copied().unwrap_or_default();
    let stale = (1..=count(first).min(count(second))).map(|number| {
        let point = Point { class: Class::Object, number };
        vec![
            Disturbance::Kill(Moment::After, point),
            Disturbance::Stale { before: point, hold: Duration::from_secs(2) },
        ]
    });
    chance.map(|one| vec![one]).chain(stale).map(Blow::Disturbed).collect()
}

fn hidden(first: &Walked, second: &Walked) -> Vec<Blow> {
    // Only what is followed by another event: nobody learns of what is never told again.
    let (before, after) = &first.events;
    let hidden = after.iter().flat_map(|(object, last)| {
        let begin = before.get(object).copied().unwrap_or_default() + 1;
        let end = (*last).min(second.events.1.get(object).copied().unwrap_or_default());
        (begin..end).map(|change| vec![Disturbance::HideEvent { object: object.clone(), change }])
    });
    hidden.map(Blow::Disturbed).collect()
}

/// The same, with the numbers of the run that it is done in.
fn from_now(disturbances: &[Disturbance], before: &BTreeMap<Class, usize>) -> Vec<Disturbance> {
    let moved = |point: Point| Point {
        number: before.get(&point.class).copied().unwrap_or_default() + point.number,
        ..point
    };
    let moved = disturbances.iter().cloned().map(|one| match one {
        Disturbance::Kill(moment, point) => Disturbance::Kill(moment, moved(point)),
        Disturbance::Stale { before, hold } => Disturbance::Stale { before: moved(before), hold },
        other => other,
    });
    moved.collect()
}

async fn walk(path: Path, blow: Option<&Blow>) -> Result<Walked> {
    let _turn = turns().acquire().await?;
    let namespace = bed().namespace(&path.name()).await?;
    let client = bed().client();
    let mut counted = kinds();
    counted.push(ApiResource::erase::<EtcdCluster>(&()));
    let census = Census::start(client, &namespace, counted).await?;
    let program = match blow {
        Some(Blow::Clock(offset)) => operator().with_clock(offset)?,
        _ => operator(),
    };
    let operated = Operated::start(bed().control_plane(), program, &namespace, vec![]).await?;
    path.prepare(client, &namespace).await.context("before the blow")?;
    let before = numbers(&operated.proxy.points());
    let events = operated.proxy.events();
    let walked = path.walk(client, &namespace);
    match blow {
        None | Some(Blow::Clock(_)) => walked.await?,
        Some(Blow::AtApi(moment, point)) => {
            operated.proxy.disturb(from_now(&[Disturbance::Kill(*moment, *point)], &before));
            walked.await?;
        }
        Some(Blow::Disturbed(disturbances)) => {
            operated.proxy.disturb(from_now(disturbances, &before));
            walked.await?;
            // What comes by chance would go on; it is over when the path is.
            operated.proxy.disturb(vec![]);
        }
        Some(Blow::AtEtcd { request, fault, killed }) => {
            etcd().inject(Rule::all(*fault).to(&format!("{namespace}/")).on(*request).times(1));
            let kill = async {
                while *killed && !met(&namespace) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                if *killed {
                    (operated.operator.killer())();
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                walked = walked => walked?,
                () = kill => {}
            }
        }
    }
    wait::until(DEADLINE, &format!("{namespace} to be quiet"), || async {
        let quiet = operated.proxy.quiet_for();
        Ok(match quiet {
            Some(quiet) if quiet >= QUIET => Seen::Met(()),
            _ => Seen::NotYet(format!("last write {quiet:?} ago: {:?}", operated.proxy.writes().last())),
        })
    })
    .await?;
    operated.operator.must_run()?;
    let panics = operated.operator.panics();
    ensure!(panics.is_empty(), "it panicked: {panics:?}");
    let violations = etcd().violations(&namespace);
    ensure!(violations.is_empty(), "{violations:?}");
    let run = census.run().await?;
    let mut writes = numbers(&operated.proxy.points());
    for (class, before) in before {
        writes.entry(class).and_modify(|count| *count -= before);
    }
    // What is not a kill is done, or shows nothing and costs nothing.
    let struck = match blow {
        Some(Blow::Disturbed(_)) => true,
        Some(Blow::Clock(_)) => operated.operator.logged().iter().any(knows_its_clock),
        _ => met(&namespace) || !operated.proxy.kills().is_empty(),
    };
    let events = (events, operated.proxy.events());
    drop(operated);
    bed().discard(&namespace).await?;
    Ok(Walked { run, writes, events, struck })
}

/// Whether it says that it has noticed.
fn knows_its_clock(line: &serde_json::Value) -> bool {
    line["message"].as_str().is_some_and(|message| message.contains("the clock of this machine is ahead"))
}

/// Whether a request to a member of this namespace met a fault.
fn met(namespace: &str) -> bool {
    let members = format!("{namespace}/");
    etcd().met().iter().any(|(member, ..)| member.starts_with(&members))
}

fn numbers(points: &[Point]) -> BTreeMap<Class, usize> {
    let mut numbers = BTreeMap::new();
    for point in points {
        *numbers.entry(point.class).or_default() += 1;
    }
    numbers
}
