//! The termination message: what the kubelet tells of a container that ended.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use crate::args::TERMINATION_LOG;

/// Writes one line as the message.
pub fn say(log: &Path, line: &str) -> io::Result<()> {
    // The kubelet mounts the file, so it cannot be replaced; outside of a pod the default is not there and is not made.
    let made = log != Path::new(TERMINATION_LOG);
    let mut file = OpenOptions::new().write(true).truncate(true).create(made).open(log)?;
    writeln!(file, "{line}")
}
