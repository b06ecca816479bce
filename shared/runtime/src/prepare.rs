//! `prepare`: the first init container of every application pod.
//!
//! It puts the guard where the application's container finds it, writes the configuration files with what only the
//! pod knows, and waits until the pod's own name resolves. It may run again at any time and does the same again.

use std::{fs, io, path::PathBuf, process::ExitCode, time::Duration};

use ballast_core::{config::variables, duration};
use ballast_guard::Pattern;
use clap::Args;

mod files;
mod resolve;

use files::{install, write};

/// The pod's name does not resolve and there is no data: not the guard's `DataLost`.
const NAME_UNRESOLVED: u8 = 74;
/// Something is wrong that a repetition does not mend.
const FAILED: u8 = 1;

/// The arguments; pod templates hold them, so they only ever grow.
#[derive(Args, Clone, Debug)]
pub struct PrepareArgs {
    /// Where the guard is copied to.
    #[arg(long)]
    guard_to: Option<PathBuf>,
    /// The pod's own name in DNS.
    #[arg(long)]
    host: String,
    /// Name of the member.
    #[arg(long)]
    member: String,
    /// Root of the mounted volume.
    #[arg(long)]
    volume: Option<PathBuf>,
    /// Directory below the volume that the application uses.
    #[arg(long)]
    data_dir: PathBuf,
    /// File below the data directory that proves that there is data (repeatable: all of them have to be there).
    #[arg(long, value_parser = Pattern::parse)]
    evidence: Vec<Pattern>,
    /// FROM=TO: a configuration file whose variables are replaced (repeatable).
    #[arg(long, value_parser = config)]
    config: Vec<Config>,
    /// Directory that may hold the ticket.
    #[arg(long)]
    ticket_dir: Option<PathBuf>,
    /// How long to wait until the host resolves.
    #[arg(long, value_parser = duration::parse, default_value = "60s")]
    resolve_timeout: Duration,
    /// The zone that the member was given.
    #[arg(long)]
    zone: Option<String>,
    /// A file with the zone of the node, which counts more than the given one; may be absent or empty.
    #[arg(long)]
    zone_file: Option<PathBuf>,
    /// Where to write why it failed.
    #[arg(long, default_value = ballast_guard::args::TERMINATION_LOG)]
    termination_log: PathBuf,
}

/// One configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Config {
    from: PathBuf,
    to: PathBuf,
}

/// Why a pod is not prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The pod's own name does not resolve.
    #[error("NameUnresolved: {host} did not resolve within {} s, and the volume holds no data", .timeout.as_secs())]
    NameUnresolved {
        /// The name.
        host: String,
        /// How long it was waited for.
        timeout: Duration,
    },
    /// A file cannot be read or written.
    #[error("PrepareFailed: {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A configuration file names a variable that there is not.
    #[error("PrepareFailed: {path}: there is no variable {variable}")]
    Variable {
        /// The file.
        path: PathBuf,
        /// The variable, as it was written.
        variable: String,
    },
}

impl PrepareError {
    fn file(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    fn exit_code(&self) -> u8 {
        match self {
            Self::NameUnresolved { .. } => NAME_UNRESOLVED,
            Self::File { .. } | Self::Variable { .. } => FAILED,
        }
    }
}

/// Runs the subcommand.
pub fn main(args: &PrepareArgs) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("PrepareFailed: {error}");
            return ExitCode::from(FAILED);
        }
    };
    let result = runtime.block_on(prepare(args, &resolve::System));
    // A look-up in a thread of its own may hang for longer than we want to wait.
    runtime.shutdown_background();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            if let Err(failed) = fs::write(&args.termination_log, error.to_string()) {
                eprintln!("{}: {failed}", args.termination_log.display());
            }
            ExitCode::from(error.exit_code())
        }
    }
}

async fn prepare(args: &PrepareArgs, resolver: &impl resolve::Resolve) -> Result<(), PrepareError> {
    if let Some(guard) = &args.guard_to {
        let own = std::env::current_exe().map_err(PrepareError::file(guard))?;
        let beside = own.with_file_name("ballast-guard");
        install(&beside, guard)?;
        eprintln!("prepare: {} is in place", guard.display());
    }
    let zone = zone(args)?;
    for config in &args.config {
        let text = fs::read_to_string(&config.from).map_err(PrepareError::file(&config.from))?;
        let text = variables::render(&text, &args.host, &args.member, &zone)
            .map_err(|variable| PrepareError::Variable { path: config.from.clone(), variable })?;
        write(&config.to, text.as_bytes(), 0o644)?;
        eprintln!("prepare: {} is written", config.to.display());
    }
    if resolve::wait(resolver, &args.host, args.resolve_timeout).await {
        eprintln!("prepare: {} resolves", args.host);
        return Ok(());
    }
    if has_data(args) {
        eprintln!("prepare: {} does not resolve; the volume holds data, so the start goes on", args.host);
        return Ok(());
    }
    Err(PrepareError::NameUnresolved { host: args.host.clone(), timeout: args.resolve_timeout })
}

/// As the guard judges it: all evidence is there. What cannot be read is no data here, the guard will say more.
fn has_data(args: &PrepareArgs) -> bool {
    !args.evidence.is_empty()
        && args.evidence.iter().all(|pattern| pattern.found(&args.data_dir).unwrap_or(false))
}

fn zone(args: &PrepareArgs) -> Result<String, PrepareError> {
    let given = args.zone.clone().unwrap_or_default();
    let Some(path) = &args.zone_file else { return Ok(given) };
    match fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        Ok(_) => Ok(given),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(given),
        Err(error) => Err(PrepareError::file(path)(error)),
    }
}

fn config(text: &str) -> Result<Config, String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => {
            Ok(Config { from: from.into(), to: to.into() })
        }
        _ => Err("write it as FROM=TO".to_owned()),
    }
}

#[cfg(test)]
mod tests;
