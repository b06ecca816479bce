//! One cluster, and what is tried on it one after another.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use ballast_testbed::{
    Class, Operated,
    wait::{self, Seen},
};
use ballast_testkit::sweep::{arrived, patched};
use k8s_openapi::{api::core::v1::ServiceAccount, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, Client, api::PostParams};
use serde_json::Value;

use super::{
    Step,
    state::{State, restarted_only_if_needed},
    tried,
};
use crate::{
    bed::{bed, operator, turns},
    cluster::{self, is},
    corpus::{Arrives, Base, Change, Refused, Wrong},
};

/// What the operator has done must be seen by everybody within this.
const DEADLINE: Duration = Duration::from_secs(30);
/// What cannot be pulled, in every namespace of these tests.
const BROKEN: [&str; 2] = ["broken.example.com/etcd:v3.6.16", "broken.example.com/side:1"];

/// A cluster of its own, with its operator.
pub struct Cluster {
    pub namespace: String,
    client: Client,
    operated: Operated,
}

impl Cluster {
    /// Made with this specification, and Ready.
    pub async fn new(spec: &Value) -> Result<Self> {
        let namespace = bed().namespace("sweep").await?;
        let client = bed().client().clone();
        for image in BROKEN {
            bed().kubelets().break_image(&namespace, image, true);
        }
        // What the corpus names, and Kubernetes refuses pods without.
        let account = ServiceAccount {
            metadata: ObjectMeta { name: Some("app".to_owned()), ..ObjectMeta::default() },
            ..ServiceAccount::default()
        };
        Api::namespaced(client.clone(), &namespace).create(&PostParams::default(), &account).await?;
        let operated = Operated::start(bed().control_plane(), operator(), &namespace, vec![]).await?;
        cluster::create(&client, &namespace, spec).await?;
        let cluster = Self { namespace, client, operated };
        cluster.ready().await?;
        Ok(cluster)
    }

    async fn ready(&self) -> Result<()> {
        cluster::ready(&self.client, &self.namespace).await
    }

    pub async fn state(&self) -> Result<State> {
        State::now(&self.client, &self.namespace).await
    }

    /// Gives it this specification, which must be accepted.
    pub async fn put(&self, spec: &Value) -> Result<()> {
        let accepted = cluster::replace(&self.client, &self.namespace, spec).await?;
        accepted.map_err(|message| anyhow::anyhow!("the API server refuses it: {message}"))
    }

    /// Gives it this specification, and waits until it is so.
    pub async fn become_(&self, spec: &Value) -> Result<()> {
        self.put(spec).await?;
        self.ready().await
    }

    pub async fn end(self) -> Result<()> {
        self.operated.operator.must_run()?;
        let panics = self.operated.operator.panics();
        ensure!(panics.is_empty(), "it panicked: {panics:?}");
        bed().discard(&self.namespace).await
    }

    /// Writes of objects until now: not of the status.
    fn written(&self) -> usize {
        self.operated.proxy.points().iter().filter(|point| point.class == Class::Object).count()
    }

    async fn until(&self, what: &str, look: impl AsyncFn(State) -> Result<(), String>) -> Result<State> {
        wait::until_in(&self.client, &self.namespace, DEADLINE, what, || async {
            let state = self.state().await?;
            Ok(match look(state.clone()).await {
                Ok(()) => Seen::Met(state),
                Err(why) => Seen::NotYet(why),
            })
        })
        .await
    }

    /// Back to the base, and everything as it was.
    async fn back(&self, base: Base, before: &State) -> Result<State> {
        self.become_(&base.spec()).await.context("on the way back")?;
        self.until("everything to be as it was", async |now| {
            let differences = before.differences(&now);
            if differences.is_empty() { Ok(()) } else { Err(differences.join("; ")) }
        })
        .await
    }

    async fn change(&self, change: &Change, before: &State) -> Result<State> {
        self.become_(&patched(change.base.spec(), change.patch)).await?;
        let changed = self.until("the change", async |now| arrived(change.arrives, &now.objects())).await?;
        if matches!(change.arrives, Arrives::Nowhere) {
            let differences = before.differences(&changed);
            ensure!(differences.is_empty(), "it says the same, but: {differences:?}");
        }
        restarted_only_if_needed(before, &changed)?;
        match change.back {
            None => {
                let after = self.back(change.base, before).await?;
                restarted_only_if_needed(&changed, &after)?;
                Ok(after)
            }
            Some(refused) => {
                self.refuse(&change.base.spec(), refused, &changed).await?;
                self.become_(&patched(change.base.spec(), change.patch)).await?;
                let differences = changed.differences(&self.state().await?);
                ensure!(differences.is_empty(), "the refused way back left {differences:?}");
                Ok(changed)
            }
        }
    }

