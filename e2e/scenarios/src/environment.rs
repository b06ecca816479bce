//! The cluster that scenarios run on: the local lab, or one that the caller names.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::Command,
};

use anyhow::{Context, Result, bail};
use ballast_lab::{Lab, Progress};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};

use crate::{Target, install, operator::Operator};

/// A cluster with our operators and images on it.
pub(crate) struct Environment {
    /// Talks to the API server with the administrator's rights.
    pub(crate) client: Client,
    /// The lab, unless the caller named another cluster.
    pub(crate) lab: Option<Lab>,
    kubeconfig: PathBuf,
    helm: PathBuf,
}

/// What is known before a runtime exists: the process may change its network namespace only then.
pub(crate) struct Prepared {
    lab: Option<Lab>,
    kubeconfig: PathBuf,
    helm: PathBuf,
}

impl Environment {
    /// Builds what is needed for these operators and brings the lab up, if it is not; with a named cluster, asks.
    pub(crate) fn prepare(target: &Target, operators: &[Operator]) -> Result<Prepared> {
        let progress = Progress::start();
        if let Some(kubeconfig) = &target.cluster {
            if !target.yes {
                ask(kubeconfig)?;
            }
            let helm = install::helm(&progress)?;
            return Ok(Prepared { lab: None, kubeconfig: kubeconfig.clone(), helm });
        }
        install::build_lab(&progress)?;
        let zones = ["a", "b", "c"].map(str::to_owned);
        let lab = Lab::up(&zones, &progress)?;
        let images = install::build_images(operators, &progress)?;
        let helm = install::helm(&progress)?;
        progress.during("loading our images into the nodes", || lab.load_images(&images, None))?;
        Lab::enter()?;
        Ok(Prepared { lab: Some(lab), kubeconfig: ballast_lab::kubeconfig(), helm })
    }

    /// The real Helm, for this cluster.
    pub(crate) fn helm(&self, arguments: &[&str]) -> Result<String> {
        // This process is in the lab's network namespace already, if there is a lab.
        let output = Command::new(&self.helm)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HELM_NO_PLUGINS", "1")
            .args(arguments)
            .output()
            .context("cannot run helm")?;
        if !output.status.success() {
            bail!("helm {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The lab; an error on other clusters, where scenarios that need it are skipped.
    pub(crate) fn lab(&self) -> Result<&Lab> {
        self.lab.as_ref().context("this needs the nodes of the lab")
    }
}

impl Prepared {
    /// Connects and runs `work`.
    pub(crate) fn block_on<T>(self, work: impl AsyncFnOnce(&Environment) -> Result<T>) -> Result<T> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let file = Kubeconfig::read_from(&self.kubeconfig)
                .with_context(|| format!("cannot read {}", self.kubeconfig.display()))?;
            let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
            let environment = Environment {
                client: Client::try_from(config)?,
                lab: self.lab,
                kubeconfig: self.kubeconfig,
                helm: self.helm,
            };
            if let Some(lab) = &environment.lab {
                lab.await_nodes(&environment.client).await?;
            }
            work(&environment).await
        })
    }
}

fn ask(kubeconfig: &std::path::Path) -> Result<()> {
    print!(
        "This installs operators into the cluster of {} and breaks pods on purpose. Go on? [y/N] ",
        kubeconfig.display()
    );
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        bail!("stopped; nothing was changed");
    }
    Ok(())
}
