//! A full disk. Replacing the member would fill the next one, and throw away the copy that is there.

use anyhow::{Context as _, Result, ensure};
use ballast_lab::wait::{self, Seen};
use serde_json::json;

use crate::{etcd::cluster::DEADLINE, scenario::Context};

/// Much shorter than anybody would want it, so that it has passed long before the end.
const REPLACE_AFTER: &str = "15s";

pub(super) async fn full(context: &Context<'_>) -> Result<()> {
    let more = json!({"repair": {"restartAfter": "5s", "replaceAfter": REPLACE_AFTER}});
    let (cluster, ledger) = super::start(context, &more).await?;
    let ids = cluster.ids().await?;
    let members = cluster.status().await?.members;
    let follower = members.into_iter().find(|member| member.role == "Follower").context("no follower")?.name;
    let claims = cluster.claim_names().await?;
    let claim = claims.get(&follower).context("the follower has no claim")?;
    ballast_lab::fill(&cluster.client, &cluster.namespace, claim, 0).await?;
    // etcd's files are as large as they need to be for a while: only a start needs more room at once.
    cluster.kill(&follower).await?;
    let outcome = kept(&cluster, &follower).await;
    ballast_lab::unfill(&cluster.client, &cluster.namespace, claim).await?;
    context.figure("what the status said", outcome?);
    cluster.ready().await?;
    ensure!(cluster.ids().await? == ids, "the member was replaced: {ids:?}, now {:?}", cluster.ids().await?);
    cluster.settle(context, ledger, 3).await
}

/// Waits until the member has been failing for several times its deadline, and is still the same.
async fn kept(cluster: &crate::etcd::cluster::Cluster, follower: &str) -> Result<String> {
    let id = cluster.member(follower).await?.id;
    wait::until_in(
        &cluster.client,
        &cluster.namespace,
        DEADLINE,
        "the full member to be waited for",
        || async {
            let status = cluster.status().await?;
            let member = status.members.iter().find(|member| member.name == follower);
            let member = member.context("it is not in the status")?;
            let since =
                member.unhealthy_since.as_deref().and_then(|since| since.parse::<jiff::Timestamp>().ok());
            let failing = since.map(|since| jiff::Timestamp::now().duration_since(since).as_secs());
            let plan = serde_json::to_string(&status.plan)?;
            Ok(match failing {
                Some(seconds) if seconds > 45 && member.id == id => Seen::Met(plan),
                _ => Seen::NotYet(format!("failing for {failing:?} s; {member:?}; {plan}")),
            })
        },
    )
    .await
}
