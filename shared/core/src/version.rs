//! Versions of the applications: always three numbers.

use std::fmt;

use semver::{BuildMetadata, Version};
use serde::Serialize;

/// Why a text is not a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a full version ({cause}): write three numbers, for instance 3.5.21")]
pub struct VersionError {
    text: String,
    cause: String,
}

/// Reads `X.Y.Z`, with an optional leading `v` and an optional pre-release (`3.6.0-rc.1`).
pub fn parse(text: &str) -> Result<Version, VersionError> {
    let error = |cause: String| VersionError { text: text.to_owned(), cause };
    let version = Version::parse(text.strip_prefix('v').unwrap_or(text)).map_err(|e| error(e.to_string()))?;
    if version.build != BuildMetadata::EMPTY {
        return Err(error("build metadata after \"+\" is not part of it".to_owned()));
    }
    Ok(version)
}

/// The part of a version that decides about compatibility: `3.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Minor {
    /// First number.
    pub major: u64,
    /// Second number.
    pub minor: u64,
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl From<&Version> for Minor {
    fn from(version: &Version) -> Self {
        Self { major: version.major, minor: version.minor }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("3.5.21", "3.5")]
    #[case("v3.6.0", "3.6")]
    #[case("3.6.0-rc.1", "3.6")]
    #[case("10.0.1", "10.0")]
    fn versions(#[case] text: &str, #[case] minor: &str) {
        let version = parse(text).unwrap();
        assert_eq!(version.to_string(), text.trim_start_matches('v'));
        assert_eq!(Minor::from(&version).to_string(), minor);
    }

    #[rstest]
    fn mistakes(
        #[values("", "3", "3.5", "latest", "3.5.x", "vv3.5.1", "3.5.21+1", " 3.5.21", "03.5.1")] text: &str,
    ) {
        assert!(parse(text).unwrap_err().to_string().ends_with("write three numbers, for instance 3.5.21"));
    }

    #[test]
    fn minors_are_ordered_as_numbers() {
        let minor = |text| Minor::from(&parse(text).unwrap());
        assert!(minor("3.9.0") < minor("3.10.0") && minor("3.10.0") < minor("4.0.0-rc.1"));
    }
}
