//! Runs scenarios one after another and reports.

use std::{
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::Mutex,
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};
use futures::FutureExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::{Map, json};

use crate::{
    chaos,
    environment::Environment,
    install,
    report::{Outcome, Report},
    scenario::{Context, Scenario},
};

/// No scenario takes longer, random faults apart.
const LIMIT: Duration = Duration::from_mins(15);

/// What the caller wants besides the scenarios.
pub(crate) struct Options {
    /// Leave the namespaces of failed scenarios.
    pub(crate) keep: bool,
    /// Where the report goes.
    pub(crate) report: Option<PathBuf>,
    /// For scenarios with random faults.
    pub(crate) chaos: chaos::Settings,
}

/// Runs them; true if none failed.
pub(crate) async fn all(
    environment: &Environment,
    scenarios: &[Scenario],
    options: &Options,
) -> Result<bool> {
    let mut report = Report::begin();
    let mut installed = None;
    for (index, scenario) in scenarios.iter().enumerate() {
        // Only now: scenarios of another operator may have taken everything away.
        if installed != Some(scenario.operator) {
            install::fresh(environment, scenario.operator).await?;
            installed = Some(scenario.operator);
        }
        println!("[{}/{}] {}: {}", index + 1, scenarios.len(), scenario.name, scenario.shows);
        if scenario.needs_lab && environment.lab.is_none() {
            println!("      skipped: it needs the nodes of the lab");
            report.add(scenario.name, Outcome::Skipped, Duration::ZERO, &Map::new());
            continue;
        }
        let begun = Instant::now();
        let context = Context {
            environment,
            operator: scenario.operator,
            namespace: format!("e2e-{}", scenario.name),
            chaos: options.chaos,
            figures: Mutex::new(Map::new()),
        };
        if scenario.long {
            context.figure("seed", options.chaos.seed);
        }
        let result = one(&context, scenario).await;
        let took = begun.elapsed();
        let failed = result.is_err();
        let outcome = match result {
            Ok(()) => {
                println!("      passed, {:.1} s", took.as_secs_f64());
                Outcome::Passed
            }
            Err(error) => {
                println!("      FAILED after {:.1} s: {error:#}", took.as_secs_f64());
                println!("{}", scenario.operator.log(environment).await);
                Outcome::Failed(format!("{error:#}"))
            }
        };
        let figures = context.figures.into_inner().unwrap_or_default();
        report.add(scenario.name, outcome, took, &figures);
        if !(failed && options.keep) {
            delete_namespaces(environment, &context.namespace).await;
        }
    }
    report.finish(options.report.as_deref())
}

async fn one(context: &Context<'_>, scenario: &Scenario) -> Result<()> {
    // What an earlier run left would be mistaken for this one's.
    delete_namespaces(context.environment, &context.namespace).await;
    create_namespace(context.environment, &context.namespace).await?;
    let work = AssertUnwindSafe((scenario.work)(context)).catch_unwind();
    let limit = LIMIT + Duration::from_mins(if scenario.long { context.chaos.minutes } else { 0 });
    match tokio::time::timeout(limit, work).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(anyhow!("it panicked")),
        Err(_) => Err(anyhow!("it did not end in {} s", limit.as_secs())),
    }
}

/// A namespace that enforces Pod Security *restricted*.
pub(crate) async fn create_namespace(environment: &Environment, name: &str) -> Result<()> {
    let api: Api<Namespace> = Api::all(environment.client.clone());
    let namespace = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted", "ballast.dev/e2e": "true"}},
    });
    api.patch(name, &PatchParams::apply("ballast-e2e").force(), &Patch::Apply(namespace)).await?;
    Ok(())
}

/// Deletes the scenario's namespaces (its name, or its name and a suffix) and waits until they are gone.
async fn delete_namespaces(environment: &Environment, name: &str) {
    let api: Api<Namespace> = Api::all(environment.client.clone());
    for namespace in [name.to_owned(), format!("{name}-second")] {
        if matches!(api.get_opt(&namespace).await, Ok(None)) {
            continue;
        }
        let _ = api.delete(&namespace, &DeleteParams::default()).await;
        let what = format!("namespace {namespace} to be gone");
        let gone = ballast_lab::wait::until(Duration::from_secs(90), &what, || async {
            Ok(api.get_opt(&namespace).await?.is_none().then_some(()))
        });
        if let Err(error) = gone.await {
            println!("      {error:#}");
        }
    }
}
