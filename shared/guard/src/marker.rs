//! The marker: a file in the root of the volume that says whose data it holds.

use serde::{Deserialize, Serialize};

/// File name of the marker in the root of the volume.
pub const FILE: &str = ".ballast-marker.json";

/// Whose volume it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Marker {
    /// Uid of the resource that the data belongs to.
    pub cluster_uid: String,
    /// Name of the member.
    pub member: String,
    /// Name of the claim when the marker was written. Information only: a volume may be bound again under another name.
    pub claim: String,
    /// Uid of the earlier cluster that the volume was adopted from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopted_from: Option<String>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_written_form_is_stable() {
        let plain = r#"{"clusterUid":"u1","member":"my-1","claim":"c"}"#;
        let adopted = r#"{"clusterUid":"u1","member":"my-1","claim":"c","adoptedFrom":"u0"}"#;
        for text in [plain, adopted] {
            let marker: Marker = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&marker).unwrap(), text);
        }
    }
}
