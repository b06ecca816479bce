//! Long-running processes, identified by process id and start time: an id alone may be reused by a stranger.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{cgroup, layout};

/// One process of this machine, told apart from a later one with the same id by its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Process id.
    pub pid: i32,
    /// Start time in clock ticks since boot, as in `/proc/<pid>/stat`.
    pub started: u64,
}

impl Identity {
    /// The identity of a running process; `None` when it has ended (a zombie has ended).
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (state, started) = state_and_start(&stat)?;
        (state != 'Z' && state != 'X').then_some(Self { pid, started })
    }

    /// Whether this very process still runs.
    pub(crate) fn alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Whether nothing of it is left that could hold a file or a port: a process may have ended while threads of it have not.
    pub(crate) fn gone(self) -> bool {
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid)).map_or(0, Iterator::count);
        !self.alive() && threads <= 1
    }

    /// Ends the process at once. Nothing happens when it has ended already.
    pub(crate) fn kill(self) {
        if self.alive() {
            // It may end in between; then there is nothing left to do.
            let _ = kill(Pid::from_raw(self.pid), Signal::SIGKILL);
        }
    }

    /// Sends a signal to this very process.
    pub(crate) fn signal(self, signal: Signal) -> Result<()> {
        if !self.alive() {
            bail!("process {} has ended", self.pid);
        }
        Ok(kill(Pid::from_raw(self.pid), signal)?)
    }

    fn parse(text: &str) -> Option<Self> {
        let (pid, started) = text.trim().split_once(' ')?;
        Some(Self { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }
}

/// State letter and start time of a line of `/proc/<pid>/stat`. The command name in parentheses may hold anything.
fn state_and_start(stat: &str) -> Option<(char, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?.chars().next()?;
    // Field 22 of the line; `state` is field 3.
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// A process that outlives the command that starts it.
pub(crate) struct Daemon {
    /// Name of its pid file and log file.
    pub name: String,
    /// Network namespace it runs in.
    pub namespace: String,
    /// Control group below the lab's own, from which it and its children can be found again.
    pub cgroup: String,
    /// Program file.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Folders of programs it starts itself, before those of the system.
    pub path: Vec<PathBuf>,
}

impl Daemon {
    /// Starts the process in a session of its own and writes its pid file.
    pub(crate) fn start(&self) -> Result<Identity> {
        let log = layout::log(&self.name);
        let out = fs::File::options()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new("setsid");
        command
            .arg("nsenter")
            .arg(format!("--net=/run/netns/{}", self.namespace))
            .arg(&self.program)
            .args(&self.arguments)
            // A proxy or a Kubernetes setting of the caller's shell has no place in the lab.
            .env_clear()
            .env("PATH", search_path(&self.path)?)
            .env("HOME", layout::STATE)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out);
        let child = command.spawn().with_context(|| format!("cannot start {}", self.name))?;
        let pid = i32::try_from(child.id()).context("process id out of range")?;
        cgroup::join(&self.cgroup, pid)?;
        // setsid and nsenter replace themselves, so this is the process to be.
        let identity = Identity::of(pid)
            .with_context(|| format!("{} ended at once, see {}", self.name, log.display()))?;
        fs::write(pid_file(&self.name), format!("{} {}\n", identity.pid, identity.started))?;
        Ok(identity)
    }
}

/// `PATH` with the given folders before the system's.
pub(crate) fn search_path(first: &[PathBuf]) -> Result<OsString> {
    let system = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
    Ok(std::env::join_paths(first.iter().cloned().chain(system.map(PathBuf::from)))?)
}

fn pid_file(name: &str) -> PathBuf {
    layout::state(format!("pids/{name}"))
}

/// The names of all processes the lab has started, with whether each still runs.
pub(crate) fn known() -> Vec<(String, Option<Identity>)> {
    let Ok(entries) = fs::read_dir(layout::state("pids")) else { return Vec::new() };
    let mut all: Vec<_> = entries
        .flatten()
        .map(|entry| {
            let identity = read_identity(&entry.path()).filter(|i| i.alive());
            (entry.file_name().to_string_lossy().into_owned(), identity)
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// The running process of this name.
pub(crate) fn running(name: &str) -> Option<Identity> {
    read_identity(&pid_file(name)).filter(|i| i.alive())
}

/// Forgets a process, so that its absence is not taken for a crash.
pub(crate) fn forget(name: &str) -> Result<()> {
    let file = pid_file(name);
    if file.exists() {
        fs::remove_file(file)?;
    }
    Ok(())
}

fn read_identity(file: &Path) -> Option<Identity> {
    Identity::parse(&fs::read_to_string(file).ok()?)
}

/// Takes the exit status of a child of this process, if it is one. Otherwise a long-running caller collects zombies.
pub(crate) fn reap(pid: i32) {
    use nix::sys::wait::{WaitPidFlag, waitpid};
    // ECHILD: not a child of this process, so someone else reaps it.
    let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_is_found_behind_a_hostile_command_name() {
        let stat = "42 (a) Z (b c) S 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1000 1 2 3";
        assert_eq!(state_and_start(stat), Some(('S', 98765)));
    }

    #[test]
    fn this_process_is_alive_and_its_successor_is_not() -> Result<()> {
        let me = Identity::of(i32::try_from(std::process::id())?).context("this process runs")?;
        assert!(me.alive());
        assert!(!Identity { started: me.started + 1, ..me }.alive());
        Ok(())
    }

    #[test]
    fn a_pid_file_is_read_back() {
        assert_eq!(Identity::parse("12 345\n"), Some(Identity { pid: 12, started: 345 }));
        assert_eq!(Identity::parse("12"), None);
    }
}
