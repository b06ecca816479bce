//! A full disk. Replacing the member would fill the next one, and throw away the copy that is there.

use anyhow::{Context as _, Result, bail, ensure};
use ballast_lab::wait::{self, Seen};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};

use crate::{
    etcd::cluster::{Cluster, DEADLINE, is_ready},
    proxy,
    scenario::Context,
};

/// Much shorter than anybody would want it, so that it has passed long before the end.
const REPLACE_AFTER: &str = "15s";

pub(super) async fn full(context: &Context<'_>) -> Result<()> {
    let more = json!({
        // The others have room for what fills the one.
        "storage": {"size": "1Gi"},
        "repair": {"restartAfter": "5s", "replaceAfter": REPLACE_AFTER},
    });
    let (cluster, ledger) = Cluster::written_to(context, "3.6.16", &more).await?;
    let ids = cluster.ids().await?;
    let members = cluster.status().await?.members;
    let follower = members.into_iter().find(|member| member.role == "Follower").context("no follower")?.name;
    let claims = cluster.claim_names().await?;
    let claim = claims.get(&follower).context("the follower has no claim")?;
    ballast_lab::fill(&cluster.client, &cluster.namespace, claim, 0).await?;
    let outcome = async {
        overflow(&cluster, &follower).await?;
        kept(&cluster, &follower).await
    }
    .await;
    ballast_lab::unfill(&cluster.client, &cluster.namespace, claim).await?;
    context.figure("what the status said", outcome?);
    cluster.ready().await?;
    ensure!(cluster.ids().await? == ids, "the member was replaced: {ids:?}, now {:?}", cluster.ids().await?);
    cluster.settle(context, ledger, 3).await
}

/// Writes until the full member fails. etcd takes room by the log segment, 64 MiB, so that takes more than one of them.
async fn overflow(cluster: &Cluster, follower: &str) -> Result<()> {
    let members = cluster.status().await?.members;
    let other = members.into_iter().find(|member| member.name != follower).context("no other member")?.name;
    let value = BASE64.encode(vec![b'x'; 128 << 10]);
    for number in 0..1536 {
        let put = json!({"key": BASE64.encode(format!("overflow/{}", number % 64)), "value": value});
        // A write may fail when the leader is the one that ends.
        let _ = proxy::post::<Value>(
            &cluster.client,
            &cluster.namespace,
            &format!("{other}-0"),
            2379,
            "v3/kv/put",
            &put,
        )
        .await;
        if number % 16 == 0 && !is_ready(&cluster.pod(follower).await?) {
            return Ok(());
        }
    }
    bail!("{follower} takes everything with a full volume")
}

/// Waits until the member has been failing for several times its deadline, and is still the same.
async fn kept(cluster: &Cluster, follower: &str) -> Result<String> {
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
