//! Random faults for minutes, while a ledger writes: what was acknowledged must all be there afterwards.

mod disk;
mod fault;
mod kafka;
mod schedule;
mod target;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use self::{
    fault::{Undo, Victim},
    schedule::{Fault, Planned},
    target::Target,
};
use crate::{
    etcd::cluster::Cluster,
    operator::Operator,
    scenario,
    scenario::{Context, Scenario},
};

/// Writes may stand still for this long when one member at a time is lost.
const STILL: Duration = Duration::from_mins(1);
/// Ready again after the last fault.
const RECOVERY: Duration = Duration::from_mins(1);

/// What the random scenarios are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// How long.
    pub(crate) minutes: u64,
    /// The schedule.
    pub(crate) seed: u64,
}

/// The fixed ones; the mixes are run by themselves.
pub(crate) fn scenarios() -> Vec<Scenario> {
    let mut all = kafka::scenarios();
    all.extend([
        scenario!("chaos-kill", "a random member killed every 10 s", kill, needs_lab, long),
        scenario!("chaos-links", "links cut for a minute each", links, needs_lab, long),
        scenario!(
            "chaos-disk",
            "a full disk is waited for, never answered by a replacement",
            disk::full,
            needs_lab,
            long
        ),
        scenario!(
            "chaos-control-plane",
            "API server restarted, its etcd frozen",
            control_plane,
            needs_lab,
            long
        ),
    ]);
    all
}

/// The mix, for `make chaos`.
pub(crate) fn mix(operator: Operator) -> Scenario {
    if operator == Operator::Kafka {
        return kafka::mix();
    }
    scenario!("chaos-mixed", "everything at random, and the operator killed as well", mixed, needs_lab, long)
}

async fn kill(context: &Context<'_>) -> Result<()> {
    let Settings { minutes, seed } = context.chaos;
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    let ids = cluster.ids().await?;
    let planned = schedule::kills(seed, minutes, Duration::from_secs(10));
    endure(context, Target::Etcd { cluster: &cluster, ledger: &ledger }, &planned, STILL).await?;
    ensure!(cluster.ids().await? == ids, "members were replaced that only had to come back");
    cluster.settle(context, ledger, 3).await
}

async fn links(context: &Context<'_>) -> Result<()> {
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    let ids = cluster.ids().await?;
    let minute = Duration::from_mins(1);
    let faults =
        [Fault::IsolateLeader, Fault::OperatorFromMembers, Fault::OperatorFromApi, Fault::NodeFromApi(0)];
    let planned: Vec<_> = faults
        .into_iter()
        .zip(0u32..)
        .map(|(fault, index)| Planned {
            // 15 s between them: nobody has to wait for the next.
            at: (minute + Duration::from_secs(15)) * index,
            lasts: minute,
            fault,
        })
        .collect();
    endure(context, Target::Etcd { cluster: &cluster, ledger: &ledger }, &planned, STILL).await?;
    ensure!(cluster.ids().await? == ids, "members were replaced that only were out of reach");
    cluster.settle(context, ledger, 3).await
}

async fn control_plane(context: &Context<'_>) -> Result<()> {
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    let before = cluster.pod_uids().await?;
    let second = Duration::from_secs(1);
    let planned = [
        Planned { at: second, lasts: Duration::ZERO, fault: Fault::RestartApi },
        Planned { at: second * 30, lasts: second * 20, fault: Fault::FreezeEtcd },
    ];
    endure(context, Target::Etcd { cluster: &cluster, ledger: &ledger }, &planned, STILL).await?;
    cluster.nothing_rolled(&before).await?;
    cluster.settle(context, ledger, 3).await
}

async fn mixed(context: &Context<'_>) -> Result<()> {
    let Settings { minutes, seed } = context.chaos;
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &json!({})).await?;
    let planned = schedule::mixed(seed, minutes);
    let longest = planned.iter().map(|planned| planned.lasts).max().unwrap_or_default();
    // A member that is killed while its node hears nothing comes back only afterwards.
    endure(context, Target::Etcd { cluster: &cluster, ledger: &ledger }, &planned, STILL + longest).await?;
    cluster.settle(context, ledger, 3).await
}

/// Does what is planned, when it is planned; in the end everything is undone, also after an error.
async fn disturb(context: &Context<'_>, victim: &Victim<'_>, planned: &[Planned]) -> Result<()> {
    let begun = Instant::now();
    let mut open: Vec<(Instant, Undo)> = vec![];
    let mut struck = std::collections::BTreeMap::<String, u64>::new();
    let mut outcome = Ok(());
    for next in planned {
        if let Err(error) = until(victim, begun + next.at, &mut open).await {
            outcome = Err(error);
            break;
        }
        match victim.strike(next.fault).await {
            Ok(Some((whom, undo))) => {
                *struck.entry(next.fault.to_string()).or_default() += 1;
                println!("      {:>5} s: {} ({whom}) {}", next.at.as_secs(), next.fault, lasting(next.lasts));
                open.push((begun + next.at + next.lasts, undo));
            }
            Ok(None) => println!("      {:>5} s: {}: nobody to meet", next.at.as_secs(), next.fault),
            // The API server may be out of reach because of another fault; that is what chaos is about.
            Err(error) => println!("      {:>5} s: {}: not done: {error:#}", next.at.as_secs(), next.fault),
        }
    }
    for (at, undo) in open {
        sleep_until(at).await;
        if let Err(error) = victim.undo(undo).await {
            outcome = outcome.and(Err(error));
        }
    }
    for (fault, times) in struck {
        context.figure(&fault, times);
    }
    outcome.context("the faults could not be undone")
}

fn lasting(lasts: Duration) -> String {
    if lasts.is_zero() { String::new() } else { format!("for {} s", lasts.as_secs()) }
}

/// Waits for a moment of the schedule; what is over by then is undone in time. Time itself is the condition here.
async fn until(victim: &Victim<'_>, moment: Instant, open: &mut Vec<(Instant, Undo)>) -> Result<()> {
    while let Some(index) = open.iter().position(|(at, _)| *at <= moment) {
        let (at, undo) = open.remove(index);
        sleep_until(at).await;
        victim.undo(undo).await?;
    }
    sleep_until(moment).await;
    Ok(())
}

/// Lives through what is planned: Ready soon after the last fault, and writes never stood still for longer than `still`.
async fn endure(
    context: &Context<'_>,
    target: Target<'_>,
    planned: &[Planned],
    still: Duration,
) -> Result<()> {
    let (lab, operator) = (context.environment.lab()?, context.operator);
    let victim = Victim { lab, target, operator, witness: target.witness().await? };
    disturb(context, &victim, planned).await?;
    let ended = Instant::now();
    target.ready().await?;
    let took = ended.elapsed();
    context.figure("ready after the last fault (s)", took.as_secs());
    ensure!(took <= RECOVERY, "Ready only {} s after the last fault", took.as_secs());
    let gap = target.longest_gap().await?;
    context.figure("longest gap (ms)", u64::try_from(gap.as_millis())?);
    ensure!(
        gap <= still,
        "no write was acknowledged for {} s, at most {} s are fine",
        gap.as_secs(),
        still.as_secs()
    );
    Ok(())
}
