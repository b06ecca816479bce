//! The `lab` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ballast_lab::cli::main()
}
