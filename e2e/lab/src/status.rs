//! What the lab looks like now, for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use crate::lab::{Lab, client, is_ready};
use crate::layout::{self, CONTROL_PLANE};
use crate::tools::CLUSTER;
use crate::{netns, process};

/// Prints the state of the lab; fails when there is none or its API server does not answer.
pub(crate) fn print() -> Result<()> {
    let lab = Lab::attach()?;
    let up = SystemTime::now()
        .duration_since(UNIX_EPOCH)?
        .saturating_sub(Duration::from_secs(lab.started))
        .as_secs();
    println!("up for {} min {} s; kubeconfig {}", up / 60, up % 60, layout::kubeconfig().display());
    for family in CLUSTER {
        print!("{family:?} {}  ", family.version()?);
    }
    println!("\n\nprocesses");
    for (name, identity) in process::known() {
        let state = identity.map_or_else(
            || format!("ENDED, see {}", layout::log(&name).display()),
            |identity| format!("pid {}", identity.pid),
        );
        println!("  {name:<26} {state}");
    }
    netns::block_on(CONTROL_PLANE, || cluster(&lab))
}

async fn cluster(lab: &Lab) -> Result<()> {
    let client = client().await?;
    let nodes = Api::<Node>::all(client.clone()).list(&ListParams::default()).await?.items;
    println!("\nnodes");
    for node in &lab.nodes {
        let object = nodes.iter().find(|object| object.name_any() == node.name);
        println!(
            "  {:<4} zone {:<6} {:<11} daemons {:<8} cable {:<4} {}",
            node.name,
            node.zone,
            object.map_or("unknown", |object| if is_ready(object) { "Ready" } else { "NOT READY" }),
            if node.running() { "running" } else { "stopped" },
            if lab.link_up(&node.name)? { "in" } else { "cut" },
            node.address(),
        );
    }
    let pods = Api::<Pod>::all(client).list(&ListParams::default()).await?.items;
    println!("\npods");
    for pod in pods {
        let status = pod.status.clone().unwrap_or_default();
        println!(
            "  {:<50} {:<10} {:<4} {}",
            format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any()),
            status.phase.unwrap_or_default(),
            pod.spec.and_then(|spec| spec.node_name).unwrap_or_default(),
            status.pod_ip.unwrap_or_default(),
        );
    }
    Ok(())
}
