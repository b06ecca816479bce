use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::*;
use crate::{fake_api::FakeApi, lease::timing::Timing};

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/n/leases/thing-operator.ballast.dev";

struct Bench {
    api: Arc<FakeApi>,
    clock: Clock,
    gate: Arc<Gate>,
    metrics: Arc<Metrics>,
    standing: watch::Receiver<Standing>,
    release: CancellationToken,
    running: JoinHandle<Outcome>,
}

impl Bench {
    fn start(api: &Arc<FakeApi>, identity: &str) -> Self {
        let seconds = Duration::from_secs;
        let settings = ElectionSettings {
            namespace: "n".into(),
            name: "thing-operator.ballast.dev".into(),
            identity: identity.into(),
            timing: Timing::new(seconds(15), seconds(10), seconds(2)).unwrap(),
        };
        let clock = Clock::of_tests();
        let (gate, metrics) = (Arc::new(Gate::expired(clock)), Arc::new(Metrics::new("thing", "1")));
        let candidate =
            Candidate::new(api.client(), settings, "manager".into(), gate.clone(), metrics.clone());
        let (standing, release) = (candidate.standing(), CancellationToken::new());
        let running = tokio::spawn(candidate.run(release.clone()));
        Self { api: api.clone(), clock, gate, metrics, standing, release, running }
    }

    async fn until(&mut self, what: impl Fn(&Standing) -> bool) {
        let reached = self.standing.wait_for(|standing| what(standing));
        tokio::time::timeout(Duration::from_mins(1), reached).await.unwrap().unwrap();
    }

    async fn leads(&mut self) {
        self.until(|standing| *standing == Standing::Leading).await;
        assert!(self.gate.permit().is_ok());
        assert!(self.leader_metric().ends_with(" 1"));
    }

    async fn outcome(&mut self) -> Outcome {
        tokio::time::timeout(Duration::from_mins(1), &mut self.running).await.unwrap().unwrap()
    }

    fn leader_metric(&self) -> String {
        let text = self.metrics.encode().unwrap();
        let line = text.lines().find(|line| line.starts_with("leader_election_master_status{"));
        line.unwrap().to_owned()
    }

    fn spec(&self) -> Value {
        self.api.get(PATH).unwrap()["spec"].clone()
    }
}

/// The other one's lease; what it says about time is the distant past or future.
fn others(renewed: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "thing-operator.ballast.dev", "labels": { "team": "a" } },
        "spec": {
            "holderIdentity": "other", "leaseDurationSeconds": 15, "leaseTransitions": 3,
            "acquireTime": renewed, "renewTime": renewed,
        },
    })
}

#[tokio::test(start_paused = true)]
async fn it_creates_the_lease_renews_it_and_gives_it_up() {
    let api = Arc::new(FakeApi::default());
    let mut bench = Bench::start(&api, "me");
    assert!(bench.gate.permit().is_err() && bench.leader_metric().ends_with(" 0"));
    bench.leads().await;
    assert_eq!(bench.spec()["holderIdentity"], "me");
    assert_eq!(bench.spec()["leaseDurationSeconds"], 15);
    tokio::time::sleep(Duration::from_millis(60_500)).await;
    assert!(bench.gate.permit().is_ok(), "renewed");
    let log = api.taken_log();
    assert_eq!(log[..2], ["GET thing-operator.ballast.dev", "POST leases"]);
    assert!(log[2..].iter().all(|line| line == "PUT thing-operator.ballast.dev"), "{log:?}");
    assert_eq!(log[2..].len(), 30, "one every two seconds: {log:?}");
    bench.release.cancel();
    assert_eq!(bench.outcome().await, Outcome::Released);
    assert!(bench.gate.permit().is_err());
    let spec = api.get(PATH).unwrap()["spec"].clone();
    assert_eq!((&spec["holderIdentity"], &spec["leaseDurationSeconds"]), (&json!(""), &json!(1)));
}

#[tokio::test(start_paused = true)]
async fn a_successor_leads_at_once_when_the_lease_is_given_up() {
    let api = Arc::new(FakeApi::default());
    let mut first = Bench::start(&api, "first");
    first.leads().await;
    let mut second = Bench::start(&api, "second");
    second.until(|standing| *standing == Standing::Standby { holder: Some("first".into()) }).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert!(second.gate.permit().is_err() && first.gate.permit().is_ok());
    first.release.cancel();
    assert_eq!(first.outcome().await, Outcome::Released);
    let since = second.clock.now();
    second.leads().await;
    assert!(since.until(second.clock.now()) <= Duration::from_secs(2), "one retry period");
    assert_eq!(second.spec()["leaseTransitions"], 1);
}

