//! Steps, crashes between them, and what they leave alone.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::os::unix::fs::symlink;

use rstest::rstest;
use tempfile::TempDir;

use super::*;

struct Pod {
    root: TempDir,
    args: RunArgs,
}

impl Pod {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["vol/lost+found", "ticket", "run", "base"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        fs::write(root.path().join("base/etcd.yaml"), "name: my-1").unwrap();
        let at = root.path().display();
        let line = format!(
            "--cluster-uid new --member my-1 --claim c --accept-cluster-uid old --volume {at}/vol \
             --data-dir {at}/vol/deep/etcd --evidence wal/*.wal --evidence db --ticket-dir {at}/ticket \
             --scratch {at}/run --config {at}/base/etcd.yaml={at}/run/etcd.yaml --gate {at}/run/gate -- app"
        );
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let args = RunArgs::parse(&words).unwrap();
        Self { root, args }
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.path().join(path)).ok()
    }

    fn ticket(&self) {
        let text = r#"{"kind":"Join","clusterUid":"new","member":"my-1","claim":"c","claimUid":"cu","append":{"etcd.yaml":"initial-cluster: x\n"}}"#;
        self.put("ticket/ticket.json", text);
    }

    fn data(&self) {
        self.put("vol/deep/etcd/wal/0.wal", "w");
        self.put("vol/deep/etcd/db", "d");
    }

    fn mark(&self, uid: &str) {
        self.put(
            "vol/.ballast-marker.json",
            &format!(r#"{{"clusterUid":"{uid}","member":"my-1","claim":"c0"}}"#),
        );
    }

    /// Starts, but crashes after `count` steps.
    fn start(&self, count: usize) -> Result<Start, Refusal> {
        let (start, steps) = prepare(&self.args)?;
        steps.iter().take(count).try_for_each(|step| perform(&self.args, step))?;
        Ok(start)
    }
}

const ALL: usize = usize::MAX;
const MARKER: &str = r#"{"clusterUid":"new","member":"my-1","claim":"c"}"#;

fn names(steps: &[Step]) -> Vec<&'static str> {
    let name = |step: &Step| match step {
        Step::Clean => "clean",
        Step::Marker(_) => "marker",
        Step::Config { .. } => "config",
        Step::Gate { .. } => "gate",
        Step::Note(_) => "note",
    };
    steps.iter().map(name).collect()
}

#[test]
fn the_order_of_steps() {
    let pod = Pod::new();
    pod.ticket();
    assert_eq!(names(&prepare(&pod.args).unwrap().1), ["clean", "marker", "config", "gate", "note"]);
    pod.data();
    pod.mark("old");
    assert_eq!(names(&prepare(&pod.args).unwrap().1), ["marker", "config"]);
    pod.mark("new");
    assert_eq!(names(&prepare(&pod.args).unwrap().1), ["config"]);
}

