//! The metadata format (`metadata.version`): it follows the version once every node runs it, and never goes back.

use ballast_core::plan::Blocked;

use super::{Context, Next};
use crate::{intent::Intent, versions};

/// Why no node may be made of the wanted version, nor any be given it: the operator does not know it, or it is older than the metadata
/// format and cannot read it.
///
/// Kafka has no way back from a format; a version whose format is not older is fine.
pub(super) fn unfit(context: &Context<'_>) -> Option<Blocked> {
    let version = &context.desired.version;
    let own = match versions::supported(version) {
        Ok(row) => row.metadata_level,
        Err(message) => return Some(Blocked::new("version-supported", "VersionNotSupported", message)),
    };
    let level = context.observed.answers.metadata_level?;
    (own < level).then(|| {
        let message = format!(
            "nodes of version {version} cannot read the metadata of this cluster, which is that of {}, and Kafka has no way back: give \
             spec.version a version that can",
            versions::name(level)
        );
        Blocked::new("version-reads-metadata", "DowngradeNotPossible", message)
    })
}

/// After an upgrade: all nodes run the version and serve, or [`super::rollout::next`], which is asked before, would want or wait
/// for something. So the cluster may use what the version brings.
pub(super) fn finalize(context: &Context<'_>) -> Next {
    let (Some(level), Some(wanted)) =
        (context.observed.answers.metadata_level, context.desired.metadata_level)
    else {
        return Next::Nothing;
    };
    if level == wanted {
        return Next::Nothing;
    }
    if level > wanted {
        return Next::wait(
            "metadata-version-possible",
            "MetadataVersionTooNew",
            format!(
                "the metadata format is that of {}, and Kafka has no way back to that of {}: take spec.metadataVersion out",
                versions::name(level),
                versions::name(wanted)
            ),
        );
    }
    // It keeps the version that it had, which cannot read what the others would write.
    let stays = context.observed.nodes.iter().find(|node| {
        let departing = context.pool(node).is_some_and(|pool| pool.departing);
        departing && (node.pod.is_some() || node.registered.is_some())
    });
    if let Some(node) = stays {
        return Next::wait(
            "departing-nodes-gone",
            "NodeLeaves",
            format!("the metadata format follows the version when {} is gone", node.name),
        );
    }
    Next::Do(Intent::FinalizeMetadata { from: level, to: wanted })
}
