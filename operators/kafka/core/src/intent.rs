//! What the Kafka operator can want: one of these per pass.

use ballast_core::{object::ObjectRef, plan};

use crate::build::Place;

/// One thing to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    /// Make the first controller: record, claim, permission, ticket, StatefulSet; continues where it was left.
    Bootstrap {
        /// Its pool.
        pool: String,
        /// Where it is.
        place: Place,
    },
    /// Write down that the cluster has started, and under which id.
    ConfirmStarted {
        /// Kafka's cluster id.
        cluster_id: String,
    },
    /// Delete the ticket of a node that has started.
    RevokeTicket {
        /// The node.
        node: String,
        /// Its ticket.
        ticket: ObjectRef,
    },
    /// Make nodes that the cluster does not have yet: claim, ticket, StatefulSet, for each.
    AddNodes {
        /// Pool and place of each.
        places: Vec<(String, Place)>,
        /// Why.
        why: String,
    },
    /// Let a controller vote.
    AddVoter {
        /// The node.
        node: String,
        /// Its id.
        id: i32,
        /// Id of its metadata log.
        directory: String,
    },
    /// Give a node the new template and restart it.
    Update {
        /// The node.
        node: String,
        /// Its pool.
        pool: String,
        /// Where it is.
        place: Place,
        /// uid of the pod that is to go, if there is one.
        pod: Option<String>,
        /// Why.
        why: String,
    },
    /// Stop a pod, so that it comes back and tries again.
    Restart {
        /// The node.
        node: String,
        /// uid of its pod.
        pod: String,
        /// Why.
        why: String,
    },
}

impl plan::Intent for Intent {
    fn reason(&self) -> &'static str {
        match self {
            Self::Bootstrap { .. } => "Bootstrap",
            Self::ConfirmStarted { .. } => "ConfirmStarted",
            Self::RevokeTicket { .. } => "RevokeTicket",
            Self::AddNodes { .. } => "AddNodes",
            Self::AddVoter { .. } => "AddVoter",
            Self::Update { .. } => "UpdateNode",
            Self::Restart { .. } => "RestartNode",
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Bootstrap { place, .. } => format!("making the first controller (node {})", place.id),
            Self::ConfirmStarted { cluster_id } => format!("the cluster has started with id {cluster_id}"),
            Self::RevokeTicket { node, .. } => format!("{node} has started: its ticket is deleted"),
            Self::AddNodes { places, why } => {
                let ids: Vec<String> = places.iter().map(|(_, place)| place.id.to_string()).collect();
                format!("adding node {}: {why}", ids.join(", "))
            }
            Self::AddVoter { node, .. } => format!("{node} has caught up: it becomes a voter of the quorum"),
            Self::Update { node, why, .. } => format!("giving {node} the new template: {why}"),
            Self::Restart { node, why, .. } => format!("restarting {node}: {why}"),
        }
    }

    fn disruptive(&self) -> bool {
        !matches!(self, Self::ConfirmStarted { .. } | Self::RevokeTicket { .. })
    }
}
