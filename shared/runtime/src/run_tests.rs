use clap::Parser;
use serde_json::Value;

use super::*;
use crate::{fake_api::FakeApi, lease::ElectionArgs};

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/n/leases/thing-operator.ballast.dev";

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    election: ElectionArgs,
}

fn settings(line: &str) -> Option<ElectionSettings> {
    Line::parse_from(line.split(' ')).election.settings("thing").unwrap()
}

struct Bench {
    api: Arc<FakeApi>,
    gate: Arc<Gate>,
    candidacy: Candidacy,
}

async fn leader() -> Bench {
    let api = Arc::new(FakeApi::default());
    let gate = Arc::new(Gate::expired(Clock::of_tests()));
    let settings = settings("x --pod-namespace=n --pod-name=pod");
    let metrics = Arc::new(Metrics::new("thing", "1"));
    let mut candidacy = Candidacy::begin("thing", &api.client(), settings, &gate, &metrics);
    candidacy.standing.wait_for(|standing| *standing == Standing::Leading).await.unwrap();
    Bench { api, gate, candidacy }
}

async fn within_a_while<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(5), what).await.unwrap()
}

fn holder(api: &FakeApi) -> Value {
    api.get(PATH).unwrap()["spec"]["holderIdentity"].clone()
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_kept_until_the_controller_has_stopped_and_then_released() {
    let Bench { api, gate, candidacy } = leader().await;
    let seen = api.clone();
    let controller = async move {
        // It drains for longer than the lease lasts without renewal.
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert!(gate.permit().is_ok());
        assert_ne!(holder(&seen), "");
        gate.close();
        true
    };
    within_a_while(candidacy.during(controller)).await.unwrap();
    assert_eq!(holder(&api), "");
}

#[tokio::test(start_paused = true)]
async fn what_was_given_up_half_way_keeps_others_waiting() {
    let Bench { api, candidacy, .. } = leader().await;
    within_a_while(candidacy.during(async { false })).await.unwrap();
    assert_ne!(holder(&api), "", "its requests may still be under way");
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_ends_the_process_with_one_clear_reason() {
    let Bench { api, gate, candidacy } = leader().await;
    api.remove(PATH);
    let error = within_a_while(candidacy.during(std::future::pending())).await.unwrap_err().to_string();
    assert!(gate.permit().is_err());
    assert_eq!(
        error,
        "the lease n/thing-operator.ballast.dev is lost: somebody deleted or emptied it; this process ends, and may begin \
         anew as a standby"
    );
}

#[tokio::test(start_paused = true)]
async fn without_election_it_leads_and_asks_for_no_lease() {
    let api = Arc::new(FakeApi::default());
    let gate = Arc::new(Gate::open());
    let metrics = Arc::new(Metrics::new("thing", "1"));
    let settings = settings("x --leader-elect=false");
    let candidacy = Candidacy::begin("thing", &api.client(), settings, &gate, &metrics);
    assert_eq!(*candidacy.standing.borrow(), Standing::Leading);
    let gate_in_use = gate.clone();
    let controller = async move {
        tokio::time::sleep(Duration::from_mins(1)).await;
        gate_in_use.permit().is_ok()
    };
    within_a_while(candidacy.during(controller)).await.unwrap();
    assert!(api.taken_log().is_empty() && gate.permit().is_ok());
}
