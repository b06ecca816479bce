//! Random worlds: edits, faults, crashes and stale looks; then quiet, and everything must come to its end.
//!
//! What is broken on purpose stays within what a cluster can survive: one member at a time loses its data.

use ballast_core::object::Kind;
use ballast_etcd_core::APPLICATION;
use proptest::prelude::*;
use serde_json::json;

use crate::simulation::{NAME, Simulation, spec};

/// Something happens.
#[derive(Clone, Debug)]
enum Happening {
    Resize(i32),
    Upgrade,
    Settings(i64),
    /// The operator dies before its write number k from now.
    Crash(u32),
    /// The caches are behind by this many passes.
    Stale,
    KillContainer(usize),
    DeletePod(usize),
    DeleteSet(usize),
    /// One member loses its data, if all others serve.
    Wipe(usize),
    DeleteClaim(usize),
    /// A node stops for this many passes.
    Node(usize, usize),
    /// A member hangs for this many passes.
    Hang(usize, usize),
    EditService,
    DeleteService,
    /// Nothing but time.
    Passes(usize),
}

fn happening() -> impl Strategy<Value = Happening> {
    use Happening::{
        Crash, DeleteClaim, DeletePod, DeleteService, DeleteSet, EditService, Hang, KillContainer, Node,
        Passes, Resize, Settings, Stale, Upgrade, Wipe,
    };
    let member = 0..7_usize;
    prop_oneof![
        3 => (1..6_i32).prop_map(Resize),
        1 => Just(Upgrade),
        2 => (0..3_i64).prop_map(Settings),
        5 => (0..9_u32).prop_map(Crash),
        3 => Just(Stale),
        2 => member.clone().prop_map(KillContainer),
        2 => member.clone().prop_map(DeletePod),
        1 => member.clone().prop_map(DeleteSet),
        2 => member.clone().prop_map(Wipe),
        1 => member.clone().prop_map(DeleteClaim),
        1 => (0..6_usize, 1..70_usize).prop_map(|(node, passes)| Node(node, passes)),
        1 => (member, 1..50_usize).prop_map(|(member, passes)| Hang(member, passes)),
        1 => Just(EditService),
        1 => Just(DeleteService),
        6 => (1..12_usize).prop_map(Passes),
    ]
}

impl Simulation {
    fn members(&self) -> Vec<String> {
        let entries = self.cluster().into_iter().flat_map(|cluster| cluster.members.values());
        entries.map(|entry| entry.name.clone()).filter(|name| !name.is_empty()).collect()
    }

    /// Whether the cluster survives that this member loses everything now.
    fn can_lose(&self, member: &str) -> bool {
        self.cluster().is_some_and(|cluster| {
            let voters: Vec<_> = cluster.voters().collect();
            let all = voters.iter().all(|(id, _)| self.etcd.alive(cluster.id, *id));
            let current =
                voters.iter().all(|(id, _)| self.etcd.applied(cluster.id, *id) >= cluster.acknowledged);
            all && current && voters.len() > 2 && voters.iter().any(|(_, entry)| entry.name == member)
        })
    }

    fn pick(&self, number: usize) -> Option<String> {
        let members = self.members();
        (!members.is_empty()).then(|| members[number % members.len()].clone())
    }

