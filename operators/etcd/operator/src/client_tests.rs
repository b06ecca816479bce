#![allow(clippy::unwrap_used, clippy::panic)]

use std::{collections::BTreeMap, time::Duration};

use ballast_etcd_simulated::{
    model::{Boot, Process},
    server::{Fault, Request, Rule, Server, Settings},
};
use rstest::rstest;
use semver::Version;

use super::*;

fn process(number: u8) -> Process {
    Process {
        member: format!("ns/my-{number}"),
        name: format!("my-{number}"),
        pod: format!("pod-{number}"),
        address: format!("10.0.0.{number}"),
        client_url: format!("http://my-{number}-0.my-nodes.ns.svc.cluster.local:2379"),
        disk: format!("disk-{number}"),
        version: Version::new(3, 6, 16),
    }
}

fn url(number: u8) -> String {
    format!("http://my-{number}-0.my-nodes.ns.svc.cluster.local:2380")
}

/// A server with one member, number 0, and how to reach it.
async fn one() -> (Server, Dialer) {
    let server = Server::listen(Settings::quick()).await.unwrap();
    let list = BTreeMap::from([("my-0".to_owned(), url(0))]);
    server.boot(&process(0), &Boot::New { token: "uid".to_owned(), list }).unwrap();
    let dialer = Dialer::new(Some(server.address()));
    (server, dialer)
}

/// Waits for a condition that others bring about.
async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}

/// Adds a learner and starts it; returns its id.
async fn join(server: &Server, etcd: &mut Connection, number: u8) -> u64 {
    let list = etcd.change(&Change::AddLearner(url(number))).await.unwrap();
    let own = process(number).name;
    let names = list.iter().map(|listed| {
        let name = if listed.name.is_empty() { &own } else { &listed.name };
        (name.clone(), listed.peer_urls[0].clone())
    });
    server.boot(&process(number), &Boot::Existing { list: names.collect() }).unwrap();
    list.iter().find(|listed| listed.name.is_empty()).unwrap().id
}

#[tokio::test]
async fn the_authority_names_the_member() {
    let (server, dialer) = one().await;
    let mut first = dialer.connect("10.0.0.0").await.unwrap();
    join(&server, &mut first, 1).await;
    let mut second = dialer.connect("10.0.0.1").await.unwrap();
    let (one, two) = (first.ask().await.unwrap(), second.ask().await.unwrap());
    assert_eq!((one.leader, two.leader), (one.id, one.id));
    assert_ne!(one.id, two.id);
    assert!(one.linearizable && !two.linearizable, "a learner serves no linearizable read");
    assert_eq!(first.cluster_version().await.unwrap(), Minor { major: 3, minor: 6 });
    first.change(&Change::Promote(two.id)).await.unwrap();
    assert!(second.ask().await.unwrap().linearizable);
    let by_name = dialer.connect("my-1-0.my-nodes.ns.svc").await.unwrap().ask().await.unwrap();
    assert_eq!(by_name.id, two.id);
    assert!(dialer.connect("10.0.0.9").await.unwrap().ask().await.is_err(), "nobody is there");
}

#[tokio::test]
async fn no_connection_is_kept() {
    let (server, dialer) = one().await;
    for _ in 0..10 {
        let mut connection = dialer.connect("10.0.0.0").await.unwrap();
        connection.ask().await.unwrap();
        connection.cluster_version().await.unwrap();
    }
    until("all connections are closed", || server.connections() == 0).await;
}

#[rstest]
#[case::refused(Fault::Refuse, false)]
#[case::silent(Fault::Silence, false)]
#[case::reset_after(Fault::ResetAfter, true)]
#[case::late(Fault::AnswerLate(Duration::from_secs(5)), true)]
#[case::applied_late(Fault::ApplyLate(Duration::from_millis(2500)), true)]
#[tokio::test]
async fn a_change_without_an_answer_is_a_failure_whether_or_not_it_was_made(
    #[case] fault: Fault,
    #[case] made: bool,
) {
    let (server, dialer) = one().await;
    server.inject(Rule::all(fault).to("ns/my-0").on(Request::MemberAdd).times(1));
    let mut connection = dialer.connect("10.0.0.0").await.unwrap();
    let result = connection.change(&Change::AddLearner(url(1))).await;
    assert!(matches!(result, Err(EtcdError::Failed(_))), "{result:?}");
    assert_eq!(server.met(), [("ns/my-0".to_owned(), Request::MemberAdd, fault)]);
    let members = || server.look(|etcd| etcd.clusters.values().next().unwrap().members.len());
    if made {
        until("the change has its effect", || members() == 2).await;
    } else {
        assert_eq!(members(), 1);
    }
    assert_eq!(dialer.connect("10.0.0.0").await.unwrap().list().await.unwrap().len(), members());
}

#[tokio::test]
async fn a_member_that_is_cut_off_still_answers_for_itself() {
    let (server, dialer) = one().await;
    server.edit(|etcd| etcd.partitioned.insert("ns/my-0".to_owned()));
    let answer = dialer.connect("10.0.0.0").await.unwrap().ask().await.unwrap();
    assert_eq!((answer.leader, answer.linearizable), (0, false));
    server.heal();
    assert!(dialer.connect("10.0.0.0").await.unwrap().ask().await.unwrap().linearizable);
}

#[tokio::test]
async fn a_removed_member_that_is_cut_off_answers_from_the_past() {
    let (server, dialer) = one().await;
    let mut first = dialer.connect("10.0.0.0").await.unwrap();
    for number in 1..3 {
        let id = join(&server, &mut first, number).await;
        first.change(&Change::Promote(id)).await.unwrap();
    }
    let mut last = dialer.connect("10.0.0.2").await.unwrap();
    let id = last.ask().await.unwrap().id;
    server.edit(|etcd| etcd.partitioned.insert("ns/my-2".to_owned()));
    first.change(&Change::Remove(id)).await.unwrap();
    assert_eq!(first.list().await.unwrap().len(), 2);
    let answer = last.ask().await.unwrap();
    assert_eq!((answer.id, answer.leader, answer.linearizable), (id, 0, false));
    assert_eq!(last.list().await.unwrap().len(), 3, "it has not been told");
    server.heal();
    until("it is told, and ends", || server.take_ended() == ["pod-2"]).await;
    assert!(last.ask().await.is_err());
}

#[tokio::test]
async fn a_learner_that_lags_is_promoted_once_it_has_caught_up() {
    let (server, dialer) = one().await;
    let mut first = dialer.connect("10.0.0.0").await.unwrap();
    server.edit(|etcd| etcd.slow.insert("ns/my-1".to_owned()));
    let id = join(&server, &mut first, 1).await;
    let early = first.change(&Change::Promote(id)).await;
    assert!(matches!(early, Err(EtcdError::NotYet(_))), "{early:?}");
    server.heal();
    first.change(&Change::Promote(id)).await.unwrap();
}

#[tokio::test]
async fn what_etcd_will_accept_later_is_no_failure() {
    let (_server, dialer) = one().await;
    let mut connection = dialer.connect("10.0.0.0").await.unwrap();
    connection.change(&Change::AddLearner(url(1))).await.unwrap();
    let again = connection.change(&Change::AddLearner(url(2))).await;
    assert!(matches!(again, Err(EtcdError::NotYet(_))), "{again:?}");
    connection.change(&Change::Remove(12345)).await.unwrap();
}
