//! From nothing to an etcd cluster of three that holds a key.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use ballast_etcd_core::api::EtcdCluster;
use ballast_lab::wait::{self, Seen};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::{
    Api,
    api::{AttachParams, Patch, PatchParams},
};
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::{environment::Environment, install};

const NAMESPACE: &str = "demo";
const NAME: &str = "my-etcd";
const SAMPLE: &str = include_str!("../../../deploy/samples/etcd/minimal.yaml");

/// The demonstration.
pub(crate) async fn run(environment: &Environment) -> Result<()> {
    let begun = Instant::now();
    install::fresh_etcd_operator(environment).await?;
    println!("The etcd operator runs. Now a dozen lines of YAML:\n\n{SAMPLE}");
    let namespaces: Api<Namespace> = Api::all(environment.client.clone());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    namespaces
        .patch(NAMESPACE, &PatchParams::apply("ballast-demo").force(), &Patch::Apply(namespace))
        .await?;
    let sample: serde_json::Value = serde_yaml::from_str(SAMPLE)?;
    let clusters: Api<EtcdCluster> = Api::namespaced(environment.client.clone(), NAMESPACE);
    clusters.patch(NAME, &PatchParams::apply("ballast-demo").force(), &Patch::Apply(sample)).await?;
    let mut last = String::new();
    let last = &mut last;
    let shown = std::cell::RefCell::new(last);
    let members = wait::until_in(
        &environment.client,
        NAMESPACE,
        Duration::from_mins(4),
        "three healthy members",
        || async {
            let status = clusters.get(NAME).await?.status.unwrap_or_default();
            let plan = status.plan.clone().unwrap_or_default();
            let waits = plan.blocked.first().map(|blocked| blocked.message.clone());
            let line = format!(
                "{} {}",
                status.ready_members.clone().unwrap_or_else(|| "0/3".to_owned()),
                plan.message.or(waits).unwrap_or_default()
            );
            if **shown.borrow() != line {
                println!("  {:>5.1} s  {line}", begun.elapsed().as_secs_f64());
                **shown.borrow_mut() = line;
            }
            let ready = status
                .conditions
                .iter()
                .any(|condition| condition.type_ == "Ready" && condition.status == "True");
            Ok(if ready { Seen::Met(status.members) } else { Seen::NotYet("not Ready yet".to_owned()) })
        },
    )
    .await?;
    println!("\n  NAME         ROLE      VERSION  HEALTH");
    for member in members {
        println!(
            "  {:<12} {:<9} {:<8} {}",
            member.name,
            member.role,
            member.version.unwrap_or_default(),
            member.health
        );
    }
    println!("\nA key, written through one member and read through another:\n");
    etcdctl(environment, "my-etcd-0", &["put", "hello", "ballast"]).await?;
    etcdctl(environment, "my-etcd-2", &["get", "hello"]).await?;
    println!(
        "\nTry next ({}):",
        if environment.lab.is_some() {
            "with `lab kubectl` for kubectl; `make lab` tells where lab is"
        } else {
            "with kubectl"
        }
    );
    println!(
        "  kubectl -n {NAMESPACE} describe etcdcluster {NAME}                      what it is doing, and what it waits for"
    );
    println!(
        "  kubectl -n {NAMESPACE} scale etcdcluster {NAME} --replicas 5            two more, one learner at a time"
    );
    println!(
        "  kubectl -n {NAMESPACE} delete pod,pvc -l ballast.dev/member={NAME}-1    lose a member: it is replaced"
    );
    println!("  make down                                                        leaves nothing behind");
    Ok(())
}

async fn etcdctl(environment: &Environment, member: &str, arguments: &[&str]) -> Result<()> {
    let pods: Api<Pod> = Api::namespaced(environment.client.clone(), NAMESPACE);
    let mut command = vec!["/usr/local/bin/etcdctl"];
    command.extend(arguments);
    let params = AttachParams::default().container("etcd").stderr(false);
    let mut process = pods.exec(&format!("{member}-0"), command.clone(), &params).await?;
    let mut text = String::new();
    process.stdout().context("no output")?.read_to_string(&mut text).await?;
    println!("  {member}$ etcdctl {}\n  {}", arguments.join(" "), text.trim().replace('\n', "\n  "));
    Ok(())
}
