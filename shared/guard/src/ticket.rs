//! The ticket: permission to start one member once on a volume without data.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The key of the ticket in its `ConfigMap`, and so its file name in the ticket directory.
pub const FILE: &str = "ticket.json";

/// The used-note in the pod's scratch directory. Its presence, whatever it holds, means: used in this pod.
pub const USED_NOTE: &str = "ticket-used.json";

/// Permission for one member to start on one fresh claim.
///
/// Fields that this version does not know are ignored, so that a newer operator can write tickets for the guard of
/// an older pod; a kind it does not know makes the ticket invalid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ticket {
    /// Why the member may start without data.
    pub kind: TicketKind,
    /// Uid of the resource that the member belongs to.
    pub cluster_uid: String,
    /// Name of the member.
    pub member: String,
    /// Name of the claim it was issued for.
    pub claim: String,
    /// Uid of that claim. The guard cannot see it; it is kept in the used-note for the operator and for people.
    pub claim_uid: String,
    /// Text to append to configuration files, by file name. A name that the pod has no file for makes the ticket invalid.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub append: BTreeMap<String, String>,
}

/// What a ticket allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TicketKind {
    /// The first start of a new cluster.
    Bootstrap,
    /// A new or replaced member of a cluster that exists.
    Join,
    /// A member that starts from a backup.
    Restore,
}

impl TicketKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Bootstrap, Self::Join, Self::Restore];
}

impl fmt::Display for TicketKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bootstrap => "Bootstrap",
            Self::Join => "Join",
            Self::Restore => "Restore",
        })
    }
}

/// The content of the used-note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsedNote {
    /// Kind of the ticket that was used.
    pub kind: TicketKind,
    /// Uid of the claim that the ticket was issued for.
    pub claim_uid: String,
}

impl From<&Ticket> for UsedNote {
    fn from(ticket: &Ticket) -> Self {
        Self { kind: ticket.kind, claim_uid: ticket.claim_uid.clone() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    const JOIN: &str = r#"{"kind":"Join","clusterUid":"u1","member":"my-1","claim":"c","claimUid":"cu","append":{"etcd.yaml":"a: b\n"}}"#;

    #[test]
    fn the_written_form_is_stable() {
        let ticket: Ticket = serde_json::from_str(JOIN).unwrap();
        assert_eq!(ticket.kind, TicketKind::Join);
        assert_eq!(serde_json::to_string(&ticket).unwrap(), JOIN);
    }

    #[test]
    fn append_and_unknown_fields_are_optional() {
        let text =
            r#"{"kind":"Bootstrap","clusterUid":"u","member":"m","claim":"c","claimUid":"cu","later":1}"#;
        assert!(serde_json::from_str::<Ticket>(text).unwrap().append.is_empty());
    }

    #[test]
    fn an_unknown_kind_is_invalid() {
        assert!(serde_json::from_str::<Ticket>(&JOIN.replace("Join", "Merge")).is_err());
    }

    #[test]
    fn every_field_but_append_is_required() {
        for field in ["kind", "clusterUid", "member", "claim", "claimUid"] {
            let text = JOIN.replace(&format!("\"{field}\""), "\"other\"");
            assert!(serde_json::from_str::<Ticket>(&text).is_err(), "{field}");
        }
    }
}