#[test]
fn a_start_with_a_ticket_cleans_the_data_directory_only() {
    let pod = Pod::new();
    pod.ticket();
    pod.put("vol/lost+found/inode", "kept");
    pod.put("vol/deep/beside", "kept");
    pod.put("elsewhere/file", "kept");
    pod.put("vol/deep/etcd/wal/0.wal", "half-made: no db");
    pod.put("vol/deep/etcd/.hidden", "x");
    symlink(pod.root.path().join("elsewhere"), pod.root.path().join("vol/deep/etcd/link")).unwrap();
    assert!(matches!(pod.start(ALL), Ok(Start::Ticket(_))));
    assert_eq!(fs::read_dir(&pod.args.data_dir).unwrap().count(), 0);
    for path in ["vol/lost+found/inode", "vol/deep/beside", "elsewhere/file"] {
        assert_eq!(pod.read(path).as_deref(), Some("kept"), "{path}");
    }
    assert_eq!(pod.read("vol/.ballast-marker.json").as_deref(), Some(MARKER));
    assert_eq!(pod.read("run/ticket-used.json").as_deref(), Some(r#"{"kind":"Join","claimUid":"cu"}"#));
    assert_eq!(pod.read("run/etcd.yaml").as_deref(), Some("name: my-1\ninitial-cluster: x\n"));
    assert_eq!(pod.read("run/gate").as_deref(), Some("Join\n"));
}

#[rstest]
fn a_crash_before_the_used_note_takes_the_ticket_again(#[values(0, 1, 2, 3, 4)] done: usize) {
    let pod = Pod::new();
    pod.ticket();
    pod.put("vol/deep/etcd/wal/0.wal", "half-made");
    pod.start(done).unwrap();
    assert!(matches!(pod.start(ALL), Ok(Start::Ticket(_))));
    assert_eq!(pod.read("run/etcd.yaml").as_deref(), Some("name: my-1\ninitial-cluster: x\n"));
    assert!(matches!(pod.start(ALL), Err(Refusal::DataLost(_))));
}

#[rstest]
fn a_crash_before_the_used_note_without_the_ticket_refuses(#[values(0, 1, 2, 3, 4)] done: usize) {
    let pod = Pod::new();
    pod.ticket();
    pod.start(done).unwrap();
    fs::remove_file(pod.root.path().join("ticket/ticket.json")).unwrap();
    assert!(matches!(pod.start(ALL), Err(Refusal::DataLost(_))));
    assert_eq!(pod.read("run/gate"), None);
}

#[test]
fn a_crash_after_the_used_note_refuses_until_a_new_pod() {
    let pod = Pod::new();
    pod.ticket();
    pod.start(ALL).unwrap();
    assert!(matches!(pod.start(ALL), Err(Refusal::DataLost(_))));
    fs::remove_dir_all(&pod.args.scratch).unwrap();
    fs::create_dir(&pod.args.scratch).unwrap();
    assert!(matches!(pod.start(ALL), Ok(Start::Ticket(_))));
}

#[test]
fn after_a_start_with_data_nothing_of_the_ticket_is_left() {
    let pod = Pod::new();
    pod.ticket();
    pod.start(ALL).unwrap();
    pod.data();
    assert_eq!(pod.start(ALL), Ok(Start::DataPresent));
    assert_eq!(pod.read("run/etcd.yaml").as_deref(), Some("name: my-1"));
    assert_eq!(pod.read("run/gate"), None);
    assert_eq!(pod.read("vol/deep/etcd/db").as_deref(), Some("d"));
}

#[rstest]
fn adoption_can_crash_anywhere(#[values(0, 1, 2)] done: usize) {
    let pod = Pod::new();
    pod.data();
    pod.mark("old");
    pod.start(done).unwrap();
    pod.start(ALL).unwrap();
    let marker = r#"{"clusterUid":"new","member":"my-1","claim":"c","adoptedFrom":"old"}"#;
    assert_eq!(pod.read("vol/.ballast-marker.json").as_deref(), Some(marker));
    assert_eq!(pod.start(ALL), Ok(Start::DataPresent));
    assert_eq!(pod.read("vol/.ballast-marker.json").as_deref(), Some(marker));
    assert_eq!(pod.read("vol/deep/etcd/db").as_deref(), Some("d"));
}

#[rstest]
#[case::no_volume("vol", "VolumeUnreadable")]
#[case::no_scratch("run", "SetupFailed")]
#[case::no_base("base", "SetupFailed")]
fn a_missing_mount_is_not_an_empty_one(#[case] missing: &str, #[case] reason: &str) {
    let pod = Pod::new();
    pod.ticket();
    pod.put("vol/deep/etcd/wal/0.wal", "half-made");
    fs::remove_dir_all(pod.root.path().join(missing)).unwrap();
    assert_eq!(pod.start(ALL).unwrap_err().reason(), reason);
    if missing != "vol" {
        assert_eq!(pod.read("vol/deep/etcd/wal/0.wal").as_deref(), Some("half-made"));
        assert_eq!(pod.read("vol/.ballast-marker.json"), None);
    }
}

#[rstest]
fn a_marker_that_does_not_parse_is_unreadable(
    #[values("", "{", "[]", r#"{"clusterUid":"new"}"#)] text: &str,
) {
    let pod = Pod::new();
    pod.ticket();
    pod.put("vol/.ballast-marker.json", text);
    assert!(matches!(pod.start(ALL), Err(Refusal::VolumeUnreadable(_))));
    assert_eq!(pod.read("vol/.ballast-marker.json").as_deref(), Some(text));
}

#[rstest]
fn a_ticket_that_does_not_parse_stops_only_who_needs_it(
    #[values("", "{}", r#"{"kind":"Merge"}"#)] text: &str,
) {
    let pod = Pod::new();
    pod.put("ticket/ticket.json", text);
    assert!(matches!(pod.start(ALL), Err(Refusal::TicketInvalid(_))));
    pod.data();
    pod.mark("new");
    assert_eq!(pod.start(ALL), Ok(Start::DataPresent));
}

#[rstest]
fn a_used_note_counts_whatever_it_holds(#[values("", "{", "other")] text: &str) {
    let pod = Pod::new();
    pod.ticket();
    pod.put("run/ticket-used.json", text);
    assert!(matches!(pod.start(ALL), Err(Refusal::DataLost(_))));
}

#[test]
fn a_link_on_the_way_to_the_data_is_never_followed() {
    let pod = Pod::new();
    pod.ticket();
    pod.put("elsewhere/etcd/file", "kept");
    symlink(pod.root.path().join("elsewhere"), pod.root.path().join("vol/deep")).unwrap();
    assert!(matches!(pod.start(ALL), Err(Refusal::VolumeUnreadable(_))));
    assert_eq!(pod.read("elsewhere/etcd/file").as_deref(), Some("kept"));
}
