//! Nothing to do: nothing is written, nothing is listed. Only the leader's lease is renewed.

use std::time::Duration;

use anyhow::{Result, ensure};
use ballast_lab::wait::{self, Seen};

use crate::{audit, install::NAMESPACE, scenario::Context};

/// Passes to look at; each one reads the binding Secret, which nobody caches.
const PASSES: usize = 2;

/// To be called when the cluster of the scenario has become what it should be.
pub(crate) async fn holds(context: &Context<'_>) -> Result<()> {
    let since = jiff::Timestamp::now();
    let ours = || -> Result<Vec<audit::Request>> {
        let all = audit::requests(&audit::operator(context.operator))?;
        Ok(all
            .into_iter()
            .filter(|request| [context.namespace.as_str(), NAMESPACE].contains(&request.namespace.as_str()))
            .filter(|request| request.at > since)
            .collect())
    };
    wait::until(Duration::from_mins(4), "passes in which nothing is to be done", || async {
        let passes =
            ours()?.iter().filter(|request| request.resource == "secrets" && request.verb == "get").count();
        Ok(if passes >= PASSES { Seen::Met(()) } else { Seen::NotYet(format!("{passes} of {PASSES}")) })
    })
    .await?;
    let (election, others): (Vec<_>, Vec<_>) =
        ours()?.into_iter().partition(|request| is_election(context, request));
    let loud: Vec<_> =
        others.iter().filter(|request| !matches!(request.verb.as_str(), "get" | "watch")).collect();
    ensure!(loud.is_empty(), "nothing was to be done, yet: {loud:?}");
    ensure!(!election.is_empty(), "the leader did not renew its lease");
    context.figure("requests in the quiet", others.len());
    context.figure("renewals of the lease meanwhile", election.len());
    Ok(())
}

/// The election's own requests: the one lease, read and renewed.
fn is_election(context: &Context<'_>, request: &audit::Request) -> bool {
    request.group == "coordination.k8s.io"
        && request.resource == "leases"
        && request.namespace == NAMESPACE
        && request.name == format!("{}.ballast.dev", context.operator.release())
        && matches!(request.verb.as_str(), "get" | "update")
}
