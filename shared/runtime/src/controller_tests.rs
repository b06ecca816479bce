use serde_json::json;

use super::*;
use crate::{cache::Caches, fake_api::FakeApi, gate::Gate, metrics::Metrics, operator_tests::ThingOperator};

struct Bench {
    api: Arc<FakeApi>,
    gate: Arc<Gate>,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
    stop: CancellationToken,
    standing: watch::Sender<Standing>,
    running: tokio::task::JoinHandle<bool>,
}

impl Bench {
    fn start(operator: ThingOperator, names: &[&str]) -> Self {
        let api = Arc::new(FakeApi::default());
        for name in names {
            let thing = json!({
                "apiVersion": "test.ballast.dev/v1alpha1", "kind": "Thing",
                "metadata": { "name": name, "generation": 1 },
                "spec": { "size": if *name == "unreadable" { json!([]) } else { "1Gi".into() } },
            });
            api.put(&format!("/apis/test.ballast.dev/v1alpha1/namespaces/n/things/{name}"), thing);
        }
        let (gate, metrics, health) =
            (Arc::new(Gate::open()), Arc::new(Metrics::new("thing", "1")), Arc::new(Health::default()));
        let (client, resync) = (api.client(), Duration::from_mins(5));
        let caches = Arc::new(Caches::default());
        let time = Arc::default();
        let pipeline =
            Pipeline::new(operator, client.clone(), caches, gate.clone(), metrics.clone(), time, resync);
        let stop = CancellationToken::new();
        let (standing, watched) = watch::channel(Standing::Leading);
        let controller = Controller::new(pipeline, client, vec!["n".into()], health.clone(), watched);
        let running = tokio::spawn(controller.run(stop.clone()));
        Self { api, gate, metrics, health, stop, standing, running }
    }

    fn applied(&self, name: &str) -> bool {
        self.api.get(&format!("/api/v1/namespaces/n/configmaps/{name}")).is_some()
    }

    async fn until(&self, what: impl Fn(&Self) -> bool) {
        let reached = async {
            while !what(self) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), reached).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn it_fills_the_caches_works_and_stops_in_order() {
    let bench = Bench::start(ThingOperator::default(), &["a", "b"]);
    assert!(!bench.health.ready());
    bench.until(|bench| bench.applied("a") && bench.applied("b")).await;
    assert!(bench.health.ready());
    bench.stop.cancel();
    assert!(bench.running.await.unwrap(), "nothing was given up");
    assert!(!bench.health.ready());
    assert!(bench.gate.permit().is_err());
    assert_eq!(bench.health.dead(), None);
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_panics_is_counted_and_stops_no_other() {
    let bench = Bench::start(ThingOperator::default(), &["panic", "z"]);
    let counted = r#"controller_runtime_reconcile_errors_total{controller="thing"} 2"#;
    bench.until(|bench| bench.applied("z") && bench.metrics.encode().unwrap().contains(counted)).await;
    assert!(!bench.applied("panic"));
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_cannot_be_read_stops_no_other() {
    let bench = Bench::start(ThingOperator::default(), &["a", "unreadable", "z"]);
    let told = r#"ballast_unparsable{application="thing",namespace="n",name="unreadable"} 1"#;
    bench
        .until(|bench| {
            bench.applied("a") && bench.applied("z") && bench.metrics.encode().unwrap().contains(told)
        })
        .await;
    assert!(!bench.applied("unreadable"));
}

#[tokio::test(start_paused = true)]
async fn stopping_waits_for_a_hung_pass_no_longer_than_its_deadline() {
    let bench = Bench::start(ThingOperator { hung: true, ..Default::default() }, &["a"]);
    bench
        .until(|bench| bench.metrics.encode().unwrap().contains(r#"active_workers{controller="thing"} 1"#))
        .await;
    let start = Instant::now();
    bench.stop.cancel();
    let ended = bench.running.await.unwrap();
    assert!(!ended || start.elapsed() < DRAIN, "who gives passes up says so");
    assert!(start.elapsed() <= DRAIN, "{:?}", start.elapsed());
    assert!(bench.gate.permit().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_standby_is_ready_once_it_has_seen_the_lease_and_acts_when_it_leads() {
    let bench = Bench::start(ThingOperator::default(), &["a"]);
    bench.standing.send_replace(Standing::Unknown);
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(!bench.health.ready(), "who cannot read the lease cannot take over");
    assert_eq!(bench.health.dead(), None);
    bench.standing.send_replace(Standing::Standby { holder: Some("other".into()) });
    bench.until(|bench| bench.health.ready()).await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(bench.health.standby() && !bench.applied("a"));
    assert!(bench.api.taken_log().iter().all(|line| line.starts_with("LIST")), "a standby only watches");
    bench.standing.send_replace(Standing::Leading);
    bench.until(|bench| bench.applied("a")).await;
    assert!(bench.health.ready() && !bench.health.standby());
    bench.stop.cancel();
    assert!(bench.running.await.unwrap());
}
