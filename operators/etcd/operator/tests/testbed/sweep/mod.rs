//! Every leaf of the resource on running clusters: changed to another valid value and back, and to wrong ones.
//!
//! A change must be in the live objects, and going back must give the objects of before; what is wrong must be refused
//! by who should, with its field, and disturb nothing; two routes to one specification must give one state. What is
//! tried is in the corpus, beside the tests of what is built.

mod run;
mod state;

use std::time::Instant;

use anyhow::{Result, ensure};
use ballast_testkit::sweep::patched;
use futures::StreamExt;

use crate::{
    bed::{bed, sample, turns},
    corpus::{Arrives, Base, Change, Refused, Wrong, changes, wrongs},
};
use run::{Cluster, try_all};

/// One in so many is tried unless asked otherwise.
const EVERY: usize = 8;
/// Tried on one cluster, one after another.
const PER_CLUSTER: usize = 4;

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Change(&'static Change),
    Wrong(&'static Wrong),
}

#[test]
fn every_leaf_arrives_and_goes_back() {
    let begun = Instant::now();
    let bases = [Base::Ephemeral, Base::Three, Base::Old, Base::Rich, Base::One];
    let groups: Vec<(Base, Vec<Step>)> =
        bases.into_iter().flat_map(|base| groups(base).into_iter().map(move |group| (base, group))).collect();
    let (clusters, count) = (groups.len(), groups.iter().map(|(_, steps)| steps.len()).sum::<usize>());
    let wrong: Vec<String> = bed().block_on(async {
        let runs = groups.iter().map(|(base, steps)| try_all(*base, steps));
        let outcomes: Vec<Vec<String>> =
            futures::stream::iter(runs).buffer_unordered(clusters).collect().await;
        outcomes.concat()
    });
    eprintln!("{count} tried on {clusters} clusters; {:.0} s", begun.elapsed().as_secs_f64());
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is tried on each cluster of this base.
fn groups(base: Base) -> Vec<Vec<Step>> {
    let all = changes().into_iter().map(Step::Change).chain(wrongs().into_iter().map(Step::Wrong));
    let all = all.filter(|step| base == base_of(step));
    // What the API server refuses costs nothing.
    let (free, all): (Vec<Step>, Vec<Step>) = all.partition(is_free);
    // After what cannot go back the cluster is another one.
    let (forward, around): (Vec<Step>, Vec<Step>) = sample(all, EVERY).into_iter().partition(is_final);
    let mut groups: Vec<Vec<Step>> = around.chunks(PER_CLUSTER).map(<[Step]>::to_vec).collect();
    groups.extend(forward.into_iter().map(|step| vec![step]));
    match groups.first_mut() {
        Some(first) => first.splice(0..0, free).for_each(drop),
        None if free.is_empty() => {}
        None => groups.push(free),
    }
    groups
}

/// The leaf and the value that were tried.
fn tried(step: &Step) -> String {
    match step {
        Step::Change(change) => format!("{} = {} ({:?})", change.leaf, change.patch, change.base),
        Step::Wrong(wrong) => format!("{} = {} ({:?})", wrong.leaf, wrong.patch, wrong.base),
    }
}

fn base_of(step: &Step) -> Base {
    match step {
        Step::Change(change) => change.base,
        Step::Wrong(wrong) => wrong.base,
    }
}

fn is_free(step: &Step) -> bool {
    matches!(step, Step::Wrong(Wrong { refused: Refused::ApiServer(_), .. }))
}

fn is_final(step: &Step) -> bool {
    matches!(step, Step::Change(Change { back: Some(_), .. }))
}

/// One in so many pairs is tried unless asked otherwise: each needs two clusters.
const EVERY_PAIR: usize = 16;

/// A cluster that was made so is the same as one that became so.
#[test]
fn two_routes_to_one_specification_give_one_state() {
    let begun = Instant::now();
    // A member keeps the zone that it was given when it was made, and what says the same is not worth two clusters.
    let pairs = changes().into_iter().filter(|change| {
        change.leaf != "spec.zones[]" && !matches!(change.arrives, Arrives::Nowhere | Arrives::Plan)
    });
    let pairs = sample(pairs.collect(), EVERY_PAIR);
    let count = pairs.len();
    let wrong: Vec<String> = bed().block_on(async {
        let runs = pairs.into_iter().map(|change| async move {
            both(change).await.err().map(|error| format!("{}: {error:#}", tried(&Step::Change(change))))
        });
        futures::stream::iter(runs).buffer_unordered(count).filter_map(std::future::ready).collect().await
    });
    eprintln!("{count} pairs; {:.0} s", begun.elapsed().as_secs_f64());
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

async fn both(change: &Change) -> Result<()> {
    let _turn = turns().acquire().await?;
    let wanted = patched(change.base.spec(), change.patch);
    let (made, became) = tokio::try_join!(Cluster::new(&wanted), async {
        let cluster = Cluster::new(&change.base.spec()).await?;
        cluster.become_(&wanted).await?;
        Ok(cluster)
    })?;
    let (one, other) = (made.state().await?, became.state().await?);
    let differences = one.differences_between(&made.namespace, &other, &became.namespace);
    ensure!(differences.is_empty(), "made so, and become so: {differences:?}");
    made.end().await?;
    became.end().await
}
