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
        let is_target: Vec<bool> = (0..brokers.len())
            .map(|index| staying[index] && !brokers[index].cordoned && !avoided[index])
            .collect();
        let targets = (0..).zip(&is_target).filter(|(_, is)| **is).map(|(index, _)| index).collect();
        let mut kept = marked(&request.kept);
        for (kept, leaving) in kept.iter_mut().zip(&leaving) {
            *kept &= !leaving;
        }
        let racks = Racks::new(brokers, &is_target);
        Self { leaving, alive, staying, targets, is_target, kept, racks }
    }
}