#[rstest::rstest]
#[case::distant_past("2001-01-01T00:00:00.000000Z")]
#[case::distant_future("2101-01-01T00:00:00.000000Z")]
#[tokio::test(start_paused = true)]
async fn a_dead_holders_lease_is_taken_after_its_duration_by_our_own_clock(#[case] renewed: &str) {
    let api = Arc::new(FakeApi::default());
    api.put(PATH, others(renewed));
    let mut bench = Bench::start(&api, "me");
    let since = bench.clock.now();
    bench.leads().await;
    let waited = since.until(bench.clock.now());
    assert!((15..=18).contains(&waited.as_secs()), "{waited:?}");
    let spec = bench.spec();
    assert_eq!((&spec["holderIdentity"], &spec["leaseTransitions"]), (&json!("me"), &json!(4)));
    assert_eq!(api.get(PATH).unwrap()["metadata"]["labels"]["team"], "a", "what others put there stays");
}

#[tokio::test(start_paused = true)]
async fn an_edit_by_somebody_else_is_read_and_survived() {
    let api = Arc::new(FakeApi::default());
    let mut bench = Bench::start(&api, "me");
    bench.leads().await;
    let mut lease = api.get(PATH).unwrap();
    lease["metadata"]["labels"] = json!({ "team": "a" });
    api.put(PATH, lease);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(bench.gate.permit().is_ok());
    let lease = api.get(PATH).unwrap();
    assert_eq!(
        (&lease["metadata"]["labels"]["team"], &lease["spec"]["holderIdentity"]),
        (&json!("a"), &json!("me"))
    );
}

#[tokio::test(start_paused = true)]
async fn who_finds_another_holder_has_lost_for_ever() {
    let api = Arc::new(FakeApi::default());
    let mut bench = Bench::start(&api, "me");
    bench.leads().await;
    api.put(PATH, others("2026-01-01T00:00:00.000000Z"));
    let since = bench.clock.now();
    assert_eq!(bench.outcome().await, Outcome::Taken("other".into()));
    assert!(since.until(bench.clock.now()) <= Duration::from_secs(2));
    bench.gate.extend(bench.clock.now() + Duration::from_mins(1));
    assert!(bench.gate.permit().is_err(), "for ever");
    assert_eq!(api.get(PATH).unwrap()["spec"]["holderIdentity"], "other", "not overwritten");
    let text = bench.metrics.encode().unwrap();
    assert!(text.contains(r#"leader_election_master_status{name="thing-operator.ballast.dev"} 0"#), "{text}");
}

#[tokio::test(start_paused = true)]
async fn without_the_api_server_it_ends_when_it_may_no_longer_act() {
    let api = Arc::new(FakeApi::default());
    let mut bench = Bench::start(&api, "me");
    bench.leads().await;
    api.silence(true);
    let since = bench.clock.now();
    assert_eq!(bench.outcome().await, Outcome::Expired);
    let lasted = since.until(bench.clock.now());
    assert!((9..=10).contains(&lasted.as_secs()), "{lasted:?} after the renewal was sent");
    assert!(bench.gate.permit().is_err());
}

#[tokio::test(start_paused = true)]
async fn refused_requests_end_it_as_silence_does() {
    let api = Arc::new(FakeApi::default());
    let mut bench = Bench::start(&api, "me");
    bench.leads().await;
    api.refuse(Some(PATH));
    assert_eq!(bench.outcome().await, Outcome::Expired);
    assert!(bench.gate.permit().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_ends_nobody() {
    let api = Arc::new(FakeApi::default());
    let mut bench = Bench::start(&api, "me");
    bench.leads().await;
    for _ in 0..5 {
        api.silence(true);
        tokio::time::sleep(Duration::from_millis(4_700)).await;
        api.silence(false);
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert!(bench.gate.permit().is_ok() && !bench.running.is_finished());
    }
    assert_eq!(bench.spec()["leaseTransitions"], 0);
}

#[tokio::test(start_paused = true)]
async fn giving_up_does_not_wait_for_an_api_server_that_is_away() {
    let api = Arc::new(FakeApi::default());
    let mut bench = Bench::start(&api, "me");
    bench.leads().await;
    api.silence(true);
    bench.release.cancel();
    let since = bench.clock.now();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(
        !bench.running.is_finished() && bench.gate.permit().is_err(),
        "closed before the lease is given up"
    );
    assert_eq!(bench.outcome().await, Outcome::NotReleased);
    assert!(since.until(bench.clock.now()) <= Duration::from_secs(5));
    assert!(bench.gate.permit().is_err());
}
