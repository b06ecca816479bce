//! Errors in a resource: the field, and what to do about it.

use std::fmt;

use crate::message::{printable, shortened};

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
        Self { field: printable(&field.into(), LONGEST), message: printable(&message.into(), LONGEST) }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// Longest part of a text that is repeated to people, in characters.
const LONGEST: usize = 512;

/// Longest message about all fields, in characters.
const LONGEST_SUMMARY: usize = 3000;

/// Most errors that a summary names.
const MOST: usize = 20;

/// All of them in one sentence, for a condition's message; of very many only the first.
pub fn summary(invalid: &[Invalid]) -> String {
    let mut shown: Vec<String> = invalid.iter().take(MOST).map(ToString::to_string).collect();
    if let Some(more) = invalid.len().checked_sub(MOST).filter(|more| *more > 0) {
        shown.push(format!("and {more} more"));
    }
    shortened(&shown.join("; "), LONGEST_SUMMARY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_repeated_has_no_control_characters_and_an_end() {
        let error =
            Invalid::new("spec.x[a\u{1b}[31m]", format!("\"a\nb\u{2028}\u{202e}\" {}", "x".repeat(10_000)));
        assert_eq!(error.field, "spec.x[a\\u{1b}[31m]");
        assert!(error.message.starts_with("\"a\\u{a}b\\u{2028}\\u{202e}\" xx"), "{error}");
        assert!(error.message.ends_with("x…") && error.message.len() < 700, "{}", error.message.len());
    }

    #[test]
    fn of_very_many_the_first_are_named() {
        let all: Vec<Invalid> = (0..1000).map(|number| Invalid::new(format!("f{number}"), "wrong")).collect();
        assert_eq!(summary(&all[..2]), "f0: wrong; f1: wrong");
        assert!(summary(&all).ends_with("f19: wrong; and 980 more"), "{}", summary(&all));
    }
}
