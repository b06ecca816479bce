//! Our images and charts: built from this checkout, loaded, installed by the real Helm.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use ballast_lab::{Progress, image, wait};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};
use kube::Api;

use crate::{environment::Environment, operator::Operator};

/// Namespace of the operators.
pub(crate) const NAMESPACE: &str = "ballast-system";
/// Release and Deployment of the etcd operator.
pub(crate) const ETCD: &str = "etcd-operator";
/// Release and Deployment of the Kafka operator.
pub(crate) const KAFKA: &str = "kafka-operator";
/// Version of Kafka that the demonstration and most scenarios run: that of the sample.
pub(crate) const KAFKA_VERSION: &str = "4.4.0";
/// The version of Kafka that upgrades begin with: before cordons.
pub(crate) const OLD_KAFKA_VERSION: &str = "4.1.2";
/// Image of the ledger.
pub(crate) const LEDGER_IMAGE: &str = "docker.io/ballast/ledger:e2e";
/// A second tag of the operator's image, for taking over.
pub(crate) const SECOND_TAG: &str = "e2e-second";

/// The checkout.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn cargo(progress: &Progress, what: &str, configure: impl FnOnce(&mut Command)) -> Result<()> {
    let mut command = Command::new("cargo");
    command.current_dir(root()).args(["build", "--quiet", "--locked"]);
    configure(&mut command);
    progress.during(&format!("building {what}"), || {
        let status = command.status().context("cannot run cargo")?;
        if !status.success() {
            bail!("cargo could not build {what}");
        }
        Ok(())
    })
}

/// The `lab` program, which the lab starts as its provisioner from beside this one.
pub(crate) fn build_lab(progress: &Progress) -> Result<()> {
    cargo(progress, "the lab", |command| {
        command.args(["--package", "ballast-lab"]);
    })
}

/// The images for these operators: themselves from this checkout under two tags, the ledger, and what is not in the lab anyway.
pub(crate) fn build_images(operators: &[Operator], progress: &Progress) -> Result<Vec<PathBuf>> {
    let triple = "x86_64-unknown-linux-gnu";
    cargo(progress, "the operators and the ledger", |command| {
        for operator in operators {
            command.args(["--package", operator.release()]);
        }
        command.args(["--package", "ballast-ledger"]);
    })?;
    let static_target = target().with_file_name("target-static");
    cargo(progress, "the guard, statically linked", |command| {
        command.args(["--release", "--package", "ballast-guard", "--target", triple]);
        command.env("CARGO_TARGET_DIR", &static_target);
        command.env("RUSTFLAGS", "-C target-feature=+crt-static");
    })?;
    let ledger = strip("ledger")?;
    let guard = static_target.join(triple).join("release/ballast-guard");
    let mut archives = vec![pack(LEDGER_IMAGE, &[&ledger])?];
    for operator in operators {
        let name = operator.release();
        let program = strip(name)?;
        for tag in [env!("CARGO_PKG_VERSION"), SECOND_TAG] {
            archives.push(pack(&format!("docker.io/ballast/{name}:{tag}"), &[&program, &guard])?);
        }
    }
    if operators.contains(&Operator::Kafka) {
        for version in [KAFKA_VERSION, OLD_KAFKA_VERSION] {
            archives.push(image::kafka(version, &root(), progress)?.1);
        }
    }
    Ok(archives)
}

/// A program without what only debuggers need.
fn strip(name: &str) -> Result<PathBuf> {
    let staged = target().join("images");
    fs::create_dir_all(&staged)?;
    let into = staged.join(name);
    let program = target().join("debug").join(name);
    let status = Command::new("strip").arg("-g").arg("-o").arg(&into).arg(program).status()?;
    if !status.success() {
        bail!("strip failed for {name}");
    }
    Ok(into)
}

/// An image of these programs in `/usr/local/bin`; the first is its entry point.
fn pack(name: &str, programs: &[&PathBuf]) -> Result<PathBuf> {
    let placed: Vec<(PathBuf, String)> = programs
        .iter()
        .map(|file| {
            (
                (*file).clone(),
                format!("/usr/local/bin/{}", file.file_name().unwrap_or_default().to_string_lossy()),
            )
        })
        .collect();
    image::from_binaries(name, placed.first().map(|(_, path)| path.as_str()), "65532", &placed)
}

