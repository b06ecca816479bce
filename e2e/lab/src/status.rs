//! What the lab looks like now, for people.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use crate::lab::{Lab, client, is_ready};
use crate::layout::{self, CONTROL_PLANE};
use crate::tools::CLUSTER;
use crate::{netns, process};

/// The state of the lab in words; fails when there is none or its API server does not answer.
pub(crate) fn describe() -> Result<String> {
    let mut text = String::new();
    let lab = Lab::attach()?;
    let up = SystemTime::now()
        .duration_since(UNIX_EPOCH)?
        .saturating_sub(Duration::from_secs(lab.started))
        .as_secs();
    writeln!(text, "up for {} min {} s; kubeconfig {}", up / 60, up % 60, layout::kubeconfig().display())?;
    for family in CLUSTER {
        write!(text, "{family:?} {}  ", family.version()?)?;
    }
    writeln!(text, "\n\nprocesses")?;
    for (name, identity) in process::known() {
        let state = identity.map_or_else(
            || format!("ENDED, see {}", layout::log(&name).display()),
            |identity| format!("pid {}", identity.pid),
        );
        writeln!(text, "  {name:<26} {state}")?;
    }
    netns::block_on(CONTROL_PLANE, || cluster(&lab, text))
}

async fn cluster(lab: &Lab, mut text: String) -> Result<String> {
    let client = client().await?;
    let nodes = Api::<Node>::all(client.clone()).list(&ListParams::default()).await?.items;
    writeln!(text, "\nnodes")?;
    for node in &lab.nodes {
        let object = nodes.iter().find(|object| object.name_any() == node.name);
        writeln!(
            text,
            "  {:<4} zone {:<6} {:<11} daemons {:<8} cable {:<4} {}",
            node.name,
            node.zone,
            object.map_or("unknown", |object| if is_ready(object) { "Ready" } else { "NOT READY" }),
            if node.running() { "running" } else { "stopped" },
            if lab.link_up(&node.name)? { "in" } else { "cut" },
            node.address(),
        )?;
    }
    let pods = Api::<Pod>::all(client).list(&ListParams::default()).await?.items;
    writeln!(text, "\npods")?;
    for pod in pods {
        let status = pod.status.clone().unwrap_or_default();
        writeln!(
            text,
            "  {:<50} {:<10} {:<4} {}",
            format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any()),
            status.phase.unwrap_or_default(),
            pod.spec.and_then(|spec| spec.node_name).unwrap_or_default(),
            status.pod_ip.unwrap_or_default(),
        )?;
    }
    Ok(text)
}
