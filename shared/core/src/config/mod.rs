//! Writers of configuration files: ordered, escaped, and the same text for the same content.

pub mod properties;
pub mod variables;
pub mod yaml;