    /// Makes it happen; the name of a node or member that must be mended later, and after how many passes.
    fn happen(&mut self, what: &Happening, mend: &mut Vec<(Mend, usize)>) {
        self.note(format!("!! {what:?}"));
        match what {
            Happening::Resize(replicas) => self.edit(&json!({"replicas": replicas})),
            Happening::Upgrade => self.edit(&json!({"version": "3.6.16"})),
            Happening::Settings(count) => self.edit(&json!({"etcd": {"snapshotCount": 10_000 + count}})),
            Happening::Crash(writes) => self.crash_after = Some(*writes),
            Happening::Stale => {
                self.stale = Some(self.world.children(APPLICATION, NAME));
                self.tick();
                self.tick();
            }
            Happening::EditService => {
                let other = json!({"app.kubernetes.io/instance": "other"});
                self.world.edit(Kind::Service, "my-nodes", "/spec/selector", &other);
            }
            Happening::DeleteService => self.world.delete_by_hand(Kind::Service, "my-nodes"),
            Happening::Passes(passes) => {
                for _ in 0..*passes {
                    self.pass();
                    self.tick();
                    self.mend(mend);
                }
            }
            Happening::Node(number, passes) => {
                // One node at a time; without data on it nothing is lost.
                if mend.is_empty() {
                    let name = self.world.nodes().keys().nth(*number).cloned().unwrap_or_default();
                    self.world.stop_node(&name, &mut self.etcd);
                    mend.push((Mend::Node(name), *passes));
                }
            }
            Happening::Hang(number, passes) => {
                if let Some(member) = self.pick(*number).filter(|_| mend.is_empty()) {
                    self.etcd.hung.insert(member.clone());
                    mend.push((Mend::Member(member), *passes));
                }
            }
            Happening::KillContainer(number) => {
                if let Some(member) = self.pick(*number) {
                    self.world.kill_container(&format!("{member}-0"), &mut self.etcd);
                }
            }
            Happening::DeletePod(number) => {
                if let Some(member) = self.pick(*number) {
                    self.world.delete_pod_by_hand(&format!("{member}-0"));
                }
            }
            Happening::DeleteSet(number) => {
                if let Some(member) = self.pick(*number) {
                    self.world.delete_by_hand(Kind::StatefulSet, &member);
                }
            }
            Happening::Wipe(number) => {
                if let Some(member) =
                    self.pick(*number).filter(|member| self.can_lose(member) && mend.is_empty())
                {
                    let disk = self.disk_of(&member);
                    self.world.wipe(&disk);
                    self.world.kill_container(&format!("{member}-0"), &mut self.etcd);
                    mend.push((Mend::Nothing, 40));
                }
            }
            Happening::DeleteClaim(number) => {
                if let Some(member) =
                    self.pick(*number).filter(|member| self.can_lose(member) && mend.is_empty())
                {
                    let claim = self.claim_of(&member);
                    self.world.delete_by_hand(Kind::PersistentVolumeClaim, &claim);
                    self.world.delete_pod_by_hand(&format!("{member}-0"));
                    mend.push((Mend::Nothing, 40));
                }
            }
        }
    }

    fn mend(&mut self, mend: &mut Vec<(Mend, usize)>) {
        for (what, left) in mend.iter_mut() {
            *left = left.saturating_sub(1);
            if *left == 0 {
                match what {
                    Mend::Node(node) => self.world.start_node(node),
                    Mend::Member(member) => drop(self.etcd.hung.remove(member)),
                    Mend::Nothing => {}
                }
            }
        }
        mend.retain(|(_, left)| *left > 0);
    }
}

/// What is mended by itself after a while.
#[derive(Clone, Debug)]
enum Mend {
    Node(String),
    Member(String),
    /// Nothing; but nothing else breaks meanwhile.
    Nothing,
}

/// Few by default; `PROPTEST_CASES` raises it.
fn cases() -> ProptestConfig {
    const DEFAULT: u32 = 256;
    let config =
        ProptestConfig { failure_persistence: None, max_shrink_iters: 400, ..ProptestConfig::default() };
    if config.cases == DEFAULT { ProptestConfig { cases: 24, ..config } } else { config }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn everything_comes_to_its_end(
        replicas in 1..5_i32,
        eager: bool,
        lazy_mounts: bool,
        local_volumes: bool,
        zones: bool,
        new_version: bool,
        happenings in prop::collection::vec(happening(), 1..14),
    ) {
        let mut spec = spec(replicas);
        if zones {
            spec["zones"] = json!(["a", "b", "c"]);
        }
        if !new_version {
            spec["version"] = json!("3.5.33");
        }
        let mut sim = Simulation::new(&spec);
        sim.eager = eager;
        sim.world.lazy_mounts = lazy_mounts;
        sim.world.local_volumes = local_volumes;
        let mut mend = vec![];
        for what in &happenings {
            sim.happen(what, &mut mend);
            sim.pass();
            sim.tick();
            sim.mend(&mut mend);
        }
        for (_, left) in &mut mend {
            *left = 1;
        }
        sim.mend(&mut mend);
        sim.converge();
    }
}
