#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use ballast_guard::{
    Invocation, Ticket, TicketKind,
    args::{ConfigCopy, RunArgs},
};
use insta::assert_yaml_snapshot;
use k8s_openapi::api::apps::v1::StatefulSet;
use rstest::rstest;

use super::{claim::ClaimSpec, member::*, samples::*, *};
use crate::bootstrap::Record;

fn strings(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn services() {
    assert_yaml_snapshot!("service_nodes", service::nodes(&cluster(), &PORTS));
    assert_yaml_snapshot!("service_client", service::client(&cluster(), &PORTS[..1]));
}

#[test]
fn config_maps() {
    let cluster = cluster();
    let ticket = Ticket {
        kind: TicketKind::Join,
        cluster_uid: cluster.labels.uid.clone(),
        member: "my-0".to_owned(),
        claim: "data-my-0-0a1b2c3d-0".to_owned(),
        claim_uid: "c1".to_owned(),
        append: strings(&[("etcd.yaml", "initial-cluster-state: existing\n")]),
    };
    let record = Record::Started { cluster_id: "cdf818194e3a8c32".to_owned() };
    let files = strings(&[("etcd.yaml", "name: x\n")]);
    assert_yaml_snapshot!("config_map_hashed", config_map::hashed(&cluster, "config", files));
    let object = config_map::ticket(&cluster, "my-0", &ticket);
    assert_yaml_snapshot!("config_map_ticket", object);
    let text = &object.data.unwrap()[ballast_guard::ticket::FILE];
    assert_eq!(serde_json::from_str::<Ticket>(text).unwrap(), ticket);
    assert_yaml_snapshot!("config_map_bootstrap", config_map::bootstrap(&cluster, &record));
}

#[test]
fn an_earlier_cluster_of_the_same_name_has_other_configuration() {
    let mut other = cluster();
    other.labels.uid = "other".to_owned();
    let name = |cluster: &Cluster| config_map::hashed(cluster, "config", BTreeMap::new()).metadata.name;
    assert_ne!(name(&cluster()), name(&other));
}

#[test]
fn binding() {
    let entries = strings(&[
        ("host", "my-client.shop.svc"),
        ("port", "2379"),
        ("uri", "http://my-client.shop.svc:2379"),
    ]);
    assert_yaml_snapshot!("secret_binding", secret::binding(&cluster(), entries));
}

#[test]
fn claims() {
    let mut spec = ClaimSpec {
        name: "data-my-0-0a1b2c3d-0".to_owned(),
        member: "my-0".to_owned(),
        zone: Some("zone-b".to_owned()),
        size: "10Gi".to_owned(),
        storage_class: Some("fast".to_owned()),
        owned: false,
    };
    assert_yaml_snapshot!("claim_retained", claim::claim(&cluster(), &spec));
    spec = ClaimSpec { zone: None, storage_class: None, owned: true, ..spec };
    assert_yaml_snapshot!("claim_owned", claim::claim(&cluster(), &spec));
}

#[test]
fn budget() {
    assert_yaml_snapshot!("disruption_budget", disruption_budget::budget(&cluster(), 2));
}

#[rstest]
#[case("stateful_set_claim", member())]
#[case("stateful_set_ephemeral", ephemeral())]
#[case("stateful_set_customised", customised())]
fn stateful_sets(#[case] name: &str, #[case] member: Member) {
    assert_yaml_snapshot!(name, stateful_set(&cluster(), &member));
}

/// If this fails, every pod of every cluster restarts when the operator is upgraded. Then it must be on purpose.
#[test]
fn the_template_hash_is_frozen() {
    assert_eq!(template_hash(&member()), "10804252d37d4911");
    assert_eq!(template_hash(&customised()), "866196dc6b38f91f");
}

#[rstest]
#[case::another_member(|member: &mut Member| member.name = "my-1".to_owned())]
#[case::zone(|member: &mut Member| member.zone = Some("z".to_owned()))]
#[case::claim(|member: &mut Member| member.storage = Storage::Claim { name: "other".to_owned() })]
#[case::adopted(|member: &mut Member| member.guard.accept_cluster_uids.clear())]
#[case::operator_image(|member: &mut Member| member.operator_image = "new".to_owned())]
#[case::operator_pull_policy(|member: &mut Member| member.operator_pull_policy = None)]
#[case::parked(|member: &mut Member| member.replicas = 0)]
#[case::empty_overlay(|member: &mut Member| {
    let rules = crate::pod_template::Protected { containers: &[], volumes: &[], env_prefixes: &[], mount_paths: &[] };
    member.overlay = crate::pod_template::Overlay::validate(&serde_json::json!({"spec": {}}), "", &rules).ok();
    assert!(member.overlay.is_some());
})]
fn restarts_nothing(#[case] change: fn(&mut Member)) {
    let mut changed = member();
    change(&mut changed);
    assert_eq!(template_hash(&changed), template_hash(&member()));
}

#[rstest]
#[case::image(|member: &mut Member| member.application.image = "new".to_owned())]
#[case::resources(|member: &mut Member| member.application.resources = serde_json::Value::Null)]
#[case::configuration(|member: &mut Member| member.config_map = "new".to_owned())]
#[case::overlay(|member: &mut Member| member.overlay = customised().overlay)]
#[case::restart(|member: &mut Member| member.restart_at = Some("2026-11-30T04:00:00Z".to_owned()))]
#[case::storage(|member: &mut Member| member.storage = Storage::Ephemeral { size_limit: "1Gi".to_owned() })]
#[case::grace(|member: &mut Member| member.application.grace_seconds = 31)]
fn restarts(#[case] change: fn(&mut Member)) {
    let mut changed = member();
    change(&mut changed);
    assert_ne!(template_hash(&changed), template_hash(&member()));
}

#[test]
fn the_guard_understands_its_command_line() {
    let set = stateful_set(&cluster(), &member());
    let command = set.spec.unwrap().template.spec.unwrap().containers[0].command.clone().unwrap();
    assert_eq!(command[0], "/ballast/bin/ballast-guard");
    let Ok(Invocation::Run(run)) = Invocation::parse(&command[1..]) else { panic!("{command:?}") };
    let expected = RunArgs {
        cluster_uid: cluster().labels.uid,
        member: "my-0".to_owned(),
        claim: "data-my-0-0a1b2c3d-0".to_owned(),
        accept_cluster_uids: vec!["old".to_owned()],
        configs: vec![ConfigCopy {
            base: "/ballast/etcd.yaml.base".into(),
            target: "/ballast/etcd.yaml".into(),
        }],
        drop_env_prefixes: vec!["ETCD_".to_owned()],
        command: member().application.command,
        ..(*run).clone()
    };
    assert_eq!(*run, expected);
    assert_eq!(run.to_args(), command[1..]);
}

#[test]
fn what_is_built_does_not_differ_from_itself() {
    for set in samples::stateful_sets() {
        let json = serde_json::to_value(&set).unwrap();
        assert_eq!(crate::difference::first(&json, &json), None);
        assert_eq!(serde_json::from_value::<StatefulSet>(json).unwrap(), set);
    }
}
