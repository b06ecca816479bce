//! Levels of `metadata.version` (`StorageTool version-mapping`), and raising them.

use super::{Code, Kafka, Refusal};

/// From this level on a broker's log directories can be cordoned (4.3-IV0, KIP-1066).
pub const CORDONS: i16 = 30;
/// The lowest level that Kafka 4 reads (3.3-IV3).
pub const LOWEST: i16 = 7;

/// Minor version of Kafka, and its newest level.
const LEVELS: [(&str, i16); 5] = [("4.0.", 25), ("4.1.", 27), ("4.2.", 29), ("4.3.", 30), ("4.4.", 33)];

/// The newest level that a version reads.
pub fn newest(version: &str) -> Result<i16, String> {
    let found = LEVELS.iter().find(|(minor, _)| version.starts_with(minor));
    found.map(|(_, level)| *level).ok_or_else(|| format!("Kafka {version} is not simulated"))
}

impl Kafka {
    /// Raises or lowers the level. Every node that runs must be able to read it; Kafka 4 has no way down yet.
    pub fn update_level(&mut self, level: i16, validate_only: bool) -> Result<(), Refusal> {
        if let Some(process) = self.running.values().find(|process| process.newest_level < level) {
            let message = format!("node {} only supports up to {}", process.node, process.newest_level);
            return Code::InvalidUpdateVersion.because(message);
        }
        if level < self.level {
            return Code::InvalidUpdateVersion.because(format!("level {level} is below {}", self.level));
        }
        if !validate_only {
            self.level = level;
            self.logged();
        }
        Ok(())
    }
}
