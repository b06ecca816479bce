//! Programs in pods.

use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, api::AttachParams};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Where a program runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) pod: &'a str,
    pub(crate) container: &'a str,
}

/// Runs a program with this input; its output. That it fails is an error with what it wrote.
pub(crate) async fn exec(client: &Client, place: Place<'_>, command: &[&str], input: &str) -> Result<String> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), place.namespace);
    let params = AttachParams::default().container(place.container).stdin(!input.is_empty()).stderr(true);
    let mut process = pods.exec(place.pod, command.to_vec(), &params).await?;
    if !input.is_empty() {
        let mut stdin = process.stdin().context("no input")?;
        stdin.write_all(input.as_bytes()).await?;
        stdin.shutdown().await?;
    }
    let mut stdout = process.stdout().context("no output")?;
    let mut stderr = process.stderr().context("no errors")?;
    let status = process.take_status().context("no status")?;
    let (mut text, mut errors) = (String::new(), String::new());
    let read =
        async { tokio::try_join!(stdout.read_to_string(&mut text), stderr.read_to_string(&mut errors)) };
    let (read, status) = tokio::join!(read, status);
    read?;
    match status.and_then(|status| status.status) {
        Some(status) if status == "Success" => Ok(text.trim().to_owned()),
        other => bail!("the program ended with {other:?}: {} {}", text.trim(), errors.trim()),
    }
}
