//! What the other tests rely on notices when something is switched off.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use ballast_testbed::{Disturbance, Operated, proxy::Write, wait};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, PostParams},
};

use crate::{
    bed::{bed, etcd, operator, turns},
    crash::path::Path,
};

const DEADLINE: Duration = Duration::from_mins(1);

/// The deletion of a pod is under way while that pod is replaced by another; whether that one lives on.
pub async fn late_deletion(without_preconditions: bool) -> Result<bool> {
    let _turn = turns().acquire().await?;
    let namespace = bed().namespace("late").await?;
    let client = bed().client();
    let operated = Operated::start(bed().control_plane(), operator(), &namespace, vec![]).await?;
    Path::Settings.prepare(client, &namespace).await?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let path = |pod: &str| format!("/api/v1/namespaces/{namespace}/pods/{pod}");
    let names = ["my-0-0", "my-1-0", "my-2-0"];
    let mut all: Vec<_> =
        names.iter().map(|pod| Disturbance::Hold { verb: "DELETE", path: path(pod) }).collect();
    all.extend(without_preconditions.then_some(Disturbance::WithoutPreconditions));
    operated.proxy.disturb(all.clone());
    let meanwhile = async {
        let of_pod = |write: &Write| {
            let name = names.into_iter().find(|pod| path(pod) == write.path)?;
            (write.verb == "DELETE").then_some((name, write.code))
        };
        let deleted = || operated.proxy.writes().iter().find_map(of_pod);
        let (name, _) = wait::until(DEADLINE, "a pod to be deleted", || async { Ok(deleted()) }).await?;
        let first = pods.get(name).await?.uid();
        pods.delete(name, &DeleteParams::default().grace_period(0)).await?;
        let second = wait::until(DEADLINE, "its successor", || async {
            Ok(pods.get_opt(name).await?.and_then(|pod| pod.uid()).filter(|uid| Some(uid) != first.as_ref()))
        })
        .await?;
        operated.proxy.disturb(all.split_off(names.len()));
        wait::until(DEADLINE, "the deletion to arrive", || async {
            Ok(deleted().and_then(|(_, code)| code).map(drop))
        })
        .await?;
        anyhow::Ok((name, second))
    };
    let ((), (name, second)) = tokio::try_join!(Path::Settings.walk(client, &namespace), meanwhile)?;
    let lives = pods.get(name).await?.uid() == Some(second);
    drop(operated);
    bed().discard(&namespace).await?;
    Ok(lives)
}

/// A ticket that its member has used is there again, and the member's data is gone: what etcd says of it.
pub async fn used_ticket() -> Result<Vec<String>> {
    let _turn = turns().acquire().await?;
    let namespace = bed().namespace("ticket").await?;
    let client = bed().client();
    let operated = Operated::start(bed().control_plane(), operator(), &namespace, vec![]).await?;
    let tickets: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let seen = async {
        wait::until(DEADLINE, "the ticket of my-2", || async { Ok(tickets.get_opt("my-2-ticket").await?) })
            .await
    };
    let ((), mut ticket) = tokio::try_join!(Path::Settings.prepare(client, &namespace), seen)?;
    ensure!(etcd().violations(&namespace).is_empty(), "{:?}", etcd().violations(&namespace));
    // The operator that would have revoked it is not there.
    operated.operator.kill();
    ticket.metadata.resource_version = None;
    tickets.create(&PostParams::default(), &ticket).await?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let volume = pods.get("my-2-0").await?.spec.and_then(|spec| {
        spec.volumes?.into_iter().find_map(|volume| Some(volume.persistent_volume_claim?.claim_name))
    });
    let claims: Api<k8s_openapi::api::core::v1::PersistentVolumeClaim> =
        Api::namespaced(client.clone(), &namespace);
    let disk = claims.get(&volume.context("my-2-0 has a volume")?).await?.uid().context("a uid")?;
    bed().kubelets().wipe(&disk);
    pods.delete("my-2-0", &DeleteParams::default().grace_period(0)).await?;
    let said = wait::until(DEADLINE, "etcd to notice", || async {
        Ok(Some(etcd().violations(&namespace)).filter(|said| !said.is_empty()))
    })
    .await?;
    drop(operated);
    bed().discard(&namespace).await?;
    Ok(said)
}
