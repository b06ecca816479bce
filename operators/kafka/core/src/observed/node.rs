//! One node: what Kubernetes and Kafka know of it, and what follows from that.

use jiff::Timestamp;

use super::{ClaimView, PodView, Registered, Replica, StatefulSetView, TicketView};

/// Everything about one node.
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Node id.
    pub id: i32,
    /// Name, also of its StatefulSet.
    pub name: String,
    /// Name of its pool.
    pub pool: String,
    /// Whether it is a controller.
    pub controller: bool,
    /// Whether it is a broker.
    pub broker: bool,
    /// Whether the specification wants it.
    pub wanted: bool,
    /// Its StatefulSet.
    pub stateful_set: Option<StatefulSetView>,
    /// Its pod.
    pub pod: Option<PodView>,
    /// All claims made for it, of this cluster.
    pub claims: Vec<ClaimView>,
    /// Its ticket.
    pub ticket: Option<TicketView>,
    /// Its registration as a broker.
    pub registered: Option<Registered>,
    /// Whether it votes in the quorum.
    pub voter: Option<Replica>,
    /// Whether it follows the quorum.
    pub observer: Option<Replica>,
    /// Whether it leads the quorum.
    pub leads: bool,
    /// What it said when asked directly.
    pub probe: Result<(), String>,
    /// Since when it has not served.
    pub unhealthy_since: Option<Timestamp>,
}

impl Node {
    /// Whether Kafka knows that it runs with its data: a broker in service, a controller that follows or votes.
    pub fn started(&self) -> bool {
        let broker = !self.broker || self.registered.as_ref().is_some_and(|broker| !broker.fenced);
        let controller = !self.controller || self.voter.is_some() || self.observer.is_some();
        self.probe.is_ok() && broker && controller
    }

    /// Whether it does all that it is for.
    pub fn serves(&self) -> bool {
        self.started() && (!self.controller || self.voter.is_some())
    }

    /// Whether it was told to stop. It answers, and is in sync, for a while yet.
    pub fn stops(&self) -> bool {
        self.pod.as_ref().is_some_and(|pod| pod.deletion_due.is_some())
    }

    /// The claim that its StatefulSet uses.
    pub fn claim(&self) -> Option<&ClaimView> {
        let name = self.stateful_set.as_ref()?.claim.as_deref()?;
        self.claims.iter().find(|claim| claim.reference.name == name)
    }

    /// Whether its data is certainly gone: the guard says so, or it does not run and its claim or volume is gone. A node that
    /// starts for the first time has none yet.
    pub fn is_lost(&self) -> bool {
        if self.pod.as_ref().is_some_and(|pod| pod.running) {
            return false;
        }
        let Some(set) = &self.stateful_set else {
            let known = self.registered.is_some() || self.voter.is_some();
            // A claim that waits for its first pod has nothing yet.
            return known && self.live_claims().all(|claim| claim.phase != "Bound");
        };
        let gone =
            set.claim.is_some() && self.claim().is_none_or(|claim| claim.retired || claim.phase == "Lost");
        let empty = self.ticket.is_none() && self.pod.as_ref().is_some_and(PodView::lost_data);
        gone || empty
    }

    /// Whether its pod uses another claim than its StatefulSet names.
    pub fn has_old_claim(&self) -> bool {
        let set = self.stateful_set.as_ref().and_then(|set| set.claim.as_ref());
        self.pod.as_ref().is_some_and(|pod| pod.deletion_due.is_none() && pod.claim.as_ref() != set)
    }

    /// Zone of its data.
    pub fn zone(&self) -> Option<&str> {
        self.claim().or_else(|| self.live_claims().next())?.zone.as_deref()
    }

    /// Whether it is to be removed: the specification does not want it, and something of it is left.
    pub fn leaves(&self) -> bool {
        !self.wanted && (!self.gone() || self.live_claims().next().is_some())
    }

    /// Claims that are, or will be, in use; not those that it left behind when it was removed earlier.
    pub fn live_claims(&self) -> impl Iterator<Item = &ClaimView> {
        self.claims.iter().filter(|claim| !claim.deleting && !claim.retired)
    }

    /// The how-manieth claim the next one is, from 0: none that is there, or that its StatefulSet names, had that number. A claim
    /// that was just deleted may be there again for an API server that was asked before, so its name is not taken either.
    pub fn next_attempt(&self) -> usize {
        let number = |name: &str| name.rsplit('-').next().and_then(|number| number.parse::<usize>().ok());
        let there = self.claims.iter().map(|claim| claim.reference.name.as_str());
        let named = self.stateful_set.iter().filter_map(|set| set.claim.as_deref());
        there.chain(named).filter_map(number).max().map_or(0, |last| last + 1)
    }

    /// Whether nothing of it is left but claims.
    pub fn gone(&self) -> bool {
        self.stateful_set.is_none()
            && self.pod.is_none()
            && self.registered.is_none()
            && self.voter.is_none()
            && self.ticket.is_none()
    }
}
