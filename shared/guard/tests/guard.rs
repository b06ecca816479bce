//! The real program with a shell as the application: each row of the decision table, container and pod restarts.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use ballast_guard::{Refusal, Ticket, TicketKind};
use rstest::rstest;
use tempfile::TempDir;

/// Writes data as an application does, and shows what it was given.
const APP: &str = "mkdir -p $DATA/wal && echo w > $DATA/wal/0.wal && echo d > $DATA/db && cat $CONFIG";
/// Dies before it has written valid data.
const HALF: &str = "mkdir -p $DATA/wal && echo w > $DATA/wal/0.wal && exit 3";

struct Node {
    root: TempDir,
}

impl Node {
    fn new() -> Self {
        let node = Self { root: tempfile::tempdir().unwrap() };
        for dir in ["vol/lost+found", "ticket", "run", "base"] {
            fs::create_dir_all(node.path(dir)).unwrap();
        }
        fs::write(node.path("base/etcd.yaml"), "name: my-1\n").unwrap();
        node
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_default()
    }

    fn issue(&self, change: impl FnOnce(&mut Ticket)) {
        let mut ticket = Ticket {
            kind: TicketKind::Bootstrap,
            cluster_uid: "new".into(),
            member: "my-1".into(),
            claim: "c".into(),
            claim_uid: "claim-uid".into(),
            append: [("etcd.yaml".to_owned(), "initial-cluster: x\n".to_owned())].into(),
        };
        change(&mut ticket);
        fs::write(self.path("ticket/ticket.json"), serde_json::to_string(&ticket).unwrap()).unwrap();
    }

    fn withdraw(&self) {
        fs::remove_dir_all(self.path("ticket")).unwrap();
    }

    fn data(&self) {
        fs::create_dir_all(self.path("vol/etcd/wal")).unwrap();
        fs::write(self.path("vol/etcd/wal/0.wal"), "w").unwrap();
        fs::write(self.path("vol/etcd/db"), "d").unwrap();
    }

    fn lose_data(&self) {
        fs::remove_dir_all(self.path("vol/etcd")).unwrap();
    }