    /// The specification is refused, and `before` is still what there is.
    async fn refuse(&self, spec: &Value, refused: Refused, before: &State) -> Result<()> {
        let written = self.written();
        let accepted = cluster::replace(&self.client, &self.namespace, spec).await?;
        let (client, namespace) = (&self.client, &self.namespace);
        match (refused, accepted) {
            (Refused::ApiServer(part), Err(message)) => {
                ensure!(message.contains(part), "{message:?} does not say {part:?}");
            }
            (Refused::ApiServer(_), Ok(())) => bail!("the API server accepts it"),
            (_, Err(message)) => bail!("the API server refuses it: {message}"),
            (Refused::Operator(field), Ok(())) => {
                cluster::until(client, namespace, &format!("to be told that {field} is invalid"), |status| {
                    is(status, "SpecValid", "False", &format!("{field}: "))
                })
                .await?;
            }
            (Refused::Kubernetes(part), Ok(())) => {
                cluster::until(client, namespace, &format!("to be told {part}"), |status| {
                    is(status, "Degraded", "True", part)
                })
                .await?;
            }
            (Refused::Waits(reason), Ok(())) => {
                cluster::until(client, namespace, &format!("to wait for {reason}"), |status| {
                    let blocked = status.plan.iter().flat_map(|plan| &plan.blocked);
                    blocked.into_iter().any(|blocked| blocked.reason == reason)
                })
                .await?;
            }
            (Refused::Nobody, Ok(())) => return self.stuck(before).await,
        }
        let now = self.state().await?;
        // What is harmless may be written before Kubernetes refuses the rest; members are left alone.
        if !matches!(refused, Refused::Kubernetes(_)) {
            ensure!(self.written() == written, "it wrote: {:?}", self.operated.proxy.writes().last());
            let differences = before.differences(&now);
            ensure!(differences.is_empty(), "{differences:?}");
        }
        ensure!(before.pods == now.pods, "pods were replaced: {:?}, {:?}", before.pods, now.pods);
        Ok(())
    }

    /// One member gets it, does not come back with it, and no other member gets it.
    async fn stuck(&self, before: &State) -> Result<()> {
        let states = ["ImagePullBackOff", "Unschedulable", "Unscheduled", "it has no pod"];
        cluster::until(&self.client, &self.namespace, "to have a member that cannot run", |status| {
            status.members.iter().any(|member| {
                member.doing.as_ref().is_some_and(|doing| states.iter().any(|state| doing.contains(state)))
            })
        })
        .await?;
        let old = before.hashes();
        let now = self.until("a member to have the bad template", async |now| {
            if now.hashes() == old { Err("no member has it".to_owned()) } else { Ok(()) }
        });
        let bad = now.await?.hashes().iter().filter(|hash| !old.contains(hash)).count();
        ensure!(bad == 1, "{bad} members have the bad template");
        Ok(())
    }

    async fn wrong(&self, wrong: &Wrong, before: &State) -> Result<State> {
        self.refuse(&patched(wrong.base.spec(), wrong.patch), wrong.refused, before).await?;
        let after = self.back(wrong.base, before).await?;
        if wrong.refused != Refused::Nobody {
            ensure!(before.pods == after.pods, "pods were replaced on the way back");
        }
        Ok(after)
    }
}

/// Tries all of them on one cluster; what went wrong.
pub async fn try_all(base: Base, steps: &[Step]) -> Vec<String> {
    let Ok(_turn) = turns().acquire().await else { return vec!["no turn".to_owned()] };
    let begun = async {
        let cluster = Cluster::new(&base.spec()).await?;
        let state = cluster.state().await?;
        anyhow::Ok((cluster, state))
    };
    let (cluster, mut state) = match begun.await {
        Ok(begun) => begun,
        Err(error) => return vec![format!("{base:?}: {error:#}")],
    };
    let mut wrong = vec![];
    for step in steps {
        let outcome = match step {
            Step::Change(change) => cluster.change(change, &state).await,
            Step::Wrong(wrong) => cluster.wrong(wrong, &state).await,
        };
        match outcome {
            Ok(after) => state = after,
            Err(error) => {
                wrong.push(format!("{}: {error:#}", tried(step)));
                // The others need a cluster that is as it was.
                match cluster.back(base, &state).await {
                    Ok(after) => state = after,
                    Err(error) => {
                        wrong.push(format!(
                            "{}: it does not recover, the rest is not tried: {error:#}",
                            tried(step)
                        ));
                        break;
                    }
                }
            }
        }
    }
    if let Err(error) = cluster.end().await {
        wrong.push(format!("{base:?}: {error:#}"));
    }
    wrong
}
