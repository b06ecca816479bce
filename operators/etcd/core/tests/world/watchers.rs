//! The watchers can fail: each reckless deed trips the one that is for it.

use std::collections::BTreeMap;

use ballast_core::{
    bootstrap,
    build::config_map,
    guard::{Ticket, TicketKind},
    object::{Kind, ObjectRef},
};
use ballast_etcd_core::build;
use ballast_etcd_simulated::model::Endpoint;

use crate::simulation::{NAME, Simulation, spec};

/// What the watchers say after this was done.
fn caught(mut sim: Simulation, deed: impl FnOnce(&mut Simulation)) -> String {
    assert_eq!(sim.violation(), None, "all is well before");
    deed(&mut sim);
    sim.violation().expect("no watcher noticed")
}

fn leader(sim: &Simulation) -> Endpoint {
    let cluster = sim.cluster().unwrap();
    Endpoint { cluster: cluster.id, id: cluster.leader.unwrap() }
}

fn object(sim: &Simulation, kind: Kind, name: &str) -> ObjectRef {
    let uid = sim.world.live(kind, name).unwrap()["metadata"]["uid"].as_str().unwrap().to_owned();
    ObjectRef { kind, name: name.to_owned(), uid }
}

fn pod_uid(sim: &Simulation, member: &str) -> String {
    sim.world.pod(&format!("{member}-0")).unwrap().metadata.uid.clone().unwrap()
}

/// The operator as it would be without its predicate `quorum-without-member`, on an etcd that does not refuse either:
/// what the plan holds back is done all the same.
#[test]
fn without_the_quorum_predicate_a_removal_breaks_the_quorum() {
    let mut sim = Simulation::converged(&spec(3));
    let (keep, down, replace) = three(&sim);
    sim.etcd.hung.insert(down);
    let id = sim.id(&replace).unwrap();
    sim.annotate("ballast.dev/replace", Some(&format!("{id:x}")));
    sim.run(5);
    assert!(
        sim.blocked.iter().any(|(predicate, _)| predicate == "quorum-without-member"),
        "{:?}",
        sim.blocked
    );
    assert_eq!(sim.count("RemoveMember"), 0);
    sim.etcd.strict = false;
    let to = Endpoint { cluster: sim.cluster().unwrap().id, id: sim.id(&keep).unwrap() };
    let why = caught(sim, |sim| drop(sim.etcd.member_remove(to, id).unwrap()));
    assert!(why.contains("broke the quorum"), "{why}");
}

/// The leader, and the two others.
fn three(sim: &Simulation) -> (String, String, String) {
    let leader = sim.leader();
    let mut others = (0..3).map(|n| format!("my-{n}")).filter(|name| *name != leader);
    (leader.clone(), others.next().unwrap(), others.next().unwrap())
}

#[test]
fn stopping_a_second_member_is_noticed() {
    let sim = Simulation::converged(&spec(5));
    let why = caught(sim, |sim| {
        sim.eager = false;
        for member in ["my-3", "my-4"] {
            let uid = pod_uid(sim, member);
            sim.watch_stop(member, &uid);
        }
    });
    assert!(why.contains("still disrupted by us"), "{why}");
}

#[test]
fn stopping_one_of_two_that_are_left_of_three_is_noticed() {
    let mut sim = Simulation::converged(&spec(3));
    let (_, stop, other) = three(&sim);
    sim.world.kill_container(&format!("{stop}-0"), &mut sim.etcd);
    let why = caught(sim, |sim| {
        let uid = pod_uid(sim, &other);
        sim.watch_stop(&other, &uid);
    });
    assert!(why.contains("others serve"), "{why}");
}

#[test]
fn two_learners_are_noticed() {
    let mut sim = Simulation::converged(&spec(1));
    sim.etcd.strict = false;
    sim.advance(30);
    let to = leader(&sim);
    let why = caught(sim, |sim| {
        sim.etcd.member_add(to, "http://a:2380").unwrap();
        sim.etcd.now += jiff::SignedDuration::from_secs(10);
        sim.etcd.member_add(to, "http://b:2380").unwrap();
    });
    assert!(why.contains("2 learners"), "{why}");
}

#[test]
fn a_claim_deleted_too_early_is_noticed() {
    let sim = Simulation::converged(&spec(3));
    let claim = sim.claim_of("my-1");
    let why = caught(sim, |sim| sim.watch_delete(&object(sim, Kind::PersistentVolumeClaim, &claim)));
    assert!(why.contains("while its member is in the list"), "{why}");
}

