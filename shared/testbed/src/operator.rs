//! The operator under test: a real process, killed and started again as a test wants.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::ControlPlane;
use crate::process::{Running, each_line, mortal};
use crate::proxy::Kill;

/// An operator's binary and how it is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The binary.
    pub path: PathBuf,
    /// Arguments behind `run --watch-namespaces NAMESPACE --listen 127.0.0.1:0 --log-format json`.
    pub args: Vec<String>,
    /// Environment variables besides KUBECONFIG; nothing else of this process' environment is passed on.
    pub env: Vec<(String, String)>,
}

impl Program {
    /// The same on a machine whose clock is wrong by `offset` (`+1h`, `-1h`). What cannot be set, such as the time since
    /// it was started, goes on as it is.
    ///
    /// # Errors
    /// A line that says what to install.
    pub fn with_clock(mut self, offset: &str) -> Result<Self> {
        let library = fake_time().context("there is no libfaketime: run `apt-get install libfaketime`")?;
        self.env.extend([
            ("LD_PRELOAD".to_owned(), library.display().to_string()),
            ("FAKETIME".to_owned(), offset.to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC".to_owned(), "1".to_owned()),
        ]);
        Ok(self)
    }
}

/// Debian's libfaketime, in the folder of this machine's architecture.
fn fake_time() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    folders.map(|folder| folder.join("faketime/libfaketime.so.1")).find(|library| library.is_file())
}

/// One operator for one namespace. It is killed when this is dropped.
#[derive(Clone)]
pub struct OperatorProcess {
    shared: Arc<Shared>,
}

struct Shared {
    program: Program,
    namespace: String,
    state: Mutex<State>,
    log: Arc<Mutex<Vec<String>>>,
}

#[derive(Default)]
struct State {
    running: Option<Running>,
    kubeconfig: Option<PathBuf>,
    starts: usize,
}

impl std::fmt::Debug for OperatorProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OperatorProcess").field("namespace", &self.shared.namespace).finish_non_exhaustive()
    }
}

impl OperatorProcess {
    /// An operator that does not run yet: the proxy in front of it needs to know first how it is killed.
    pub fn new(program: Program, namespace: &str) -> Self {
        let shared =
            Shared { program, namespace: namespace.to_owned(), state: Mutex::default(), log: Arc::default() };
        Self { shared: Arc::new(shared) }
    }

    /// What a proxy calls: the operator is killed and, when it is gone, started again.
    pub fn killer(&self) -> Kill {
        // Not a strong reference: the proxy may outlive the operator.
        let shared = Arc::downgrade(&self.shared);
        Arc::new(move || {
            if let Some(shared) = shared.upgrade() {
                let mut state = shared.state();
                state.running = None;
                if let Err(error) = shared.start(&mut state) {
                    shared.note(format!("cannot be started again: {error:#}"));
                }
            }
        })
    }

    /// Starts it with this kubeconfig: that of its proxy, or of the control plane.
    pub fn start(&self, kubeconfig: &Path) -> Result<()> {
        let mut state = self.shared.state();
        ensure!(state.running.is_none(), "the operator runs already");
        state.kubeconfig = Some(kubeconfig.to_owned());
        self.shared.start(&mut state)
    }

    /// Kills it with SIGKILL; it stays away until [`Self::start`].
    pub fn kill(&self) {
        self.shared.state().running = None;
    }

    /// Asks it to end (SIGTERM); it is there until it has.
    pub fn terminate(&self) -> Result<()> {
        self.signal(Signal::SIGTERM)
    }

    /// Stops it where it stands, with SIGSTOP, as a machine that hangs would.
    pub fn freeze(&self) -> Result<()> {
        self.signal(Signal::SIGSTOP)
    }

    /// Lets it go on after [`Self::freeze`], as if no time had passed.
    pub fn thaw(&self) -> Result<()> {
        self.signal(Signal::SIGCONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        self.shared.state().running.as_ref().context("the operator does not run")?.signal(signal)
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&self) -> bool {
        self.shared.state().running.as_mut().is_some_and(|running| running.ended().is_some())
    }

    /// How often it was started.
    pub fn starts(&self) -> usize {
        self.shared.state().starts
    }

    /// Its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.shared.state().running.as_ref().map(Running::pid)
    }

    /// Fails with the end of its log when it has ended by itself.
    pub fn must_run(&self) -> Result<()> {
        let mut state = self.shared.state();
        let running = state.running.as_mut().context("the operator was not started")?;
        if let Some(status) = running.ended() {
            let log = self.log();
            anyhow::bail!(
                "the operator ended ({status}): {}",
                log[log.len().saturating_sub(12)..].join("\n")
            );
        }
        Ok(())
    }

    /// Every line that it wrote, over all its starts.
    pub fn log(&self) -> Vec<String> {
        self.shared.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The lines that are JSON: what it logged.
    pub fn logged(&self) -> Vec<Value> {
        self.log().iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The lines that tell of a panic.
    pub fn panics(&self) -> Vec<String> {
        self.log().into_iter().filter(|line| line.contains("panicked at")).collect()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, line: String) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn start(&self, state: &mut State) -> Result<()> {
        let kubeconfig = state.kubeconfig.as_ref().context("the operator was never started")?;
        let mut command = mortal(&self.program.path);
        command
            .args(["run", "--watch-namespaces", &self.namespace, "--listen", "127.0.0.1:0"])
            .args(["--log-format", "json"])
            .args(&self.program.args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("KUBECONFIG", kubeconfig)
            .envs(self.program.env.iter().map(|(name, value)| (name, value)));
        let (running, output) = Running::piped("the operator", command)?;
        for stream in output {
            let log = self.log.clone();
            each_line(stream, move |line| log.lock().unwrap_or_else(PoisonError::into_inner).push(line));
        }
        state.running = Some(running);
        state.starts += 1;
        Ok(())
    }
}

/// The binary of a package of this workspace, which `cargo` built beside the running test.
///
/// # Errors
/// A line that says how to build it.
pub fn built_binary(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    // Tests lie in a folder `deps` beside the programs.
    own.ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
        .with_context(|| format!("no {name} beside {}: run `cargo build --bin {name}`", own.display()))
}

/// An operator behind its proxy.
#[derive(Debug)]
pub struct Operated {
    /// The proxy: what the operator did, and what is done to it.
    pub proxy: crate::ApiProxy,
    /// The operator.
    pub operator: OperatorProcess,
}

impl Operated {
    /// Starts `program` for `namespace` behind a proxy that disturbs it in this way from the beginning.
    pub async fn start(
        plane: &ControlPlane,
        program: Program,
        namespace: &str,
        disturbances: Vec<crate::Disturbance>,
    ) -> Result<Self> {
        let operator = OperatorProcess::new(program, namespace);
        let proxy = crate::ApiProxy::start(plane, operator.killer()).await?;
        proxy.disturb(disturbances);
        operator.start(proxy.kubeconfig())?;
        Ok(Self { proxy, operator })
    }
}
