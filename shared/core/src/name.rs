//! Strong name types and their length rules.

use std::fmt;

use serde::Serialize;

/// Longest RFC 1123 label, in characters.
pub const LABEL_MAX: usize = 63;

/// Why a text is not a name, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing was given.
    #[error("a name may not be empty: give it at least one letter or digit")]
    Empty,
    /// Too long for where it is used.
    #[error("\"{text}\" has {length} characters, at most {max} are allowed: shorten it by {}", length - max)]
    TooLong {
        /// The text.
        text: String,
        /// Its length in characters.
        length: usize,
        /// The limit in characters.
        max: usize,
    },
    /// A character that a name may not have.
    #[error("\"{text}\" contains {character:?}: use only lower-case letters a-z, digits and \"-\"")]
    Character {
        /// The text.
        text: String,
        /// The first offending character.
        character: char,
    },
    /// It begins or ends with a dash.
    #[error("\"{text}\" begins or ends with \"-\": let it begin and end with a letter or digit")]
    Edge {
        /// The text.
        text: String,
    },
}

/// An RFC 1123 label: 1 to 63 of `a-z`, `0-9` and `-`, beginning and ending with a letter or digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct DnsLabel(String);

impl DnsLabel {
    /// Checks the text.
    pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        fits(&text, LABEL_MAX)?;
        if let Some(character) = text.chars().find(|&c| !allowed(c)) {
            return Err(NameError::Character { text, character });
        }
        if text.starts_with('-') || text.ends_with('-') {
            return Err(NameError::Edge { text });
        }
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DnsLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for DnsLabel {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Whether the text has at most `max` characters.
pub fn fits(text: &str, max: usize) -> Result<(), NameError> {
    let length = text.chars().count();
    if length > max {
        return Err(NameError::TooLong { text: text.to_owned(), length, max });
    }
    Ok(())
}

/// Whether the text is an RFC 1123 subdomain: labels joined by dots, at most 253 characters. Names of most objects are.
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(|label| DnsLabel::new(label).is_ok())
}

/// Whether this is the name of an image without its tag: a host with a port, if any, and a path.
pub fn is_image_repository(text: &str) -> bool {
    let (host, path) = text.split_once('/').map_or((None, text), |(first, rest)| {
        if first.contains(['.', ':']) || first == "localhost" { (Some(first), rest) } else { (None, text) }
    });
    let fits = |text: &str, allowed: fn(u8) -> bool, inside: &[u8]| {
        let ends = [text.bytes().next(), text.bytes().next_back()];
        ends.iter().all(|byte| byte.is_some_and(allowed))
            && text.bytes().all(|byte| allowed(byte) || inside.contains(&byte))
    };
    let small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let host_fits = host.is_none_or(|host| {
        let (domain, port) = host.split_once(':').map_or((host, None), |(domain, port)| (domain, Some(port)));
        fits(domain, |byte| byte.is_ascii_alphanumeric(), b"-.")
            && port.is_none_or(|port| port.parse::<u16>().is_ok())
    });
    host_fits && path.split('/').all(|piece| fits(piece, small, b"-_."))
}

fn allowed(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a", None)]
    #[case("my-etcd-0", None)]
    #[case("0", None)]
    #[case("", Some("at least one letter"))]
    #[case("My", Some("contains 'M'"))]
    #[case("a.b", Some("contains '.'"))]
    #[case("ä", Some("contains 'ä'"))]
    #[case("-a", Some("begins or ends"))]
    #[case("a-", Some("begins or ends"))]
    fn labels(#[case] text: &str, #[case] error: Option<&str>) {
        match (DnsLabel::new(text), error) {
            (Ok(label), None) => assert_eq!(label.to_string(), text),
            (Err(found), Some(error)) => assert!(found.to_string().contains(error), "{found}"),
            (result, _) => panic!("{text}: {result:?}"),
        }
    }

    #[rstest]
    #[case("fast", true)]
    #[case("fast.example.com", true)]
    #[case("", false)]
    #[case("a..b", false)]
    #[case("a/b", false)]
    #[case("fast\n", false)]
    fn subdomains(#[case] text: &str, #[case] good: bool) {
        assert_eq!(is_subdomain(text), good);
    }

    #[rstest]
    #[case("etcd", true)]
    #[case("gcr.io/etcd-development/etcd", true)]
    #[case("localhost:5000/etcd", true)]
    #[case("registry:5000/a__b/etcd", true)]
    #[case("etcd:v1", false)]
    #[case("example.com/etcd@sha256:00", false)]
    #[case("example.com:port/etcd", false)]
    #[case("example.com//etcd", false)]
    #[case("example.com/../etcd", false)]
    #[case("Etcd", false)]
    #[case("etcd ", false)]
    #[case("", false)]
    fn image_repositories(#[case] text: &str, #[case] good: bool) {
        assert_eq!(is_image_repository(text), good);
    }

    #[test]
    fn too_long_says_by_how_much() {
        assert!(DnsLabel::new("a".repeat(63)).is_ok());
        let error = DnsLabel::new("a".repeat(65)).unwrap_err();
        assert!(error.to_string().ends_with("has 65 characters, at most 63 are allowed: shorten it by 2"));
        assert!(fits("four", 4).is_ok() && fits("fours", 4).is_err());
    }
}
