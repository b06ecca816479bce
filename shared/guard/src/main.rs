//! The guard's program: see the crate's documentation.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use ballast_guard::args::{self, Invocation};
use ballast_guard::{Refusal, start, termination};

fn main() -> ExitCode {
    let args: Result<Vec<String>, _> =
        std::env::args_os().skip(1).map(std::ffi::OsString::into_string).collect();
    let Ok(args) = args else {
        return refuse(&Refusal::Usage("an argument is not UTF-8".into()), Path::new(args::TERMINATION_LOG));
    };
    let log = args::termination_log(&args);
    let outcome = match Invocation::parse(&args) {
        Ok(Invocation::Run(run)) => start::run(&run),
        Ok(Invocation::Install(dest)) => start::install(&dest),
        Ok(Invocation::Help) => {
            let _ = io::stdout().write_all(args::USAGE.as_bytes());
            Ok(())
        }
        Err(refusal) => Err(refusal),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => refuse(&refusal, &log),
    }
}

fn refuse(refusal: &Refusal, log: &Path) -> ExitCode {
    let message = refusal.message();
    let _ = writeln!(io::stderr(), "{message}");
    if let Err(error) = termination::say(log, &message) {
        let _ = writeln!(io::stderr(), "ballast-guard: {}: {error}", log.display());
    }
    ExitCode::from(refusal.exit_code())
}