    fn mark(&self, uid: &str, member: &str) {
        let text = format!(r#"{{"clusterUid":"{uid}","member":"{member}","claim":"c"}}"#);
        fs::write(self.path("vol/.ballast-marker.json"), text).unwrap();
    }

    fn new_pod(&self) {
        fs::remove_dir_all(self.path("run")).unwrap();
        fs::create_dir(self.path("run")).unwrap();
    }

    fn run(&self, command: &[&str]) -> Output {
        let at = self.root.path().display();
        let line = format!(
            "run --cluster-uid new --member my-1 --claim c --accept-cluster-uid old --volume {at}/vol \
             --data-dir {at}/vol/etcd --evidence wal/*.wal --evidence db --ticket-dir {at}/ticket --scratch {at}/run \
             --config {at}/base/etcd.yaml={at}/run/etcd.yaml --gate {at}/run/gate --drop-env-prefix ETCD_ \
             --termination-log {at}/log --"
        );
        Command::new(env!("CARGO_BIN_EXE_ballast-guard"))
            .args(line.split_whitespace())
            .args(command)
            .env("DATA", self.path("vol/etcd"))
            .env("CONFIG", self.path("run/etcd.yaml"))
            .env("ETCD_NAME", "override")
            .output()
            .unwrap()
    }

    #[track_caller]
    fn starts(&self, script: &str, why: &str) -> Output {
        let output = self.run(&["/bin/sh", "-c", script]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(errors.trim_end(), format!("ballast-guard: starting my-1{why}"));
        output
    }

    #[track_caller]
    fn refuses(&self, reason: &str) -> String {
        let before = self.tree();
        let output = self.run(&["/bin/sh", "-c", "echo ran"]);
        assert!(output.stdout.is_empty());
        let log = self.text("log");
        assert_eq!(String::from_utf8_lossy(&output.stderr), log);
        let refusal = Refusal::from_termination(output.status.code().unwrap(), &log).unwrap();
        assert_eq!(refusal.reason(), reason, "{log}");
        assert_eq!(self.tree(), before, "a refusal must change nothing");
        log
    }

    fn tree(&self) -> String {
        let output =
            Command::new("find").arg(self.path("vol")).args(["-printf", "%p %s %T@\n"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn the_life_of_a_member() {
    let node = Node::new();
    node.issue(|_| {});
    let first = node.starts(APP, " with a Bootstrap ticket");
    assert_eq!(String::from_utf8_lossy(&first.stdout), "name: my-1\ninitial-cluster: x\n");
    assert_eq!(node.text("run/gate"), "Bootstrap\n");
    assert!(node.text("run/ticket-used.json").contains("claim-uid"));
    assert!(node.path("vol/lost+found").is_dir());

    let restarted = node.starts(APP, ": data present");
    assert_eq!(String::from_utf8_lossy(&restarted.stdout), "name: my-1\n");
    assert!(!node.path("run/gate").exists());

    node.withdraw();
    node.starts(APP, ": data present");
    node.new_pod();
    node.starts(APP, ": data present");
    node.lose_data();
    assert!(node.refuses("DataLost").contains("no ticket"));
    node.new_pod();
    node.refuses("DataLost");
}

#[test]
fn a_half_made_start_is_retried_by_a_new_pod_only() {
    let node = Node::new();
    node.issue(|ticket| ticket.kind = TicketKind::Join);
    assert_eq!(node.starts(HALF, " with a Join ticket").status.code(), Some(3));
    assert!(node.refuses("DataLost").contains("already used"));
    node.new_pod();
    node.starts("test ! -e $DATA/wal", " with a Join ticket");
}

#[test]
fn data_lost_in_the_same_pod() {
    let node = Node::new();
    node.issue(|_| {});
    node.starts(APP, " with a Bootstrap ticket");
    node.lose_data();
    assert!(node.refuses("DataLost").contains("already used"));
}

#[rstest]
#[case::member("member my-9", |t: &mut Ticket| t.member = "my-9".into())]
#[case::claim("claim c9", |t: &mut Ticket| t.claim = "c9".into())]
#[case::cluster("cluster old", |t: &mut Ticket| t.cluster_uid = "old".into())]
fn a_ticket_for_another(#[case] named: &str, #[case] change: fn(&mut Ticket)) {
    let node = Node::new();
    node.issue(change);
    assert!(node.refuses("DataLost").contains(named));
}

#[rstest]
fn foreign_volumes(#[values(true, false)] with_data: bool) {
    let node = Node::new();
    node.issue(|_| {});
    if with_data {
        node.data();
    }
    node.mark("foreign", "my-1");
    assert!(node.refuses("ForeignVolume").contains("ballast.dev/adopt-volumes: foreign"));
    node.mark("new", "my-2");
    assert!(node.refuses("ForeignVolume").contains("my-2"));
    node.mark("old", "my-2");
    node.refuses("ForeignVolume");
}

#[test]
fn data_without_a_marker() {
    let node = Node::new();
    node.issue(|_| {});
    node.data();
    assert!(node.refuses("ForeignVolume").contains("unknown"));
}

#[test]
fn adopted_volumes() {
    let node = Node::new();
    node.mark("old", "my-1");
    node.issue(|_| {});
    node.refuses("DataLost");
    node.data();
    node.starts("true", ": data present, adopted from cluster old");
    assert!(node.text("vol/.ballast-marker.json").contains(r#""clusterUid":"new""#));
    assert!(node.text("vol/.ballast-marker.json").contains(r#""adoptedFrom":"old""#));
    node.starts("true", ": data present");
}

#[test]
fn unknown_is_never_yes() {
    let node = Node::new();
    fs::write(node.path("ticket/ticket.json"), "{").unwrap();
    node.refuses("TicketInvalid");
    node.issue(|ticket| ticket.append = [("etcd.yml".to_owned(), String::new())].into());
    node.refuses("TicketInvalid");
    node.issue(|_| {});
    fs::write(node.path("vol/.ballast-marker.json"), "{").unwrap();
    node.refuses("VolumeUnreadable");
}

#[test]
fn environment_and_exit_code_pass_through_but_for_dropped_prefixes() {
    let node = Node::new();
    node.mark("new", "my-1");
    node.data();
    let output = node.starts("echo \"${ETCD_NAME-unset} $CONFIG $0\"; exit 42", ": data present");
    assert_eq!(output.status.code(), Some(42));
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("unset /"));
}

#[test]
fn a_missing_application_does_not_use_the_ticket() {
    let node = Node::new();
    node.issue(|_| {});
    let output = node.run(&["/no/such/program"]);
    assert_eq!(output.status.code(), Some(70));
    assert!(node.text("log").starts_with("ExecFailed: /no/such/program"));
    node.starts(APP, " with a Bootstrap ticket");
}

#[test]
fn wrong_arguments() {
    let temp = tempfile::tempdir().unwrap();
    let log = temp.path().join("log");
    let output = Command::new(env!("CARGO_BIN_EXE_ballast-guard"))
        .args(["run", "--termination-log", log.to_str().unwrap(), "--", "app"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(fs::read_to_string(log).unwrap().starts_with("Usage: --cluster-uid is missing"));
}

#[test]
fn installs_itself() {
    let temp = tempfile::tempdir().unwrap();
    let dest = temp.path().join("ballast-guard");
    fs::write(&dest, "an older one").unwrap();
    let install = |program: &str| Command::new(program).arg("install").arg(&dest).status().unwrap();
    assert!(install(env!("CARGO_BIN_EXE_ballast-guard")).success());
    assert!(install(dest.to_str().unwrap()).success(), "over itself");
    assert_eq!(fs::metadata(&dest).unwrap().permissions().mode() & 0o7777, 0o755);
    assert!(Command::new(&dest).arg("help").output().unwrap().status.success());
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    fs::remove_file(&dest).unwrap();
    assert_eq!(install(env!("CARGO_BIN_EXE_ballast-guard")).code(), Some(0));
}
