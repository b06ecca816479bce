//! Which requests there are, what answers each, and from which version on it means what we need.

use kafka_protocol::{
    messages::ApiKey,
    protocol::{Decodable, Encodable, HeaderVersion, Message, VersionRange},
};

use super::error::code;

/// A request that the client can send. kafka-protocol has such a trait too, but only where it is built for brokers as well.
pub(super) trait Call: Encodable + HeaderVersion + Message + Clone + Sync {
    /// What is answered.
    type Answer: Decodable + HeaderVersion + Message;
    /// Kafka's number of the request.
    const KEY: ApiKey;
    /// The first version that says what we rely on. All of Kafka 4.x has it, or [`Self::fit`] makes up for it.
    const OLDEST: i16;
    /// Whether it may change something.
    const MUTATES: bool;

    /// The request as a server of this version understands it.
    fn fit(self, _version: i16) -> Self {
        self
    }

    /// The codes in an answer that concern all of it: from them it is seen that another node must be asked.
    fn codes(answer: &Self::Answer) -> Vec<i16>;

    /// The versions that we can speak.
    fn versions() -> VersionRange {
        let ours = Self::VERSIONS.intersect(&Self::Answer::VERSIONS);
        VersionRange { min: ours.min.max(Self::OLDEST), max: ours.max }
    }

    /// Whether the node that answered has done nothing because the active controller must be asked.
    fn is_elsewhere(answer: &Self::Answer) -> bool {
        let codes = Self::codes(answer);
        !codes.is_empty()
            && codes.iter().all(|code| [code::NOT_CONTROLLER, code::NOT_LEADER_OR_FOLLOWER].contains(code))
    }
}

/// `call!(Request => Answer, Key, reads | changes, oldest version, codes)`.
macro_rules! call {
    (@mutates reads) => { false };
    (@mutates changes) => { true };
    ($request:ty => $answer:ty, $key:ident, $kind:ident, $oldest:literal, $codes:expr $(, $fit:item)?) => {
        impl $crate::client::call::Call for $request {
            type Answer = $answer;
            const KEY: kafka_protocol::messages::ApiKey = kafka_protocol::messages::ApiKey::$key;
            const OLDEST: i16 = $oldest;
            const MUTATES: bool = $crate::client::call::call!(@mutates $kind);

            fn codes(answer: &Self::Answer) -> Vec<i16> {
                let codes: fn(&Self::Answer) -> Vec<i16> = $codes;
                codes(answer)
            }

            $($fit)?
        }
    };
}

pub(super) use call;
