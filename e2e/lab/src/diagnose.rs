//! What a person would look at first when something in a namespace does not come about.

use std::fmt::Write as _;

use k8s_openapi::api::core::v1::{ContainerStatus, Event, PersistentVolumeClaim, Pod};
use kube::api::{ListParams, LogParams};
use kube::{Api, Client};

const EVENTS: usize = 20;
const LOG_LINES: i64 = 15;

/// Pods with their states, claims, the latest events, and the logs of pods that are not ready. It never fails: what
/// cannot be had is said in its place.
pub async fn diagnose(client: &Client, namespace: &str) -> String {
    let mut text = String::new();
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    match pods.list(&ListParams::default()).await {
        Err(error) => line(&mut text, &format!("pods: {error}")),
        Ok(list) => {
            for pod in &list.items {
                line(&mut text, &describe_pod(pod));
            }
            if list.items.is_empty() {
                line(&mut text, "no pods");
            }
            claims(&mut text, client, namespace).await;
            events(&mut text, client, namespace).await;
            for pod in list.items.iter().filter(|pod| !pod_ready(pod)) {
                logs(&mut text, &pods, pod).await;
            }
        }
    }
    text
}

fn line(text: &mut String, added: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{added}");
}

fn pod_ready(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|c| c.type_ == "Ready" && c.status == "True"))
}

fn describe_pod(pod: &Pod) -> String {
    let name = pod.metadata.name.as_deref().unwrap_or("?");
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or("no node");
    let status = pod.status.clone().unwrap_or_default();
    let phase = status.phase.as_deref().unwrap_or("?");
    let containers: Vec<_> = status
        .init_container_statuses
        .iter()
        .chain(&status.container_statuses)
        .flatten()
        .map(|container| format!("{}: {}", container.name, describe_container(container)))
        .collect();
    let unmet: Vec<_> = status
        .conditions
        .iter()
        .flatten()
        .filter(|c| c.status != "True")
        .filter_map(|c| c.message.as_deref().filter(|m| !m.is_empty()).map(|m| format!("{}: {m}", c.type_)))
        .collect();
    let leaving = if pod.metadata.deletion_timestamp.is_some() { ", terminating" } else { "" };
    format!("pod {name} on {node}: {phase}{leaving}; {} {}", containers.join("; "), unmet.join("; "))
}

fn describe_container(container: &ContainerStatus) -> String {
    let state = container.state.clone().unwrap_or_default();
    let now = if let Some(waiting) = state.waiting {
        format!("waiting {} {}", waiting.reason.unwrap_or_default(), waiting.message.unwrap_or_default())
    } else if let Some(ended) = state.terminated {
        format!(
            "ended {} code {} {}",
            ended.reason.unwrap_or_default(),
            ended.exit_code,
            ended.message.unwrap_or_default()
        )
    } else if container.ready {
        "ready".into()
    } else {
        "running, not ready".into()
    };
    let before = container.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let before = before.map_or_else(String::new, |ended| {
        format!(", before: {} code {}", ended.reason.as_deref().unwrap_or_default(), ended.exit_code)
    });
    format!("{now}{before}, {} restarts", container.restart_count)
}

async fn claims(text: &mut String, client: &Client, namespace: &str) {
    let api: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
    let Ok(list) = api.list(&ListParams::default()).await else { return };
    for claim in list.items {
        let phase = claim.status.and_then(|status| status.phase).unwrap_or_default();
        let volume = claim.spec.and_then(|spec| spec.volume_name).unwrap_or_else(|| "no volume".into());
        line(text, &format!("claim {}: {phase}, {volume}", claim.metadata.name.unwrap_or_default()));
    }
}

async fn events(text: &mut String, client: &Client, namespace: &str) {
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    let mut all = match api.list(&ListParams::default()).await {
        Ok(list) => list.items,
        Err(error) => return line(text, &format!("events: {error}")),
    };
    let time = |event: &Event| {
        let micro = event.event_time.as_ref().map(|time| time.0);
        event.last_timestamp.as_ref().map(|time| time.0).or(micro)
    };
    all.sort_by_key(time);
    for event in all.iter().skip(all.len().saturating_sub(EVENTS)) {
        let when = time(event).map(|time| time.strftime("%H:%M:%S").to_string()).unwrap_or_default();
        let object = &event.involved_object;
        line(
            text,
            &format!(
                "event {when} {} {} {}/{}: {}",
                event.type_.as_deref().unwrap_or_default(),
                event.reason.as_deref().unwrap_or_default(),
                object.kind.as_deref().unwrap_or_default().to_lowercase(),
                object.name.as_deref().unwrap_or_default(),
                event.message.as_deref().unwrap_or_default().trim()
            ),
        );
    }
}

async fn logs(text: &mut String, pods: &Api<Pod>, pod: &Pod) {
    let Some(name) = pod.metadata.name.as_deref() else { return };
    let status = pod.status.clone().unwrap_or_default();
    for container in status.init_container_statuses.iter().chain(&status.container_statuses).flatten() {
        if container.ready {
            continue;
        }
        let state = container.state.clone().unwrap_or_default();
        // A container that waits for its next start has its last words in the log of the start before.
        let previous = state.waiting.is_some() && container.restart_count > 0;
        if state.waiting.is_some() && !previous {
            continue;
        }
        let params = LogParams {
            container: Some(container.name.clone()),
            tail_lines: Some(LOG_LINES),
            previous,
            ..LogParams::default()
        };
        let log = pods.logs(name, &params).await.unwrap_or_else(|error| format!("(no log: {error})"));
        line(
            text,
            &format!(
                "log of {name}/{}{}:",
                container.name,
                if previous { " before its restart" } else { "" }
            ),
        );
        for row in log.lines() {
            line(text, &format!("    {row}"));
        }
    }
}
