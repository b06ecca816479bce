//! metav1 conditions: set in place, times only on a change of status.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::{
    invalid::{self, Invalid},
    message::shortened,
};

/// Longest message, in characters; the API of Kubernetes allows 32768 bytes.
const LONGEST_MESSAGE: usize = 4096;

/// Status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It is not known: never taken for true.
    Unknown,
}

impl Status {
    /// As Kubernetes writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Status {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

impl From<Option<bool>> for Status {
    fn from(holds: Option<bool>) -> Self {
        holds.map_or(Self::Unknown, Self::from)
    }
}

/// `now` as Kubernetes writes times: RFC 3339, whole seconds.
pub fn rfc3339(now: Timestamp) -> String {
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}

/// Sets what follows from a specification that is wrong.
pub fn set_invalid(
    conditions: &mut Vec<Condition>,
    errors: &[Invalid],
    generation: Option<i64>,
    now: Timestamp,
) {
    let message = format!("{}; nothing is changed until this is mended", invalid::summary(errors));
    let mut set = |type_: &str, reason: &str, message: &str| {
        set(conditions, type_, Status::False, reason, message, generation, now);
    };
    set("SpecValid", "Invalid", &message);
    set("Ready", "SpecInvalid", &message);
    set("Progressing", "SpecInvalid", "waiting for a valid specification");
}

/// Sets one condition; `lastTransitionTime` moves only when the status changes.
pub fn set(
    conditions: &mut Vec<Condition>,
    type_: &str,
    status: Status,
    reason: &str,
    message: impl Into<String>,
    generation: Option<i64>,
    now: Timestamp,
) {
    let now = Time(Timestamp::from_second(now.as_second()).unwrap_or(now));
    let fresh = Condition {
        type_: type_.to_owned(),
        status: status.as_str().to_owned(),
        reason: reason.to_owned(),
        message: shortened(&message.into(), LONGEST_MESSAGE),
        observed_generation: generation,
        last_transition_time: now,
    };
    match conditions.iter_mut().find(|condition| condition.type_ == type_) {
        Some(have) => {
            let last_transition_time = if have.status == fresh.status {
                have.last_transition_time.clone()
            } else {
                fresh.last_transition_time.clone()
            };
            *have = Condition { last_transition_time, ..fresh };
        }
        None => conditions.push(fresh),
    }
}

/// Whether a condition of this type is present and True.
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    conditions.iter().any(|condition| condition.type_ == type_ && condition.status == "True")
}
