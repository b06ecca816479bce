//! Errors in a resource: the field, and what to do about it.

use std::fmt;

/// One thing that is wrong with a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Path of the field, for instance `spec.etcd.extraConfig[initial-cluster]`.
    pub field: String,
    /// What is wrong and how to mend it.
    pub message: String,
}

impl Invalid {
    /// Something wrong in `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// All of them in one sentence, for a condition's message.
pub fn summary(invalid: &[Invalid]) -> String {
    invalid.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