#[test]
fn a_stateful_set_deleted_too_early_is_noticed() {
    let sim = Simulation::converged(&spec(3));
    let why = caught(sim, |sim| sim.watch_delete(&object(sim, Kind::StatefulSet, "my-1")));
    assert!(why.contains("while it is in the list"), "{why}");
}

#[test]
fn a_client_service_too_early_is_noticed() {
    let mut sim = Simulation::new(&spec(1));
    sim.until(|sim| sim.cluster().is_some());
    let why = caught(sim, |sim| {
        let service = build::client_service(&sim.desired().unwrap());
        sim.world.apply(&service.into()).unwrap();
    });
    assert!(why.contains("client Service"), "{why}");
}

/// A ticket that is left gives a second permission: the guard obeys, and the watchers notice what comes of it.
fn with_ticket(kind: TicketKind, append: &str) -> String {
    let sim = Simulation::converged(&spec(3));
    caught(sim, |sim| {
        let desired = sim.desired().unwrap();
        let claim = sim.claim_of("my-0");
        let list: Vec<(String, String)> = (0..3)
            .filter(|ordinal| append == "existing" || *ordinal == 0)
            .map(|ordinal| {
                (
                    desired.member(ordinal),
                    ballast_etcd_core::peer_url(&desired.cluster.host(&desired.member(ordinal))),
                )
            })
            .collect();
        let ticket = Ticket {
            kind,
            cluster_uid: desired.cluster.labels.uid.clone(),
            member: "my-0".to_owned(),
            claim,
            claim_uid: String::new(),
            append: [(build::CONFIG_FILE.to_owned(), build::initial_cluster(&list, append))].into(),
        };
        // The voter's own watcher would notice the ticket; this is about what the ticket does.
        sim.world.delete_by_hand(Kind::Service, "my-client");
        sim.world.create(&config_map::ticket(&desired.cluster, "my-0", &ticket).into()).unwrap();
        sim.world.wipe(&sim.disk_of("my-0"));
        sim.world.delete_pod_by_hand("my-0-0");
        sim.world.step(&mut sim.etcd);
        sim.world.step(&mut sim.etcd);
    })
}

#[test]
fn a_second_bootstrap_is_noticed() {
    let why = with_ticket(TicketKind::Bootstrap, "new");
    assert!(why.contains("bootstraps a second cluster"), "{why}");
}

#[test]
fn an_id_that_starts_again_on_an_empty_disk_is_noticed() {
    let why = with_ticket(TicketKind::Join, "existing");
    assert!(why.contains("starts on an empty disk"), "{why}");
}

#[test]
fn a_voter_with_a_ticket_is_noticed() {
    let sim = Simulation::converged(&spec(1));
    let why = caught(sim, |sim| {
        let desired = sim.desired().unwrap();
        let ticket = Ticket {
            kind: TicketKind::Join,
            cluster_uid: String::new(),
            member: String::new(),
            claim: String::new(),
            claim_uid: String::new(),
            append: BTreeMap::new(),
        };
        sim.world.create(&config_map::ticket(&desired.cluster, "my-0", &ticket).into()).unwrap();
        sim.watch_promote("my-0");
    });
    assert!(why.contains("ticket"), "{why}");
}

#[test]
fn a_lost_write_is_noticed() {
    let mut sim = Simulation::converged(&spec(3));
    let (leader, behind, other) = three(&sim);
    sim.etcd.slow.insert(behind.clone());
    let id = sim.cluster().unwrap().id;
    assert!(sim.etcd.write(id));
    let why = caught(sim, |sim| {
        // Two disks go at once, and the third, which is behind, is made the only member by force.
        for member in [&leader, &other] {
            sim.world.kill_container(&format!("{member}-0"), &mut sim.etcd);
            let gone = sim.id(member).unwrap();
            sim.etcd.clusters.get_mut(&id).unwrap().members.remove(&gone);
        }
        let now = sim.world.now();
        sim.etcd.tick(now);
    });
    assert!(why.contains("is lost"), "{why}");
}

#[test]
fn a_record_that_is_gone_is_noticed_while_clients_come() {
    let sim = Simulation::converged(&spec(1));
    let why = caught(sim, |sim| {
        sim.world.delete_by_hand(Kind::ConfigMap, &bootstrap::name(NAME, "11111111-aaaa"));
    });
    assert!(why.contains("client Service"), "{why}");
}
