//! What the other tests rely on notices when something is done that an operator must not do.

use std::time::Duration;

use anyhow::{Result, ensure};
use ballast_testbed::{Operated, wait};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{
    Api,
    api::{DeleteParams, PostParams},
};

use crate::{
    bed::{bed, kafka, operator, turns},
    crash::path::{Path, wipe},
};

const DEADLINE: Duration = Duration::from_mins(1);

async fn noticed(namespace: &str) -> Result<Vec<String>> {
    wait::until(DEADLINE, "Kafka to notice", || async {
        Ok(Some(kafka().violations(namespace)).filter(|said| !said.is_empty()))
    })
    .await
}

/// The ticket with which the first controller began the quorum is there again, and its data is gone: what Kafka says of it.
pub async fn used_ticket() -> Result<Vec<String>> {
    let _turn = turns().acquire().await?;
    let namespace = bed().namespace("ticket").await?;
    let client = bed().client();
    let operated = Operated::start(bed().control_plane(), operator(), &namespace, vec![]).await?;
    let tickets: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let seen = async {
        wait::until(DEADLINE, "the ticket of my-node-0", || async {
            Ok(tickets.get_opt("my-node-0-ticket").await?)
        })
        .await
    };
    let ((), mut ticket) = tokio::try_join!(Path::Create.walk(client, &namespace), seen)?;
    ensure!(kafka().violations(&namespace).is_empty(), "{:?}", kafka().violations(&namespace));
    // The operator that would have revoked it is not there.
    operated.operator.kill();
    ticket.metadata.resource_version = None;
    tickets.create(&PostParams::default(), &ticket).await?;
    wipe(client, &namespace, "my-node-0").await?;
    let said = noticed(&namespace).await?;
    drop(operated);
    bed().discard(&namespace).await?;
    Ok(said)
}

/// Two nodes are stopped, one right after the other: what Kafka says of it.
pub async fn two_stopped() -> Result<Vec<String>> {
    let _turn = turns().acquire().await?;
    let namespace = bed().namespace("stopped").await?;
    let client = bed().client();
    let operated = Operated::start(bed().control_plane(), operator(), &namespace, vec![]).await?;
    Path::Roll.prepare(client, &namespace).await?;
    ensure!(kafka().violations(&namespace).is_empty(), "{:?}", kafka().violations(&namespace));
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    for pod in ["my-node-0-0", "my-node-1-0"] {
        pods.delete(pod, &DeleteParams::default().grace_period(0)).await?;
    }
    let said = noticed(&namespace).await?;
    drop(operated);
    bed().discard(&namespace).await?;
    Ok(said)
}
