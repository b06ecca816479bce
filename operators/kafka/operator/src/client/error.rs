//! What can come of a request, told apart by what may be concluded from it.
//!
//! The codes and which of them are retriable are Kafka's (`org.apache.kafka.common.protocol.Errors`); the three classes are ours.

use std::{fmt, time::Duration};

use kafka_protocol::error::ResponseError;

/// Why a request did not bring what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing is known: neither a yes nor a no may be concluded.
    #[error("{0}")]
    Unknown(#[from] Unknown),
    /// Kafka says no, and will say so again. Nothing has changed.
    #[error("Kafka refuses: {0}")]
    Refused(Refusal),
    /// Kafka says no for now, and may accept the same request later. Nothing has changed.
    #[error("Kafka asks to wait: {0}")]
    Waiting(Refusal),
}

/// A code other than zero in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Kafka's number for it; the ones that callers compare with are in [`code`].
    pub code: i16,
    /// What Kafka adds to it; often empty.
    pub message: String,
}

/// A request without an answer that tells something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What went wrong.
    pub cause: Cause,
    /// Whether the request would change something, and may have reached Kafka: it may have been applied, or may still be.
    pub may_have_been_applied: bool,
}

/// What went wrong with a request that has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Nobody has told where a node of this number listens, or where any does.
    NoAddress,
    /// The node cannot be reached.
    Connect(String),
    /// There is no whole answer within the time that there was.
    Deadline(Duration),
    /// The connection ended before the whole answer was there.
    Disconnected(String),
    /// A frame of this many bytes, which is more than is read or sent, or less than none.
    Frame(i64),
    /// A request that cannot be written in a version that the node has.
    Unwritable(String),
    /// An answer that cannot be read, or that belongs to another request.
    Unparsable(String),
    /// Kafka itself does not know, or has a code that this client does not know.
    Answered(Refusal),
}

/// Codes that callers compare with.
pub mod code {
    /// An unexpected error inside of the server.
    pub const UNKNOWN_SERVER_ERROR: i16 = -1;
    /// There is no such topic or partition, as far as the node that was asked knows.
    pub const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
    /// The partition has no leader.
    pub const LEADER_NOT_AVAILABLE: i16 = 5;
    /// The node is not the leader; of the quorum, where the quorum was asked for.
    pub const NOT_LEADER_OR_FOLLOWER: i16 = 6;
    /// The server did not get it done in time, and does not know whether it is.
    pub const REQUEST_TIMED_OUT: i16 = 7;
    /// A broker that is needed is not there.
    pub const BROKER_NOT_AVAILABLE: i16 = 8;
    /// The server's own connection broke.
    pub const NETWORK_EXCEPTION: i16 = 13;
    /// The server does not have this request in a version that the client has.
    pub const UNSUPPORTED_VERSION: i16 = 35;
    /// A topic of this name exists.
    pub const TOPIC_ALREADY_EXISTS: i16 = 36;
    /// More replicas than brokers that could take one.
    pub const INVALID_REPLICATION_FACTOR: i16 = 38;
    /// A list of replicas that cannot be.
    pub const INVALID_REPLICA_ASSIGNMENT: i16 = 39;
    /// A setting that does not exist or a value that is not valid.
    pub const INVALID_CONFIG: i16 = 40;
    /// The node is not the active controller.
    pub const NOT_CONTROLLER: i16 = 41;
    /// The request makes no sense to the server.
    pub const INVALID_REQUEST: i16 = 42;
    /// The log directory cannot be read or written.
    pub const KAFKA_STORAGE_ERROR: i16 = 56;
    /// The partition is being reassigned.
    pub const REASSIGNMENT_IN_PROGRESS: i16 = 60;
    /// The preferred leader is not there or not in sync.
    pub const PREFERRED_LEADER_NOT_AVAILABLE: i16 = 80;
    /// The preferred leader leads already.
    pub const ELECTION_NOT_NEEDED: i16 = 84;
    /// There is no reassignment of the partition to cancel.
    pub const NO_REASSIGNMENT_IN_PROGRESS: i16 = 85;
    /// A level of a feature that is not possible.
    pub const INVALID_UPDATE_VERSION: i16 = 95;
    /// No broker of this number is registered.
    pub const BROKER_ID_NOT_REGISTERED: i16 = 102;
    /// The request names another cluster than the one that was reached.
    pub const INCONSISTENT_CLUSTER_ID: i16 = 104;
    /// The replica may not take the partition; its log directories may be cordoned.
    pub const INELIGIBLE_REPLICA: i16 = 107;
    /// The node id and the directory id are voters already.
    pub const DUPLICATE_VOTER: i16 = 126;
    /// The node id and the directory id are not a voter.
    pub const VOTER_NOT_FOUND: i16 = 127;
}

/// Answers with which the server says that it does not know either.
const NO_ANSWER: &[i16] = &[code::UNKNOWN_SERVER_ERROR, code::REQUEST_TIMED_OUT, code::NETWORK_EXCEPTION];

/// Answers that pass, though Kafka's own table does not call them retriable.
const PASSES: &[i16] = &[code::BROKER_NOT_AVAILABLE, code::REASSIGNMENT_IN_PROGRESS];

