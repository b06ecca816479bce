//! What an operator has to do in a run.

use anyhow::{Context as _, Result, ensure};
use ballast_kafka_core::api::kafka_rebalance::KafkaRebalance;
use ballast_testbed::wait::{self, Seen};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, PostParams},
};
use serde_json::{Value, json};

use crate::{
    bed::{bed, kafka},
    cluster::{DEADLINE, NAME, create, edit, ready, topic},
};

/// A way through an operator's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Nothing → three nodes that are both.
    Create,
    /// Four brokers with topics → three, beside one controller.
    Drain,
    /// A setting is changed: every node is restarted.
    Roll,
    /// One controller → three, beside one broker.
    MoreVoters,
    /// Three controllers → one.
    FewerVoters,
    /// Five nodes that are both → three: votes and partitions leave.
    Shrink,
    /// One of four brokers is emptied since a `KafkaRebalance` asks for it, and is let in again when that is deleted.
    Rebalance,
    /// The disk of a node that is both is emptied, and its pod deleted.
    Lost,
}

/// What a megabyte is here.
const MB: u64 = 1_000_000;
/// Bytes per second. A drain of all topics takes some seconds with it, and more than one batch, since a broker sends one copy at a time.
const THROTTLE: &str = "5M";

impl Path {
    /// Short, for a namespace.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// What there is before; the operator is not disturbed yet.
    pub async fn prepare(self, client: &Client, namespace: &str) -> Result<()> {
        let spec = match self {
            Self::Create => return Ok(()),
            Self::Drain => split(1, 4),
            Self::Rebalance => {
                let mut spec = split(1, 4);
                spec["rebalance"]["onScaleUp"] = json!("Nothing");
                spec
            }
            Self::Shrink => nodes(5),
            Self::Roll | Self::Lost => nodes(3),
            Self::MoreVoters => split(1, 1),
            Self::FewerVoters => split(3, 1),
        };
        create(client, namespace, &spec).await?;
        ready(client, namespace).await?;
        match self {
            Self::Create | Self::MoreVoters | Self::FewerVoters => Ok(()),
            Self::Shrink => {
                topic(namespace, "wide", &[(&[0, 3, 4], 10 * MB), (&[4, 2, 1], MB), (&[0, 1, 2], 50 * MB)])?;
                topic(namespace, "single", &[(&[3], 4 * MB), (&[1], 2 * MB), (&[4], 100)])
            }
            Self::Drain | Self::Rebalance => {
                topic(namespace, "wide", &[(&[0, 1, 3], 10 * MB), (&[3, 2, 1], MB), (&[0, 1, 2], 50 * MB)])?;
                topic(namespace, "pair", &[(&[3, 0], 15 * MB), (&[1, 3], 0), (&[0, 2], 5 * MB)])?;
                topic(namespace, "single", &[(&[3], 4 * MB), (&[1], 2 * MB), (&[3], 100)])
            }
            Self::Lost => topic(namespace, "wide", &[(&[0, 1, 2], 10 * MB), (&[1, 2, 0], MB)]),
            Self::Roll => {
                topic(namespace, "wide", &[(&[0, 1, 2], 10 * MB), (&[2, 1, 0], MB)])?;
                topic(namespace, "single", &[(&[1], MB)])
            }
        }
    }

    /// The least that has to be copied, in bytes: known once everything is there.
    pub fn bound(self, namespace: &str) -> Result<u64> {
        let leaving = match self {
            Self::Drain => &[3][..],
            Self::Shrink => &[3, 4],
            Self::Rebalance => &[1],
            _ => return Ok(0),
        };
        let bound =
            |node: &i32| kafka().edit(namespace, |kafka| kafka.bound(*node)).context("no node has started");
        leaving.iter().map(bound).sum()
    }

