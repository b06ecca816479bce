//! Why a write to Kubernetes did not happen, in words for people.

use std::{error::Error, time::Duration};

use crate::gate::GateClosed;

/// Why a write did not happen (or, for a time-out, may not have happened).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// This process may not write any more.
    #[error(transparent)]
    GateClosed(#[from] GateClosed),
    /// The object is not the one that was meant, or has changed since it was read.
    #[error("{0}")]
    Conflict(String),
    /// The object, or its namespace, does not exist.
    #[error("{0}")]
    NotFound(String),
    /// An object of this name exists.
    #[error("{0}")]
    AlreadyExists(String),
    /// The operator's role does not allow it, or a quota or an admission policy refuses it.
    #[error("{0}")]
    Forbidden(String),
    /// No answer in time: whether it happened is unknown.
    #[error("the API server did not answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl WriteError {
    /// `PascalCase` constant: an event reason and a metric label.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::GateClosed(_) => "GateClosed",
            Self::Conflict(_) => "Conflict",
            Self::NotFound(_) => "NotFound",
            Self::AlreadyExists(_) => "AlreadyExists",
            Self::Forbidden(_) => "Forbidden",
            Self::Timeout(_) => "Timeout",
            Self::Other(_) => "WriteFailed",
        }
    }
}

impl From<kube::Error> for WriteError {
    fn from(error: kube::Error) -> Self {
        let message = message(&error);
        match &error {
            kube::Error::Api(status) if status.is_already_exists() => Self::AlreadyExists(message),
            kube::Error::Api(status) if status.is_not_found() => Self::NotFound(message),
            kube::Error::Api(status) if status.is_conflict() => Self::Conflict(message),
            kube::Error::Api(status) if status.is_forbidden() => Self::Forbidden(message),
            _ => Self::Other(message),
        }
    }
}

/// What went wrong in one sentence: what the API server said, or the innermost cause.
pub fn message(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error {
        return if status.message.is_empty() {
            format!("the API server answered {} {}", status.code, status.reason).trim_end().to_owned()
        } else {
            status.message.clone()
        };
    }
    let mut text = "the API server cannot be reached".to_owned();
    if !matches!(error, kube::Error::Service(_) | kube::Error::HyperError(_)) {
        text = error.to_string();
    }
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.ends_with(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn the_message_is_what_the_server_said() {
        let status = Status::failure("services \"x\" already exists", "AlreadyExists").with_code(409);
        let error = WriteError::from(kube::Error::Api(Box::new(status)));
        assert_eq!(error, WriteError::AlreadyExists("services \"x\" already exists".into()));
        assert_eq!(error.to_string(), "services \"x\" already exists");
    }

    #[test]
    fn a_status_without_message_is_still_readable() {
        let status = Status::failure("", "Conflict").with_code(409);
        assert_eq!(
            WriteError::from(kube::Error::Api(Box::new(status))).to_string(),
            "the API server answered 409 Conflict"
        );
    }

    #[test]
    fn causes_are_named_once() {
        let error = kube::Error::Service(Box::new(std::io::Error::other("connection refused")));
        assert_eq!(message(&error), "the API server cannot be reached: connection refused");
    }
}
