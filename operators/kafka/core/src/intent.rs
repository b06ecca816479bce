//! What the Kafka operator can want: one of these per pass.

use ballast_core::{object::ObjectRef, plan};

use crate::{build::Place, moving::Lists, rebalance::outcome::Move, versions::name};

/// What has to change for replicas that are moved to be throttled as they should be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Throttle {
    /// What all brokers may send and receive from now on, in bytes per second; `Some(None)`: no limit; `None`: as it is.
    pub rate: Option<Option<u64>>,
    /// Topics and which of their replicas are throttled from now on; `None`: none.
    pub lists: Vec<(String, Option<Lists>)>,
}

impl Throttle {
    /// Whether nothing has to change.
    pub fn is_empty(&self) -> bool {
        self.rate.is_none() && self.lists.is_empty()
    }
}

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
    /// Have brokers that leave take no new replicas.
    Cordon {
        /// Their ids.
        brokers: Vec<i32>,
    },
    /// Let brokers take new replicas again.
    Uncordon {
        /// Their ids.
        brokers: Vec<i32>,
    },
    /// Change the throttle, and then move replicas.
    MoveReplicas {
        /// Where they go.
        moves: Vec<Move>,
        /// What the throttle needs before.
        throttle: Throttle,
        /// What for.
        why: String,
    },
    /// Change the throttle only: what it named has ended.
    Throttle(Throttle),
    /// Cancel reassignments that nobody wants any more, or that make no progress.
    CancelMoves {
        /// Topic and number of each.
        partitions: Vec<(String, i32)>,
        /// Why.
        why: String,
    },
    /// Take the vote of a controller that leaves, or whose metadata log is lost.
    RemoveVoter {
        /// The node.
        node: String,
        /// Its id.
        id: i32,
        /// Id of its metadata log.
        directory: String,
        /// Why.
        why: String,
    },
    /// Give a node whose data is gone an empty volume, and permission to start on it.
    ReplaceVolume {
        /// The node.
        node: String,
        /// Its pool.
        pool: String,
        /// Where it will be.
        place: Place,
        /// The claim that it had, if that exists: it stays, and is never used again by itself.
        lost: Option<ObjectRef>,
        /// uid of the pod that is to go, if there is one.
        pod: Option<String>,
    },
    /// Stop a node that is empty; its volume stays.
    Park {
        /// The node.
        node: String,
        /// Its pool.
        pool: String,
        /// Where it is.
        place: Place,
    },
    /// Have Kafka forget a broker that is empty and has stopped.
    Unregister {
        /// The node.
        node: String,
        /// Its id.
        id: i32,
    },
    /// Let the cluster use what its version can: there is no way back.
    FinalizeMetadata {
        /// The level that it has.
        from: i16,
        /// The level that it gets.
        to: i16,
    },
    /// Remove what is left of a node in Kubernetes.
    Forget {
        /// The node.
        node: String,
        /// Whether its volume stays.
        retain: bool,
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
            Self::Cordon { .. } => "CordonBroker",
            Self::Uncordon { .. } => "UncordonBroker",
            Self::MoveReplicas { .. } => "MoveReplicas",
            Self::Throttle(_) => "ChangeThrottle",
            Self::CancelMoves { .. } => "CancelMoves",
            Self::RemoveVoter { .. } => "RemoveVoter",
            Self::ReplaceVolume { .. } => "ReplaceVolume",
            Self::Park { .. } => "StopNode",
            Self::Unregister { .. } => "UnregisterBroker",
            Self::Forget { .. } => "RemoveNode",
            Self::FinalizeMetadata { .. } => "FinalizeMetadata",
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
            Self::Cordon { brokers } => format!("{} will be emptied and takes nothing new", named(brokers)),
            Self::Uncordon { brokers } => format!("{} stays and takes new replicas again", named(brokers)),
            Self::MoveReplicas { moves, why, .. } => {
                let bytes = moves.iter().map(Move::bytes).sum::<u64>();
                format!("{why}: {} partitions begin to move, {bytes} bytes", moves.len())
            }
            Self::Throttle(_) => "the throttle names only what is being moved".to_owned(),
            Self::CancelMoves { partitions, why } => {
                format!("{} moves are cancelled: {why}", partitions.len())
            }
            Self::RemoveVoter { node, why, .. } => format!("{node} gives its vote in the quorum back: {why}"),
            Self::ReplaceVolume { node, place, .. } => format!(
                "the data of {node} is gone, and others have all of it: it starts again on the empty volume {}",
                place.claim
            ),
            Self::Park { node, .. } => format!("{node} is empty: it is stopped, its volume stays for now"),
            Self::Unregister { node, .. } => format!("{node} is empty and has stopped: Kafka forgets it"),
            Self::FinalizeMetadata { from, to } => {
                format!(
                    "all nodes run the version: the metadata format goes from {} to {}",
                    name(*from),
                    name(*to)
                )
            }
            Self::Forget { node, retain: true } => format!("{node} is removed; its volume stays"),
            Self::Forget { node, retain: false } => format!("{node} is removed, and its volume with it"),
        }
    }

    fn disruptive(&self) -> bool {
        !matches!(self, Self::ConfirmStarted { .. } | Self::RevokeTicket { .. })
    }
}

/// `broker 3` or `brokers 3 and 4`.
pub(crate) fn named(brokers: &[i32]) -> String {
    let names: Vec<String> = brokers.iter().map(ToString::to_string).collect();
    match names.as_slice() {
        [] => "no broker".to_owned(),
        [one] => format!("broker {one}"),
        [first @ .., last] => format!("brokers {} and {last}", first.join(", ")),
    }
}
