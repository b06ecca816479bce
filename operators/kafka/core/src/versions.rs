//! What is known of Kafka's versions.

use ballast_core::version::Minor;
use semver::Version;

/// A minor version that the operator knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The minor version.
    pub minor: Minor,
    /// The feature level of `metadata.version` that it finalizes: `StorageTool version-mapping --release-version X`.
    pub metadata_level: i16,
}

/// What the operator supports, oldest first.
pub const SUPPORTED: &[Row] = &[
    Row { minor: Minor { major: 4, minor: 0 }, metadata_level: 25 },
    Row { minor: Minor { major: 4, minor: 1 }, metadata_level: 27 },
    Row { minor: Minor { major: 4, minor: 2 }, metadata_level: 29 },
    Row { minor: Minor { major: 4, minor: 3 }, metadata_level: 30 },
    Row { minor: Minor { major: 4, minor: 4 }, metadata_level: 33 },
];

/// The row of a version, or why it is not supported.
pub fn supported(version: &Version) -> Result<Row, String> {
    let minor = Minor::from(version);
    SUPPORTED.iter().find(|row| row.minor == minor).copied().ok_or_else(|| {
        let known: Vec<String> = SUPPORTED.iter().map(|row| row.minor.to_string()).collect();
        format!("Kafka {version} is not supported by this operator: give one of {}", known.join(", "))
    })
}

/// The row of a minor version as text, `4.1`.
pub fn minor(text: &str) -> Option<Row> {
    SUPPORTED.iter().find(|row| row.minor.to_string() == text).copied()
}

/// The minor version whose metadata format has this level, or is the nearest below, for people.
pub fn name(level: i16) -> String {
    let known = SUPPORTED.iter().rev().find(|row| row.metadata_level <= level);
    known.map_or_else(|| format!("level {level}"), |row| format!("{} (level {level})", row.minor))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn levels_only_grow() {
        assert!(SUPPORTED.windows(2).all(|pair| {
            pair[0].minor < pair[1].minor && pair[0].metadata_level < pair[1].metadata_level
        }));
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        assert_eq!(supported(&Version::new(4, 4, 0)).unwrap().metadata_level, 33);
        let message = supported(&Version::new(3, 9, 1)).unwrap_err();
        assert!(message.contains("3.9.1") && message.contains("4.0"), "{message}");
    }
}
