use std::{cell::Cell, os::unix::fs::PermissionsExt, path::Path};

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: PrepareArgs,
}

/// Resolves at the given attempt, if at all.
struct Attempts(Cell<u32>, Option<u32>);

impl resolve::Resolve for Attempts {
    async fn resolves(&self, _host: &str) -> bool {
        self.0.set(self.0.get() + 1);
        self.1.is_some_and(|at| self.0.get() >= at)
    }
}

fn at(attempt: Option<u32>) -> Attempts {
    Attempts(Cell::new(0), attempt)
}

fn args(root: &Path, more: &str) -> PrepareArgs {
    let root = root.display();
    let line = format!(
        "prepare --host=m-0.x.n.svc.cluster.local --member=m --volume={root} --data-dir={root}/etcd \
         --evidence=member/wal/*.wal --evidence=member/snap/db --ticket-dir={root}/ticket \
         --resolve-timeout=60s --termination-log={root}/log {more}"
    );
    Line::try_parse_from(line.split_whitespace()).unwrap().args
}

#[tokio::test(start_paused = true)]
async fn configurations_are_written_again_and_again() {
    let root = tempfile::tempdir().unwrap();
    let from = root.path().join("etcd.yaml");
    let to = root.path().join("new/etcd.yaml.base");
    fs::write(&from, "name: ${BALLAST_MEMBER}\nzone: ${BALLAST_ZONE}\n").unwrap();
    let args = args(root.path(), &format!("--zone=eu-a --config={}={}", from.display(), to.display()));
    for _ in 0..2 {
        prepare(&args, &at(Some(3))).await.unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "name: m\nzone: eu-a\n");
    }
    assert_eq!(fs::read_dir(to.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");
}

#[tokio::test(start_paused = true)]
async fn without_data_an_unresolved_name_is_an_error_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let start = tokio::time::Instant::now();
    let error = prepare(&args(root.path(), ""), &at(None)).await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 60);
    assert_eq!(error.exit_code(), 74);
    assert!(error.to_string().starts_with("NameUnresolved: m-0.x.n.svc.cluster.local "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn with_data_the_start_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let args = args(root.path(), "");
    fs::create_dir_all(root.path().join("etcd/member/wal")).unwrap();
    fs::write(root.path().join("etcd/member/wal/0.wal"), "w").unwrap();
    assert!(prepare(&args, &at(None)).await.is_err(), "half of the evidence is no data");
    fs::create_dir_all(root.path().join("etcd/member/snap")).unwrap();
    fs::write(root.path().join("etcd/member/snap/db"), "d").unwrap();
    prepare(&args, &at(None)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_unknown_variable_fails_before_waiting() {
    let root = tempfile::tempdir().unwrap();
    let from = root.path().join("c");
    fs::write(&from, "${BALLAST_NOPE}").unwrap();
    let args = args(root.path(), &format!("--config={}={}/d", from.display(), root.path().display()));
    let error = prepare(&args, &at(Some(1))).await.unwrap_err();
    assert!(error.to_string().ends_with("/c: there is no variable ${BALLAST_NOPE}"), "{error}");
    assert!(!root.path().join("d").exists());
}

#[test]
fn the_zone_of_the_node_counts_more_than_the_given_one() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("zone");
    let args = args(root.path(), &format!("--zone=given --zone-file={}", file.display()));
    assert_eq!(zone(&args).unwrap(), "given");
    fs::write(&file, "\n").unwrap();
    assert_eq!(zone(&args).unwrap(), "given");
    fs::write(&file, "of-the-node\n").unwrap();
    assert_eq!(zone(&args).unwrap(), "of-the-node");
}

#[test]
fn programs_are_installed_executable_and_replaced() {
    let root = tempfile::tempdir().unwrap();
    let (from, to) = (root.path().join("guard"), root.path().join("bin/ballast-guard"));
    for content in ["old", "new"] {
        fs::write(&from, content).unwrap();
        install(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), content);
    }
    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o755);
}
