//! The answers, from the model; one file per subject.

pub(super) mod configs;
pub(super) mod disks;
pub(super) mod features;
pub(super) mod membership;
pub(super) mod moves;
pub(super) mod quorum;
pub(super) mod topics;

use kafka_protocol::{
    messages::{ApiKey, BrokerId, TopicName},
    protocol::StrBytes,
};

use super::connection::Port;
use crate::model::{Code, Kafka, Process, Refusal};

/// The node that is asked.
pub(super) struct Asked<'a> {
    pub(super) kafka: &'a mut Kafka,
    pub(super) process: Process,
    pub(super) port: Port,
}

impl Asked<'_> {
    /// Why this node cannot answer what is for the active controller. Brokers pass it on, controllers do not.
    pub(super) fn elsewhere(&self, key: ApiKey) -> Option<Refusal> {
        let of_quorum =
            matches!(key, ApiKey::DescribeQuorum | ApiKey::AddRaftVoter | ApiKey::RemoveRaftVoter);
        let code = match (self.port, self.kafka.leader) {
            (Port::Clients, Some(_)) => return None,
            (Port::Clients, None) => Code::RequestTimedOut,
            (Port::Controllers, leader) if leader == Some(self.process.node) => return None,
            (Port::Controllers, _) if of_quorum => Code::NotLeaderOrFollower,
            (Port::Controllers, _) => Code::NotController,
        };
        Some(Refusal { code, message: "the active controller was not asked".to_owned() })
    }

    /// Does something that only the active controller does.
    fn through_controller<T>(
        &mut self,
        key: ApiKey,
        change: impl FnOnce(&mut Kafka) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        self.elsewhere(key).map_or(Ok(()), Err)?;
        change(self.kafka)
    }
}

/// Code and message in an answer.
fn said<T>(outcome: &Result<T, Refusal>) -> (i16, Option<StrBytes>) {
    match outcome {
        Ok(_) => (0, None),
        Err(refusal) => (refusal.code.number(), Some(refusal.message.clone().into())),
    }
}

fn nodes(ids: &[i32]) -> Vec<BrokerId> {
    ids.iter().copied().map(BrokerId).collect()
}

fn topic(name: &str) -> TopicName {
    TopicName(name.to_owned().into())
}