/// Answers that Kafka's table calls retriable, and that no waiting changes: a broken disk, and an election that is not needed.
const LASTS: &[i16] = &[code::KAFKA_STORAGE_ERROR, code::ELECTION_NOT_NEEDED];

impl Error {
    /// What a code of an answer means; nothing for zero. `mutates`: whether the request would change something.
    pub(super) fn answered(code: i16, message: Option<&str>, mutates: bool) -> Option<Self> {
        let known = ResponseError::try_from_code(code)?;
        let refusal = Refusal { code, message: message.unwrap_or_default().to_owned() };
        Some(if NO_ANSWER.contains(&code) || matches!(known, ResponseError::Unknown(_)) {
            Unknown { cause: Cause::Answered(refusal), may_have_been_applied: mutates }.into()
        } else if PASSES.contains(&code) || known.is_retriable() && !LASTS.contains(&code) {
            Self::Waiting(refusal)
        } else {
            Self::Refused(refusal)
        })
    }

    /// As [`Self::answered`], for the part of an answer that is a value or an error.
    pub(super) fn check(code: i16, message: Option<&str>, mutates: bool) -> Result<(), Self> {
        Self::answered(code, message, mutates).map_or(Ok(()), Err)
    }

    /// An answer without what must be in it.
    pub(super) fn incomplete(what: &str, mutates: bool) -> Self {
        let cause = Cause::Unparsable(format!("an answer without {what}"));
        Unknown { cause, may_have_been_applied: mutates }.into()
    }

    /// The code with which Kafka has answered, if it has.
    pub fn code(&self) -> Option<i16> {
        match self {
            Self::Refused(refusal)
            | Self::Waiting(refusal)
            | Self::Unknown(Unknown { cause: Cause::Answered(refusal), .. }) => Some(refusal.code),
            Self::Unknown(_) => None,
        }
    }

    /// Whether the request may have changed something, although there is no answer that says so.
    pub fn may_have_been_applied(&self) -> bool {
        matches!(self, Self::Unknown(unknown) if unknown.may_have_been_applied)
    }
}

impl Refusal {
    /// Kafka's name of the code, as `NOT_CONTROLLER`.
    pub fn name(&self) -> String {
        match ResponseError::try_from_code(self.code) {
            Some(ResponseError::Unknown(_)) => "UNKNOWN_CODE".to_owned(),
            Some(known) => upper_snake(&known.to_string()),
            None => "NONE".to_owned(),
        }
    }
}

/// `NotController` as `NOT_CONTROLLER`.
fn upper_snake(camel: &str) -> String {
    let mut name = String::with_capacity(camel.len() + 8);
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.code)?;
        if self.message.is_empty() { Ok(()) } else { write!(f, ": {}", self.message) }
    }
}

impl std::error::Error for Unknown {}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.cause)?;
        if self.may_have_been_applied { write!(f, "; the request may have been applied") } else { Ok(()) }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress => write!(f, "no address to connect to"),
            Self::Connect(why) => write!(f, "cannot connect: {why}"),
            Self::Deadline(time) => write!(f, "no answer within {} ms", time.as_millis()),
            Self::Disconnected(why) => write!(f, "disconnected before the answer: {why}"),
            Self::Frame(size) => write!(f, "a frame of {size} bytes"),
            Self::Unwritable(why) => write!(f, "a request that cannot be written: {why}"),
            Self::Unparsable(why) => write!(f, "unparsable answer: {why}"),
            Self::Answered(refusal) => write!(f, "Kafka does not know: {refusal}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::refused(42, "Kafka refuses: INVALID_REQUEST (42): why")]
    #[case::voter(126, "Kafka refuses: DUPLICATE_VOTER (126): why")]
    #[case::waiting(41, "Kafka asks to wait: NOT_CONTROLLER (41): why")]
    #[case::no_leader(5, "Kafka asks to wait: LEADER_NOT_AVAILABLE (5): why")]
    #[case::passes(60, "Kafka asks to wait: REASSIGNMENT_IN_PROGRESS (60): why")]
    #[case::broken_disk(56, "Kafka refuses: KAFKA_STORAGE_ERROR (56): why")]
    #[case::timed_out(
        7,
        "Kafka does not know: REQUEST_TIMED_OUT (7): why; the request may have been applied"
    )]
    #[case::inside(-1, "Kafka does not know: UNKNOWN_SERVER_ERROR (-1): why; the request may have been applied")]
    #[case::newer(999, "Kafka does not know: UNKNOWN_CODE (999): why; the request may have been applied")]
    fn codes_have_one_meaning(#[case] code: i16, #[case] text: &str) {
        let error = Error::answered(code, Some("why"), true).unwrap();
        assert_eq!(error.to_string(), text);
        assert_eq!(error.code(), Some(code));
        let read = Error::answered(code, None, false).unwrap();
        assert!(!read.may_have_been_applied(), "a question changes nothing");
    }

    #[test]
    fn zero_is_no_error() {
        assert_eq!(Error::answered(0, Some("ignored"), true), None);
        assert_eq!(Error::check(0, None, true), Ok(()));
    }

    #[test]
    fn what_is_unknown_has_no_code() {
        let unknown = Error::from(Unknown { cause: Cause::NoAddress, may_have_been_applied: false });
        assert_eq!(unknown.code(), None);
        assert_eq!(unknown.to_string(), "no address to connect to");
    }
}
