//! Child processes that end with this one, however it ends.
//!
//! The kernel kills them when the *thread* that started them ends, so one thread that never ends starts them all. It is
//! asked for with `setpriv`, since code between fork and exec is unsafe.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::thread;

use anyhow::{Context, Result, anyhow};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What the starting thread is asked to do, and where its answer goes.
type Job = (Command, mpsc::Sender<std::io::Result<Child>>);

/// Starts a program with arguments of this process' own choosing; the environment is that of `command`.
fn spawn(command: Command) -> Result<Child> {
    static STARTER: OnceLock<Mutex<mpsc::Sender<Job>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (jobs, received) = mpsc::channel::<Job>();
        // The sender is never dropped, so this thread lives as long as the process.
        thread::spawn(move || {
            for (mut command, answer) in received {
                // Whoever asked may have gone; then the child is dropped here, and ends with this process.
                let _ = answer.send(command.spawn());
            }
        });
        Mutex::new(jobs)
    });
    let (answer, answered) = mpsc::channel();
    let shown = command.get_program().to_string_lossy().into_owned();
    starter
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send((command, answer))
        .map_err(|_| anyhow!("the thread that starts processes has ended"))?;
    answered
        .recv()
        .context("the thread that starts processes has ended")?
        .with_context(|| format!("cannot start {shown}: is it installed?"))
}

/// A command that becomes `program`, and that the kernel kills when this process ends.
pub(crate) fn mortal(program: &Path) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program).stdin(Stdio::null());
    // A signal from the terminal is for this process; the children follow it.
    command.process_group(0);
    command
}

/// A running child; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    name: String,
    child: Child,
    /// The file of its output.
    log: Option<PathBuf>,
}

impl Running {
    /// Starts `command`, which [`mortal`] made, with its output in a file of `logs`.
    pub(crate) fn start(name: &str, mut command: Command, logs: &Path) -> Result<Self> {
        let log = logs.join(format!("{name}.log"));
        let out = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdout(out.try_clone()?).stderr(out);
        Ok(Self { name: name.to_owned(), child: spawn(command)?, log: Some(log) })
    }

    /// Starts `command`, which [`mortal`] made, and gives its output and its errors, to be read until they end.
    pub(crate) fn piped(name: &str, mut command: Command) -> Result<(Self, [Box<dyn Read + Send>; 2])> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = spawn(command)?;
        let output = child.stdout.take().context("the output is a pipe")?;
        let errors = child.stderr.take().context("the errors are a pipe")?;
        Ok((Self { name: name.to_owned(), child, log: None }, [Box::new(output), Box::new(errors)]))
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Fails with the end of its log when it has ended.
    pub(crate) fn must_run(&mut self) -> Result<()> {
        match self.ended() {
            None => Ok(()),
            Some(status) => Err(anyhow!("{} ended ({status}): {}", self.name, self.last_lines())),
        }
    }

    /// The end of its log.
    pub(crate) fn last_lines(&self) -> String {
        let text = self.log.as_ref().and_then(|log| fs::read(log).ok()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once, with SIGKILL, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        let pid = Pid::from_raw(i32::try_from(self.pid())?);
        kill(pid, signal).with_context(|| format!("{} cannot be signalled", self.name))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A folder that is removed when this is dropped, and also when this process ends without dropping it: a `static` is
/// never dropped, and a killed process drops nothing.
#[derive(Debug)]
pub(crate) struct Folder {
    directory: tempfile::TempDir,
    /// Reads its input, which ends with this process.
    remover: Child,
}

impl Folder {
    pub(crate) fn new() -> Result<Self> {
        use std::os::unix::process::CommandExt;
        let directory = tempfile::Builder::new().prefix("ballast-testbed-").tempdir()?;
        // Processes that write there are being killed at the same moment, so once may not be enough.
        let script = "read -r _; for _ in 1 2 3 4 5 6 7 8 9 10; do \
                      rm -rf -- \"$0\" 2>/dev/null; [ -e \"$0\" ] || exit 0; sleep 0.2; done";
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .arg(directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let remover = command.spawn().context("cannot start sh")?;
        Ok(Self { directory, remover })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.remover.stdin.take());
        // It removes the folder and ends; nothing is left to do when it fails.
        let _ = self.remover.wait();
    }
}

/// Reads all lines of a child's output in a thread of its own, until it ends.
pub(crate) fn each_line(output: impl Read + Send + 'static, mut take: impl FnMut(String) + Send + 'static) {
    use std::io::BufRead;
    thread::spawn(move || {
        for line in std::io::BufReader::new(output).lines() {
            let Ok(line) = line else { break };
            take(line);
        }
    });
}
