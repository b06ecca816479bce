//! A start: steps in an order that is safe to stop anywhere, then the exec.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;

use crate::args::RunArgs;
use crate::decide::{Decision, Start, decide};
use crate::marker::{self, Marker};
use crate::refusal::Refusal;
use crate::ticket::{self, UsedNote};
use crate::{files, room, termination, volume};

/// One step of a start. Each is whole or did not happen, and may be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Empty the data directory.
    Clean,
    /// Say whose volume it is.
    Marker(Marker),
    /// Write a configuration file.
    Config {
        /// The file.
        target: PathBuf,
        /// Its content.
        content: Vec<u8>,
    },
    /// Write the gate.
    Gate {
        /// The file.
        path: PathBuf,
        /// Its content: the kind of the ticket.
        content: String,
    },
    /// Write the used-note: from here on the ticket is used in this pod.
    Note(UsedNote),
}

/// Decides and execs the application. Returns only to refuse, or when there is nothing to do with data.
pub fn run(args: &RunArgs) -> Result<(), Refusal> {
    let (start, steps) = prepare(args)?;
    steps.iter().try_for_each(|step| perform(args, step))?;
    if args.exit_with_data && !matches!(start, Start::Ticket(_)) {
        let _ = writeln!(io::stderr(), "ballast-guard: {} has its data: nothing to do", args.member);
        return Ok(());
    }
    let _ = writeln!(io::stderr(), "ballast-guard: starting {}{}", args.member, why(&start));
    if let Some(remark) = room::remark(&args.volume, &args.member) {
        let _ = writeln!(io::stderr(), "ballast-guard: {remark}");
        // It stays there when the application ends, in place of the end of its log.
        let _ = termination::say(&args.termination_log, &remark);
    }
    let error = exec(args, &start);
    if matches!(start, Start::Ticket(_)) {
        // The application never ran: the ticket is not used. If this fails, the next start refuses, which is safe.
        let _ = files::remove(&args.scratch.join(ticket::USED_NOTE));
    }
    Err(Refusal::ExecFailed(format!("{} cannot be executed: {error}", args.command.join(" "))))
}

/// Decides, and lists the steps of the start in order. Removes the gate of an earlier start; changes nothing else.
pub fn prepare(args: &RunArgs) -> Result<(Start, Vec<Step>), Refusal> {
    // Made by us, a scratch directory would lie in the container and forget what happened in the pod.
    match fs::metadata(&args.scratch) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(setup_failed(&args.scratch, "not a directory")),
        Err(error) => return Err(setup_failed(&args.scratch, error)),
    }
    if let Some(gate) = &args.gate {
        files::remove(gate).map_err(|error| setup_failed(gate, error))?;
    }
    match decide(&volume::facts(args)) {
        Decision::Start(start) => steps(args, &start).map(|steps| (start, steps)),
        Decision::Refuse(refusal) => Err(refusal),
    }
}

fn steps(args: &RunArgs, start: &Start) -> Result<Vec<Step>, Refusal> {
    let configs = configs(args, start)?;
    let marker = |adopted_from: Option<&String>| {
        Step::Marker(Marker {
            cluster_uid: args.cluster_uid.clone(),
            member: args.member.clone(),
            claim: args.claim.clone(),
            adopted_from: adopted_from.cloned(),
        })
    };
    Ok(match start {
        Start::DataPresent => configs,
        Start::Adopted { from } => [vec![marker(Some(from))], configs].concat(),
        Start::Ticket(ticket) => {
            let gate = args
                .gate
                .iter()
                .map(|path| Step::Gate { path: path.clone(), content: format!("{}\n", ticket.kind) });
            let note = Step::Note(UsedNote::from(ticket));
            [vec![Step::Clean, marker(None)], configs, gate.collect(), vec![note]].concat()
        }
    })
}

fn configs(args: &RunArgs, start: &Start) -> Result<Vec<Step>, Refusal> {
    let step = |config: &crate::ConfigCopy| {
        let mut content = fs::read(&config.base).map_err(|error| setup_failed(&config.base, error))?;
        if let Start::Ticket(ticket) = start
            && let Some(text) = ticket.append.get(&config.name())
        {
            if content.last().is_some_and(|&byte| byte != b'\n') {
                content.push(b'\n');
            }
            content.extend_from_slice(text.as_bytes());
        }
        Ok(Step::Config { target: config.target.clone(), content })
    };
    args.configs.iter().map(step).collect()
}

/// Performs one step.
pub fn perform(args: &RunArgs, step: &Step) -> Result<(), Refusal> {
    let volume_failed = |what: &str, error: io::Error| {
        Refusal::VolumeUnreadable(format!("the {what} of {} cannot be written: {error}", args.member))
    };
    match step {
        Step::Clean => volume::clean(args).map_err(|error| volume_failed("data directory", error)),
        Step::Marker(marker) => write_json(&args.volume.join(marker::FILE), marker)
            .map_err(|error| volume_failed("marker", error)),
        Step::Config { target, content } => {
            files::write(target, content).map_err(|error| setup_failed(target, error))
        }
        Step::Gate { path, content } => {
            files::write(path, content.as_bytes()).map_err(|error| setup_failed(path, error))
        }
        Step::Note(note) => {
            let path = args.scratch.join(ticket::USED_NOTE);
            write_json(&path, note).map_err(|error| setup_failed(&path, error))
        }
    }
}

/// Copies this program to `dest`, for the init container.
pub fn install(dest: &Path) -> Result<(), Refusal> {
    let copy = || {
        let mut own = fs::File::open(std::env::current_exe()?)?;
        files::replace(dest, |file| {
            io::copy(&mut own, file)?;
            file.set_permissions(Permissions::from_mode(0o755))
        })
    };
    copy().map_err(|error| setup_failed(dest, error))
}

fn exec(args: &RunArgs, start: &Start) -> io::Error {
    let Some((program, rest)) = args.command.split_first() else { return io::ErrorKind::InvalidInput.into() };
    let mut command = Command::new(program);
    command.args(rest);
    if let Start::Ticket(ticket) = start {
        let arguments = args.ticket_arguments.iter().filter(|(kind, _)| *kind == ticket.kind);
        command.args(arguments.map(|(_, argument)| argument));
    }
    for (name, _) in std::env::vars_os() {
        let bytes = name.as_encoded_bytes();
        if args.drop_env_prefixes.iter().any(|prefix| bytes.starts_with(prefix.as_bytes())) {
            command.env_remove(&name);
        }
    }
    command.exec()
}

fn why(start: &Start) -> String {
    match start {
        Start::DataPresent => ": data present".into(),
        Start::Adopted { from } => format!(": data present, adopted from cluster {from}"),
        Start::Ticket(ticket) => format!(" with a {} ticket", ticket.kind),
    }
}

fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    files::write(path, &serde_json::to_vec(value)?)
}

fn setup_failed(path: &Path, why: impl std::fmt::Display) -> Refusal {
    Refusal::SetupFailed(format!("{}: {why}", path.display()))
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;