/// The real Helm, built if need be.
pub(crate) fn helm(progress: &Progress) -> Result<PathBuf> {
    Ok(ballast_lab::folder_of("helm", progress)?.join("helm"))
}

/// Installs or upgrades the etcd operator with the real chart, and waits until it is available.
pub(crate) async fn etcd_operator(environment: &Environment, settings: &[&str]) -> Result<()> {
    install(environment, Operator::Etcd, settings).await
}

/// Installs or upgrades an operator with its real chart, and waits until it is available.
pub(crate) async fn install(environment: &Environment, operator: Operator, settings: &[&str]) -> Result<()> {
    let name = operator.release();
    let chart = root().join("charts").join(name);
    let chart = chart.to_str().context("the path of the checkout is not UTF-8")?;
    let mut arguments =
        vec!["upgrade", "--install", name, chart, "--namespace", NAMESPACE, "--create-namespace"];
    for setting in settings {
        arguments.extend(["--set", setting]);
    }
    environment.helm(&arguments)?;
    available(environment, operator).await
}

/// Makes sure that the operator of this build runs: a pod that runs an older image of the same tag is replaced.
pub(crate) async fn fresh(environment: &Environment, operator: Operator) -> Result<()> {
    let stamp = image_stamp(operator.release());
    install(environment, operator, &[&format!("podAnnotations.e2e/build=b{stamp}")]).await
}

fn image_stamp(name: &str) -> String {
    let modified = fs::metadata(target().join("images").join(name)).and_then(|data| data.modified());
    let seconds =
        modified.map(|time| time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_secs());
    seconds.unwrap_or_default().to_string()
}

/// Waits until the etcd operator is available and no older pod of it is left.
pub(crate) async fn await_operator(environment: &Environment) -> Result<()> {
    available(environment, Operator::Etcd).await
}

async fn available(environment: &Environment, operator: Operator) -> Result<()> {
    let name = operator.release();
    let api: Api<Deployment> = Api::namespaced(environment.client.clone(), NAMESPACE);
    let pods: Api<Pod> = Api::namespaced(environment.client.clone(), NAMESPACE);
    wait::until_in(
        &environment.client,
        NAMESPACE,
        Duration::from_secs(90),
        &format!("the {name} to be available"),
        || async {
            let deployment = api.get(name).await?;
            let wanted = deployment.spec.and_then(|spec| spec.replicas);
            let status = deployment.status.unwrap_or_default();
            let current = status.observed_generation == deployment.metadata.generation;
            let updated = status.updated_replicas == wanted
                && status.available_replicas == wanted
                && status.replicas == wanted;
            // The Deployment no longer counts a pod that is going, which may lead until it is gone.
            let left = i32::try_from(pods.list(&operator.pods()).await?.items.len()).ok();
            Ok((current && updated && left == wanted).then_some(()))
        },
    )
    .await
}

/// Scales the etcd operator and waits until the pods have followed.
pub(crate) async fn scale_operator(environment: &Environment, replicas: i32) -> Result<()> {
    scale(environment, Operator::Etcd, replicas).await
}

/// Scales an operator and waits until the pods have followed.
pub(crate) async fn scale(environment: &Environment, operator: Operator, replicas: i32) -> Result<()> {
    let api: Api<Deployment> = Api::namespaced(environment.client.clone(), NAMESPACE);
    let patch = kube::api::Patch::Merge(serde_json::json!({"spec": {"replicas": replicas}}));
    api.patch(operator.release(), &kube::api::PatchParams::default(), &patch).await?;
    if replicas > 0 {
        return available(environment, operator).await;
    }
    let pods: Api<Pod> = Api::namespaced(environment.client.clone(), NAMESPACE);
    wait::until_in(
        &environment.client,
        NAMESPACE,
        Duration::from_mins(1),
        "the operator's pods to be gone",
        || async { Ok(pods.list(&operator.pods()).await?.items.is_empty().then_some(())) },
    )
    .await
}
