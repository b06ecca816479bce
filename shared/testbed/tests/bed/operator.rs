//! The process of an operator: a shell script in its place.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use ballast_testbed::wait::{Seen, until};
use ballast_testbed::{OperatorProcess, Program};

use crate::DEADLINE;

fn script(folder: &Path, body: &str) -> Result<Program> {
    let path = folder.join("operator");
    fs::write(&path, format!("#!/bin/sh\n{body}\n"))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(Program { path, args: vec!["--more".into()], env: vec![("EXTRA".into(), "yes".into())] })
}

async fn lines(operator: &OperatorProcess, count: usize) -> Result<Vec<String>> {
    let look = || async {
        let log = operator.log();
        Ok(if log.len() >= count { Seen::Met(log) } else { Seen::NotYet(format!("{log:?}")) })
    };
    until(DEADLINE, "the operator's log", look).await
}

#[tokio::test]
async fn it_is_called_as_every_operator_and_its_log_is_kept_over_a_kill() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let body = "echo \"{\\\"line\\\": \\\"$* $KUBECONFIG $EXTRA ${HOME-none}\\\"}\"\nexec sleep 1000";
    let operator = OperatorProcess::new(script(folder.path(), body)?, "shop");
    operator.start(Path::new("/k.yaml"))?;
    lines(&operator, 1).await?;
    let first = operator.pid().context("it runs")?;
    operator.killer()();
    lines(&operator, 2).await?;
    assert_ne!(operator.pid(), Some(first), "another process");
    assert!(!Path::new(&format!("/proc/{first}")).exists(), "the first is gone");
    assert_eq!(operator.starts(), 2);
    let line = "run --watch-namespaces shop --listen 127.0.0.1:0 --log-format json --more /k.yaml yes none";
    assert!(operator.logged().iter().all(|logged| logged["line"] == line), "{:?}", operator.log());
    operator.must_run()?;
    let second = operator.pid().context("it runs")?;
    drop(operator);
    assert!(!Path::new(&format!("/proc/{second}")).exists(), "it ends with its owner");
    Ok(())
}

#[tokio::test]
async fn one_that_ends_by_itself_or_panics_is_noticed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let body = "echo \"thread 'main' panicked at src/x.rs:1:1\" >&2\nexit 3";
    let operator = OperatorProcess::new(script(folder.path(), body)?, "shop");
    operator.start(Path::new("/k.yaml"))?;
    lines(&operator, 1).await?;
    let ended = || async { Ok(operator.must_run().err()) };
    let error = until(DEADLINE, "its end", ended).await?.to_string();
    assert!(error.contains('3') && error.contains("panicked"), "{error}");
    assert_eq!(operator.panics().len(), 1);
    Ok(())
}
