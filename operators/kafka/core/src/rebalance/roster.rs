//! What each broker may be used for in a plan.

use super::{
    racks::Racks,
    request::{Goal, Request},
    snapshot::{BrokerId, Snapshot},
};

/// By index of the broker.
pub(super) struct Roster {
    /// To be emptied by this plan.
    pub(super) leaving: Vec<bool>,
    /// It answers.
    pub(super) alive: Vec<bool>,
    /// Part of the cluster after the plan: it lives and is not to be emptied, by this plan or another.
    pub(super) staying: Vec<bool>,
    /// Brokers that may get replicas.
    pub(super) targets: Vec<u16>,
    pub(super) is_target: Vec<bool>,
    /// Brokers that may get what has to go and has no other place.
    pub(super) last_resort: Vec<u16>,
    /// No longer to be emptied.
    pub(super) kept: Vec<bool>,
    pub(super) racks: Racks,
}

impl Roster {
    pub(super) fn new(snapshot: &Snapshot, request: &Request) -> Self {
        let brokers = snapshot.brokers();
        let marked = |ids: &[BrokerId]| {
            let mut marks = vec![false; brokers.len()];
            for index in ids.iter().filter_map(|id| snapshot.index(*id)) {
                marks[usize::from(index)] = true;
            }
            marks
        };
        let mut leaving = match &request.goal {
            Goal::Drain { brokers } => marked(brokers),
            _ => marked(&[]),
        };
        let drains = matches!(request.goal, Goal::Drain { .. });
        for (leaving, broker) in leaving.iter_mut().zip(brokers) {
            *leaving |= drains && broker.draining;
        }
        let alive: Vec<bool> = brokers.iter().map(|broker| !broker.dead).collect();
        let staying: Vec<bool> = brokers
            .iter()
            .zip(&leaving)
            .map(|(broker, leaving)| !(broker.dead || broker.draining || *leaving))
            .collect();
        let avoided = marked(&request.avoid);
        let takes: Vec<bool> =
            (0..brokers.len()).map(|index| staying[index] && !brokers[index].cordoned).collect();
        let is_target: Vec<bool> =
            takes.iter().zip(&avoided).map(|(takes, avoided)| *takes && !avoided).collect();
        let is_last: Vec<bool> =
            takes.iter().zip(&avoided).map(|(takes, avoided)| *takes && *avoided).collect();
        let indices =
            |marks: &[bool]| (0..).zip(marks).filter(|(_, is)| **is).map(|(index, _)| index).collect();
        let (targets, last_resort) = (indices(&is_target), indices(&is_last));
        let mut kept = marked(&request.kept);
        for (kept, leaving) in kept.iter_mut().zip(&leaving) {
            *kept &= !leaving;
        }
        // A broker that is avoided is no reason to crowd the racks of others.
        let racks = Racks::new(brokers, &takes);
        Self { leaving, alive, staying, targets, is_target, last_resort, kept, racks }
    }
}
