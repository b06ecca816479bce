//! The requests that change something, in the order in which nodes got them, and what is done around one of them.

use std::{collections::BTreeMap, fmt, sync::Arc};

use kafka_protocol::messages::ApiKey;

/// When something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Instead of what was asked for.
    Before,
    /// After what was asked for, instead of the answer.
    After,
}

/// Something that is done around one request; the connection ends with it, without an answer.
#[derive(Clone)]
pub struct Strike {
    /// The how-manieth request that changes something, from 1, counted from the beginning of its cluster.
    pub number: usize,
    /// When.
    pub moment: Moment,
    /// What: kills the operator, say, or does nothing but that the answer is lost.
    pub act: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} write {}", self.moment, self.number)
    }
}

#[derive(Debug, Default)]
pub(super) struct Journal(BTreeMap<String, Page>);

/// The part of one namespace.
#[derive(Debug, Default)]
struct Page {
    writes: Vec<ApiKey>,
    strikes: Vec<Strike>,
    struck: usize,
}

/// Whether a request changes something.
pub(super) fn changes(key: ApiKey) -> bool {
    matches!(
        key,
        ApiKey::AddRaftVoter
            | ApiKey::AlterPartitionReassignments
            | ApiKey::CreateTopics
            | ApiKey::DeleteTopics
            | ApiKey::ElectLeaders
            | ApiKey::IncrementalAlterConfigs
            | ApiKey::RemoveRaftVoter
            | ApiKey::UnregisterBroker
            | ApiKey::UpdateFeatures
    )
}

impl Journal {
    /// Notes a request, and takes what is to be done around it.
    pub(super) fn note(&mut self, namespace: &str, key: ApiKey) -> Option<Strike> {
        let page = self.0.entry(namespace.to_owned()).or_default();
        page.writes.push(key);
        let number = page.writes.len();
        let at = page.strikes.iter().position(|strike| strike.number == number)?;
        page.struck += 1;
        Some(page.strikes.swap_remove(at))
    }

    pub(super) fn writes(&self, namespace: &str) -> Vec<String> {
        let writes = self.0.get(namespace).map(|page| page.writes.as_slice());
        writes.unwrap_or_default().iter().map(|key| format!("{key:?}")).collect()
    }

    pub(super) fn strike(&mut self, namespace: &str, strike: Strike) {
        self.0.entry(namespace.to_owned()).or_default().strikes.push(strike);
    }

    pub(super) fn struck(&self, namespace: &str) -> usize {
        self.0.get(namespace).map_or(0, |page| page.struck)
    }
}