    /// What happens; returns when the operator has answered it fully.
    pub async fn walk(self, client: &Client, namespace: &str) -> Result<()> {
        match self {
            Self::Create => create(client, namespace, &nodes(3)).await?,
            Self::Drain => edit(client, namespace, &split(1, 3)).await?,
            Self::Shrink => edit(client, namespace, &nodes(3)).await?,
            Self::Rebalance => {
                let api: Api<KafkaRebalance> = Api::namespaced(client.clone(), namespace);
                let asked = json!({"cluster": NAME, "mode": "Drain", "nodeIds": [1]});
                let resource = json!({
                    "apiVersion": "kafka.ballast.dev/v1alpha1",
                    "kind": "KafkaRebalance",
                    "metadata": {"name": "one"},
                    "spec": asked,
                });
                api.create(&PostParams::default(), &serde_json::from_value(resource)?).await?;
                wait::until_in(
                    client,
                    namespace,
                    DEADLINE,
                    &format!("{namespace}: broker 1 to be empty"),
                    || async {
                        let status = api.get("one").await?.status.unwrap_or_default();
                        let told = serde_json::to_string(&status)?;
                        Ok(if status.state == "Completed" { Seen::Met(()) } else { Seen::NotYet(told) })
                    },
                )
                .await?;
                api.delete("one", &DeleteParams::default()).await?;
                wait::until(DEADLINE, &format!("{namespace}: no cordon"), || async {
                    Ok(kafka().edit(namespace, |kafka| kafka.configs.is_empty()).filter(|none| *none))
                })
                .await?;
            }
            Self::Roll => edit(client, namespace, &json!({"config": {"num.network.threads": "5"}})).await?,
            Self::MoreVoters => edit(client, namespace, &split(3, 1)).await?,
            Self::FewerVoters => edit(client, namespace, &split(1, 1)).await?,
            Self::Lost => {
                let before = directory(namespace);
                // A claim that is deleted instead would leave open whether its pod is made anew before or after the operator sees it.
                wipe(client, namespace, "my-node-1").await?;
                wait::until(DEADLINE, "another vote of node 1", || async {
                    let now = directory(namespace);
                    Ok((now.is_some() && now != before).then_some(()))
                })
                .await?;
            }
        }
        ready(client, namespace).await
    }

    /// What must be so at the end: who votes, who is known, and that all partitions are whole.
    pub fn check(self, namespace: &str) -> Result<()> {
        let expected = match self {
            Self::Rebalance => (vec![100], vec![0, 1, 2, 3]),
            Self::Create | Self::Roll | Self::Lost | Self::Shrink => (vec![0, 1, 2], vec![0, 1, 2]),
            Self::Drain => (vec![100], vec![0, 1, 2]),
            Self::MoreVoters => (vec![100, 101, 102], vec![0]),
            Self::FewerVoters => (vec![100], vec![0]),
        };
        let seen = kafka().edit(namespace, |kafka| {
            let whole = |partition: &ballast_kafka_simulated::model::Partition| {
                partition.isr.len() == partition.replicas.len()
                    && partition.leader.is_some()
                    && !partition.moves()
            };
            let mut partitions = kafka.topics.values().flat_map(|topic| &topic.partitions);
            (
                kafka.voters.keys().copied().collect::<Vec<_>>(),
                kafka.brokers.keys().copied().collect::<Vec<_>>(),
                partitions.all(whole),
                kafka.configs.clone(),
            )
        });
        let (voters, brokers, whole, configs) = seen.context("no node has started")?;
        ensure!(
            (&voters, &brokers) == (&expected.0, &expected.1),
            "{voters:?} vote and {brokers:?} are known"
        );
        ensure!(whole, "not all partitions are whole");
        ensure!(configs.is_empty(), "settings are left: {configs:?}");
        Ok(())
    }
}

/// What a node has is gone from its disk, and its pod is made anew.
pub async fn wipe(client: &Client, namespace: &str, node: &str) -> Result<()> {
    let pod = format!("{node}-0");
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let volume = pods.get(&pod).await?.spec.and_then(|spec| {
        spec.volumes?.into_iter().find_map(|volume| Some(volume.persistent_volume_claim?.claim_name))
    });
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
    let disk = claims.get(&volume.context("it has a volume")?).await?.uid().context("a uid")?;
    bed().kubelets().wipe(&disk);
    pods.delete(&pod, &DeleteParams::default().grace_period(0)).await?;
    Ok(())
}

/// The directory with which node 1 votes.
fn directory(namespace: &str) -> Option<String> {
    kafka().edit(namespace, |kafka| Some(kafka.voters.get(&1)?.directory.to_string())).flatten()
}

fn storage() -> Value {
    let volumes = json!([{"name": "data", "size": "1Gi"}]);
    json!({"volumes": volumes, "whenDeleted": "Delete", "whenScaled": "Delete"})
}

fn nodes(replicas: i32) -> Value {
    let roles = json!(["Controller", "Broker"]);
    let pool = json!({"name": "node", "roles": roles, "replicas": replicas, "storage": storage()});
    json!({"version": "4.4.0", "nodePools": [pool]})
}

fn split(controllers: i32, brokers: i32) -> Value {
    let pool = |name: &str, role: &str, start: i32, replicas: i32| json!({"name": name, "roles": [role], "replicas": replicas, "nodeIds": {"start": start}, "storage": storage()});
    let pools = [pool("controller", "Controller", 100, controllers), pool("broker", "Broker", 0, brokers)];
    json!({"version": "4.4.0", "nodePools": pools, "rebalance": {"throttle": THROTTLE, "concurrency": 1}})
}
