//! The operator has exactly the rights that it uses.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use kube::{Api, api::ListParams};

use crate::{audit, install::NAMESPACE, scenario::Context};

/// Group, resource (with its subresource), verb.
type Right = (String, String, String);

/// To be run after all other scenarios: what they made the operator do stands in the API server's audit log.
pub(crate) async fn exact(context: &Context<'_>) -> Result<()> {
    let (exercised, denied) = requests(&audit::operator(context.operator))?;
    ensure!(!exercised.is_empty(), "the operator never asked for anything");
    let granted = granted(context).await?;
    // Its lease is the last thing that an operator asks for which is taken away together with its rights, as `manifest` does.
    let taken_away = |right: &&Right| right.1 == "leases" && granted.contains(*right);
    let denied: Vec<_> = denied.iter().filter(|right| !taken_away(right)).collect();
    ensure!(denied.is_empty(), "requests that were forbidden: {denied:?}");
    let unused: Vec<_> = granted.difference(&exercised).collect();
    ensure!(unused.is_empty(), "granted and never used (did all other scenarios run before?): {unused:?}");
    context.figure("rights granted and used", granted.len());
    Ok(())
}

fn requests(user: &str) -> Result<(BTreeSet<Right>, BTreeSet<Right>)> {
    let (mut exercised, mut denied) = (BTreeSet::new(), BTreeSet::new());
    for request in audit::requests(user)? {
        let right = (request.group, request.resource, request.verb);
        if request.forbidden {
            denied.insert(right);
            continue;
        }
        if right.2 == "patch" && !right.1.contains('/') {
            // Server-side apply of what does not exist yet needs this right too, and leaves no line of its own.
            exercised.insert((right.0.clone(), right.1.clone(), "create".to_owned()));
        }
        exercised.insert(right);
    }
    Ok((exercised, denied))
}

/// What the ClusterRole gives in every namespace, and the Role in the operator's own.
async fn granted(context: &Context<'_>) -> Result<BTreeSet<Right>> {
    let client = &context.environment.client;
    let release = context.operator.release();
    let ours = ListParams::default().labels(&format!("app.kubernetes.io/instance={release}"));
    let everywhere: Api<ClusterRole> = Api::all(client.clone());
    let role = everywhere
        .list(&ours)
        .await?
        .items
        .into_iter()
        .find(|role| role.metadata.name.as_deref() == Some(release))
        .context("the operator has no ClusterRole")?;
    let at_home: Api<Role> = Api::namespaced(client.clone(), NAMESPACE);
    let election = at_home.list(&ours).await?.items;
    ensure!(!election.is_empty(), "the operator has no Role in its own namespace, for its lease");
    let rules = election.into_iter().flat_map(|role| role.rules.unwrap_or_default());
    Ok(rights(role.rules.unwrap_or_default().into_iter().chain(rules)))
}

fn rights(rules: impl Iterator<Item = PolicyRule>) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    for rule in rules {
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                rights.extend(rule.verbs.iter().map(|verb| (group.clone(), resource.clone(), verb.clone())));
            }
        }
    }
    rights
}
