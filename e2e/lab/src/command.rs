//! Runs programs of the machine and turns their failures into readable errors.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs a program to its end and gives its standard output.
pub(crate) fn run<S: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = S>) -> Result<String> {
    let mut command = Command::new(program);
    command.args(arguments);
    output(&mut command)
}

/// Runs a prepared command to its end and gives its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{shown}`: is it installed? See scripts/prerequisites.sh"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("`{shown}` failed ({}): {}", output.status, last_lines(complaint.trim(), 12));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|part| part.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The last `count` lines of a text.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_its_complaint() {
        let error = run("sh", ["-c", "echo broken >&2; exit 3"]).expect_err("it exits with 3").to_string();
        assert!(error.contains("sh -c") && error.contains("broken") && error.contains('3'), "{error}");
    }

    #[test]
    fn last_lines_takes_the_end() {
        assert_eq!(last_lines("a\nb\nc", 2), "b\nc");
        assert_eq!(last_lines("a", 2), "a");
    }
}
