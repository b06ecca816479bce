//! The demonstration: from nothing to a cluster of three that holds something.

mod etcd;
mod kafka;

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use ballast_lab::wait::{self, Seen};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{environment::Environment, install, operator::Operator};

const NAMESPACE: &str = "demo";
const FIELD_MANAGER: &str = "ballast-demo";

/// The demonstration.
pub(crate) async fn run(environment: &Environment, operator: Operator) -> Result<()> {
    match operator {
        Operator::Etcd => etcd::run(environment).await,
        Operator::Kafka => kafka::run(environment).await,
    }
}

/// Installs the operator, applies the sample, and shows what the operator does until the cluster is Ready. Its last status.
async fn create(environment: &Environment, operator: Operator, sample: &str) -> Result<Value> {
    let begun = Instant::now();
    install::fresh(environment, operator).await?;
    println!("The {} runs. Now a dozen lines of YAML:\n\n{sample}", operator.release());
    let namespaces: Api<Namespace> = Api::all(environment.client.clone());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    let force = PatchParams::apply(FIELD_MANAGER).force();
    namespaces.patch(NAMESPACE, &force, &Patch::Apply(namespace)).await?;
    let sample: DynamicObject = serde_yaml::from_str(sample)?;
    let types = sample.types.clone().context("the sample names its kind")?;
    let kind = GroupVersionKind::try_from(&types)?;
    let clusters: Api<DynamicObject> =
        Api::namespaced_with(environment.client.clone(), NAMESPACE, &ApiResource::from_gvk(&kind));
    let name = sample.metadata.name.clone().context("the sample has a name")?;
    clusters.patch(&name, &force, &Patch::Apply(sample)).await?;
    let last = RefCell::new(String::new());
    wait::until_in(
        &environment.client,
        NAMESPACE,
        Duration::from_mins(5),
        "the cluster to be Ready",
        || async {
            let status = clusters.get(&name).await?.data.get("status").cloned().unwrap_or_default();
            let line = line(&status);
            if *last.borrow() != line {
                println!("  {:>5.1} s  {line}", begun.elapsed().as_secs_f64());
                *last.borrow_mut() = line;
            }
            Ok(if ready(&status) { Seen::Met(status) } else { Seen::NotYet("not Ready yet".to_owned()) })
        },
    )
    .await
}

/// How many serve, and what is being done or waited for.
fn line(status: &Value) -> String {
    let text = |pointer: &str| status.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let serving = [text("/readyMembers"), text("/readyNodes")].concat();
    let doing = match text("/plan/message") {
        "" => text("/plan/blocked/0/message"),
        message => message,
    };
    format!("{serving} {doing}")
}

fn ready(status: &Value) -> bool {
    let conditions = status.pointer("/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// What to try next.
fn suggestions(environment: &Environment, lines: &[(&str, &str)]) {
    let how = if environment.lab.is_some() {
        "with `lab kubectl` for kubectl; `make lab` tells where lab is"
    } else {
        "with kubectl"
    };
    println!("\nTry next ({how}):");
    for (command, what) in lines {
        println!("  {command:<68} {what}");
    }
    println!("  {:<68} leaves nothing behind", "make down");
}
