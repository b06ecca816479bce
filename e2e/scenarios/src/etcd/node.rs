//! A node is lost.

use std::time::SystemTime;

use anyhow::{Context as _, Result, ensure};
use ballast_lab::{Lab, wait::Seen};
use serde_json::{Value, json};

use super::{cluster::Cluster, create::zones};
use crate::{install, operator::Operator, scenario::Context};

/// Much shorter than anybody would want it: this is about what happens, not when.
fn impatient() -> Value {
    json!({"repair": {"restartAfter": "5s", "replaceAfter": "20s"}})
}

pub(crate) async fn lost(context: &Context<'_>) -> Result<()> {
    node_lost(context, &impatient(), false).await
}

pub(crate) async fn lost_with_zones(context: &Context<'_>) -> Result<()> {
    let mut more = impatient();
    more["zones"] = json!(zones(context).await?);
    node_lost(context, &more, true).await
}

async fn node_lost(context: &Context<'_>, more: &Value, with_zones: bool) -> Result<()> {
    let lab = context.environment.lab()?;
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", more).await?;
    let busy = ledger.node().await?;
    // Neither the ledger nor the operator is what this is about: their nodes stay.
    let operator = operator_node(context).await?;
    let mut chosen = None;
    for pod in cluster.pods().list(&cluster.ours()).await?.items {
        let node = pod.spec.and_then(|spec| spec.node_name).context("a member has no node")?;
        if node != busy && node != operator {
            chosen = Some((pod.metadata.name.unwrap_or_default(), node));
        }
    }
    let (pod, node) = chosen.context("every node has the ledger or the operator")?;
    let member = pod.strip_suffix("-0").unwrap_or(&pod).to_owned();
    let ids = cluster.ids().await?;
    let zone = cluster.member(&member).await?.zone;
    println!("      stopping {node}, which has {member}");
    lab.stop_node(&node, false)?;
    let outcome = replaced_elsewhere(&cluster, &ids, &node).await;
    let back = come_back(context, lab, &node).await;
    outcome?;
    back?;
    if with_zones {
        let zones: Vec<_> =
            cluster.status().await?.members.into_iter().filter_map(|member| member.zone).collect();
        ensure!(
            zones.len() == 3 && !zones.iter().any(|have| Some(have) == zone.as_ref()),
            "{zones:?}, without {zone:?} expected"
        );
    }
    let after = cluster.ids().await?;
    cluster.ready().await?;
    ensure!(cluster.ids().await? == after, "after the node's return members changed again");
    cluster.settle(context, ledger, 3).await
}

/// Waits until three members serve and none of them is on the lost node.
async fn replaced_elsewhere(
    cluster: &Cluster,
    before: &std::collections::BTreeMap<String, String>,
    node: &str,
) -> Result<()> {
    cluster
        .until("the lost member to be replaced", |_, status| {
            let new = status
                .members
                .iter()
                .filter(|member| {
                    member.health == "Serving" && matches!(member.role.as_str(), "Leader" | "Follower")
                })
                .filter(|member| before.get(&member.name) != member.id.as_ref())
                .count();
            if new == 1 && status.ready_members.as_deref() == Some("3/3") {
                Seen::Met(())
            } else {
                Seen::NotYet(format!("{:?}; plan {:?}", status.members, status.plan))
            }
        })
        .await?;
    for pod in cluster.pods().list(&cluster.ours()).await?.items {
        let on = pod.spec.and_then(|spec| spec.node_name);
        ensure!(on.as_deref() != Some(node), "a member is still on {node}");
    }
    Ok(())
}

async fn come_back(context: &Context<'_>, lab: &Lab, node: &str) -> Result<()> {
    let since = SystemTime::now();
    lab.start_node(node)?;
    lab.await_node(&context.environment.client, node, since).await
}

async fn operator_node(context: &Context<'_>) -> Result<String> {
    let pods: kube::Api<k8s_openapi::api::core::v1::Pod> =
        kube::Api::namespaced(context.environment.client.clone(), install::NAMESPACE);
    let list = pods.list(&Operator::Etcd.pods()).await?.items;
    list.into_iter().find_map(|pod| pod.spec?.node_name).context("the operator has no node")
}
