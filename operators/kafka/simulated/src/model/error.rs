//! How Kafka says no (`org.apache.kafka.common.protocol.Errors`).

/// A code of Kafka's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i16)]
pub enum Code {
    /// There is no such topic or partition.
    UnknownTopicOrPartition = 3,
    /// The node is not the leader: of the quorum, or of a partition.
    NotLeaderOrFollower = 6,
    /// It did not get done in time.
    RequestTimedOut = 7,
    /// The topic exists.
    TopicAlreadyExists = 36,
    /// A number of replicas that cannot be.
    InvalidReplicationFactor = 38,
    /// A list of replicas that cannot be.
    InvalidReplicaAssignment = 39,
    /// A setting or a value that cannot be.
    InvalidConfig = 40,
    /// The node is not the active controller.
    NotController = 41,
    /// The request makes no sense to the node.
    InvalidRequest = 42,
    /// The preferred leader is not in sync.
    PreferredLeaderNotAvailable = 80,
    /// The preferred leader leads already.
    ElectionNotNeeded = 84,
    /// There is nothing to cancel.
    NoReassignmentInProgress = 85,
    /// A level that cannot be.
    InvalidUpdateVersion = 95,
    /// There is no topic with this id.
    UnknownTopicId = 100,
    /// There is no such broker.
    BrokerIdNotRegistered = 102,
    /// The request is for another cluster.
    InconsistentClusterId = 104,
    /// Brokers asked of a controller, or the other way round.
    MismatchedEndpointType = 114,
    /// The node votes already.
    DuplicateVoter = 126,
    /// The node does not vote, with this directory.
    VoterNotFound = 127,
}

/// A refusal: nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code:?}: {message}")]
pub struct Refusal {
    /// Kafka's code.
    pub code: Code,
    /// In words.
    pub message: String,
}

impl Code {
    /// The number in an answer.
    pub fn number(self) -> i16 {
        self as i16
    }

    /// A refusal with this code.
    pub fn because<T>(self, message: impl Into<String>) -> Result<T, Refusal> {
        Err(Refusal { code: self, message: message.into() })
    }
}
