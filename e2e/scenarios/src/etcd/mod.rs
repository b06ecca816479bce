//! Scenarios of the etcd operator.

mod change;
pub(crate) mod cluster;
mod create;
mod drift;
mod identity;
mod invalid;
mod latency;
mod manifest;
mod namespaced;
mod node;
mod replace;
mod resize;
mod restart;
mod roll;
mod sample;
mod storage;
mod uninstall;
mod upgrade;
mod volume;

use crate::{rights, scenario, scenario::Scenario};

/// All of them, in the order in which they run.
pub(crate) fn scenarios() -> Vec<Scenario> {
    vec![
        scenario!("create", "three voters in three zones", create::three_zones, gate),
        scenario!("resize-small", "1 → 3 → 1", resize::small, gate),
        scenario!(
            "restart-all",
            "all pods deleted while the operator is away: same ids, same data",
            restart::all_pods,
            gate
        ),
        scenario!(
            "replace-claim",
            "claim and pod of a member deleted: it is replaced",
            replace::claim_deleted,
            gate
        ),
        scenario!("upgrade", "3.5 → 3.6 under load, one at a time, the leader last", upgrade::rolling, gate),
        scenario!(
            "bad-image",
            "an image that cannot be pulled stops at the first member; reverting recovers",
            change::bad_image,
            gate
        ),
        scenario!(
            "invalid",
            "wrong resources are refused with the field, and nothing changes",
            invalid::refused
        ),
        scenario!("resize-large", "1 → 7 → 3 → 5 → 1 → 3, each by one edit", resize::large),
        scenario!(
            "restart-succeeded",
            "pods that a node shut down come back with their data",
            restart::succeeded
        ),
        scenario!(
            "replace-wiped",
            "data wiped under a running pod: never started empty, replaced",
            replace::wiped,
            needs_lab
        ),
        scenario!("replace-finalizer", "a claim that cannot go holds up nobody", replace::pinned_claim),
        scenario!(
            "settings",
            "a change of settings under load, one at a time, the leader last",
            change::settings
        ),
        scenario!(
            "bad-setting",
            "a setting that etcd cannot start with stops at the first member; reverting recovers",
            change::bad_setting
        ),
        scenario!(
            "upgrade-reverted",
            "a half-done upgrade is reverted; downgrades and jumps are refused",
            upgrade::reverted
        ),
        scenario!("namesakes", "the same name in two namespaces", identity::namesakes),
        scenario!(
            "adopt",
            "deleted and made again: volumes are reported, then adopted with their data",
            identity::adopt
        ),
        scenario!("delete-volumes", "whenDeleted: Delete takes the volumes away", identity::delete_volumes),
        scenario!("sample-full", "the sample with every field", sample::full),
        scenario!("ephemeral", "scratch space: a lost pod is a lost member, and replaced", sample::ephemeral),
        scenario!("grow", "volumes grow without a restart", storage::grow),
        scenario!(
            "drift",
            "owned objects edited or deleted by hand are restored, and nothing rolls",
            drift::restored
        ),
        scenario!(
            "uninstall",
            "without the operator members run on; another version takes over without a restart",
            uninstall::take_over
        ),
        scenario!(
            "node-lost",
            "a node stopped: its member is replaced elsewhere; the node returns, nothing fights",
            node::lost,
            needs_lab
        ),
        scenario!(
            "node-lost-zones",
            "with one node in each zone: the member is replaced in another zone",
            node::lost_with_zones,
            needs_lab
        ),
        scenario!("namespaced", "with rights in one namespace only", namespaced::one_namespace),
        scenario!("manifest", "kubectl create -f, without Helm", manifest::one_file, needs_lab),
        scenario!(
            "quiet",
            "when nothing is to be done nothing is written or listed",
            create::quiet,
            needs_lab
        ),
        scenario!("latency", "how soon the operator begins", latency::first_object),
        // The last one: it looks at what all others made the operator do.
        scenario!("rights", "the operator has exactly the rights that it uses", rights::exact, needs_lab),
    ]
}
