use std::sync::atomic::Ordering;

use ballast_core::object::ObjectRef;
use kube::{core::DeserializeGuard, runtime::watcher::Event};
use serde_json::{Value, json};

use super::*;
use crate::{
    fake_api::FakeApi,
    operator_tests::{Thing, ThingOperator},
};

const THING: &str = "/apis/test.ballast.dev/v1alpha1/namespaces/n/things/a";
const WISH: &str = "/apis/test.ballast.dev/v1alpha1/namespaces/n/wishes/w";
const CONFIG_MAP: &str = "/api/v1/namespaces/n/configmaps/a";

struct Bench {
    api: Arc<FakeApi>,
    pipeline: Pipeline<ThingOperator>,
}

fn key() -> ResourceKey {
    ResourceKey { namespace: "n".into(), name: "a".into() }
}

impl Bench {
    fn new(operator: ThingOperator, spec: &Value) -> Self {
        let api = Arc::new(FakeApi::default());
        api.put(
            THING,
            json!({
                "apiVersion": "test.ballast.dev/v1alpha1", "kind": "Thing",
                "metadata": { "name": "a", "uid": "me", "generation": 1 }, "spec": spec,
            }),
        );
        let pipeline = Pipeline::new(
            operator,
            api.client(),
            Arc::new(Caches::with_companions(ThingOperator::companions())),
            Arc::new(Gate::open()),
            Arc::new(Metrics::new("thing", "1")),
            Arc::default(),
            Duration::from_mins(5),
        );
        let bench = Self { api, pipeline };
        bench.watch();
        bench
    }

    fn good(operator: ThingOperator) -> Self {
        Self::new(operator, &json!({ "size": "1Gi", "replicas": 3 }))
    }

    /// The watches deliver what there is.
    fn watch(&self) {
        let caches = &self.pipeline.caches;
        if let Some(thing) = self.api.get(THING) {
            let thing: DeserializeGuard<Thing> = serde_json::from_value(thing).unwrap();
            caches.resources.take(0, None, Event::Apply(thing));
        }
        if let Some(config_map) = self.api.get(CONFIG_MAP) {
            caches.config_maps.take(0, None, Event::Apply(serde_json::from_value(config_map).unwrap()));
        }
        if let Some(wish) = self.api.get(WISH) {
            caches.companions[0].1.take(0, None, Event::Apply(serde_json::from_value(wish).unwrap()));
        }
    }

    async fn pass(&self) -> Ended {
        let turn = self.pipeline.lanes.enter(&key()).await;
        self.pipeline.pass(&key(), &turn).await
    }

    fn state(&self) -> String {
        self.api.get(THING).unwrap()["status"]["state"].as_str().unwrap_or_default().to_owned()
    }

    fn pokes(&self) -> usize {
        self.pipeline.operator.pokes.load(Ordering::SeqCst)
    }

    /// What was written since the last call.
    fn writes(&self) -> Vec<String> {
        let log = self.api.taken_log();
        log.into_iter().filter(|line| !line.starts_with("GET") && !line.starts_with("LIST")).collect()
    }

    /// Events are published in the background: until there are as many as expected.
    async fn events(&self, count: usize) -> Vec<String> {
        let enough = async {
            while self.api.events().len() < count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), enough).await.unwrap();
        self.api.events()
    }
}

#[tokio::test]
async fn a_pass_applies_what_is_missing_and_the_next_one_is_quiet() {
    let bench = Bench::good(ThingOperator::default());
    assert_eq!(bench.pass().await.next, Some(Duration::from_secs(1)));
    let log = bench.api.taken_log();
    assert_eq!(log.iter().filter(|line| line.starts_with("LIST")).count(), 8, "{log:?}");
    assert_eq!(log[log.len() - 3..], ["GET a", "PATCH a", "PATCH status"], "{log:?}");
    assert_eq!(bench.api.get(CONFIG_MAP).unwrap()["data"]["replicas"], "3");
    assert_eq!(bench.state(), "fine");

    bench.watch();
    let ended = bench.pass().await;
    assert!(ended.next.unwrap() >= Duration::from_secs(270), "{ended:?}");
    assert_eq!(bench.api.taken_log(), Vec::<String>::new(), "no write and no read");
}

fn wish(of: &str) -> Value {
    json!({
        "apiVersion": "test.ballast.dev/v1alpha1", "kind": "Wish",
        "metadata": { "name": "w", "uid": "wish", "generation": 1 }, "spec": { "cluster": of, "text": "more" },
    })
}

#[tokio::test]
async fn a_companion_is_seen_by_the_passes_of_its_cluster_and_told_once() {
    let bench = Bench::good(ThingOperator::default());
    bench.api.put(WISH, wish("a"));
    bench.watch();
    bench.pass().await;
    assert_eq!(bench.api.get(WISH).unwrap()["status"]["answer"], "a: more");
    bench.watch();
    bench.api.taken_log();
    bench.pass().await;
    assert_eq!(bench.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_companion_of_another_cluster_is_not_seen() {
    let bench = Bench::good(ThingOperator::default());
    bench.api.put(WISH, wish("b"));
    bench.watch();
    bench.pass().await;
    assert_eq!(bench.api.get(WISH).unwrap()["status"], Value::Null);
    // Whoever looks live sees no more.
    bench.api.remove(CONFIG_MAP);
    bench.pass().await;
    assert_eq!(bench.api.get(WISH).unwrap()["status"], Value::Null);
}

#[tokio::test]
async fn a_companion_whose_cluster_does_not_exist_is_told_so() {
    let bench = Bench::good(ThingOperator::default());
    bench.api.put(WISH, wish("b"));
    bench.watch();
    let nobody = ResourceKey { namespace: "n".into(), name: "b".into() };
    let turn = bench.pipeline.lanes.enter(&nobody).await;
    bench.pipeline.pass(&nobody, &turn).await;
    assert_eq!(bench.api.get(WISH).unwrap()["status"]["answer"], "there is no such thing");
    bench.watch();
    bench.api.taken_log();
    bench.pipeline.pass(&nobody, &turn).await;
    assert_eq!(bench.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_cache_that_lags_behind_leads_to_reads_but_to_no_write() {
    let bench = Bench::good(ThingOperator::default());
    bench.pass().await;
    bench.api.taken_log();
    bench.pass().await;
    assert_eq!(bench.writes(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_waits_for_long_is_made_from_live_reads() {
    let bench = Bench::good(ThingOperator { blocked: true, ..Default::default() });
    bench.pass().await;
    bench.watch();
    bench.pass().await;
    // Nobody is told that it is gone.
    bench.api.remove(CONFIG_MAP);
    bench.api.taken_log();
    tokio::time::advance(Duration::from_secs(14)).await;
    bench.pass().await;
    assert_eq!(bench.api.taken_log(), Vec::<String>::new(), "not yet");
    tokio::time::advance(Duration::from_secs(2)).await;
    bench.pass().await;
    assert_eq!(bench.writes(), ["PATCH a"]);
}

#[tokio::test]
async fn an_invalid_resource_gets_a_status_and_nothing_else() {
    let bench = Bench::new(
        ThingOperator { poke: true, ..Default::default() },
        &json!({ "size": "1", "replicas": 0 }),
    );
    assert_eq!(bench.pass().await, Ended::AWAIT_CHANGE);
    assert_eq!(bench.api.taken_log(), ["PATCH status"]);
    assert_eq!(bench.state(), "spec.replicas: at least one");
}

#[tokio::test]
async fn applies_then_prunes_then_one_intent() {
    let old = ObjectRef { kind: Kind::Service, name: "old".into(), uid: "uid-old".into() };
    let bench = Bench::good(ThingOperator { poke: true, prune: vec![old], ..Default::default() });
    bench
        .api
        .put("/api/v1/namespaces/n/services/old", json!({ "metadata": { "name": "old", "uid": "uid-old" } }));
    bench.pass().await;
    assert_eq!(bench.writes(), ["PATCH a", "DELETE old", "PATCH status"]);
    assert_eq!(bench.pokes(), 1);
    assert_eq!(bench.events(1).await, ["Poke"]);
    bench.watch();
    bench.pass().await;
    assert_eq!((bench.pokes(), bench.api.events().len()), (2, 1), "the same intent is announced once");
}

#[tokio::test]
async fn a_failed_apply_stops_the_pass_and_is_told_once() {
    let bench = Bench::good(ThingOperator { poke: true, ..Default::default() });
    bench.api.refuse(Some(CONFIG_MAP));
    let first = bench.pass().await;
    assert_eq!(first.result, "error");
    assert_eq!(bench.pokes(), 0);
    assert_eq!(bench.state(), "cannot apply ConfigMap a: a quota is used up");
    bench.watch();
    let second = bench.pass().await;
    assert!(second.next > first.next, "{first:?} {second:?}");
    assert_eq!(bench.events(2).await, ["Poke", "ApplyFailed"]);
    bench.api.refuse(None);
    bench.watch();
    assert_eq!(bench.pass().await.result, "requeue_after");
    assert_eq!(bench.state(), "fine");
}

#[tokio::test]
async fn an_object_of_someone_else_is_never_taken() {
    let bench = Bench::good(ThingOperator { poke: true, ..Default::default() });
    let foreign =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "x": "y" } });
    bench.api.put(CONFIG_MAP, foreign);
    assert_eq!(bench.pass().await.result, "error");
    assert_eq!(bench.writes(), ["PATCH status"]);
    assert_eq!(bench.pokes(), 0);
    assert!(bench.state().starts_with("the name ConfigMap a is taken by "), "{}", bench.state());
}

#[tokio::test]
async fn what_the_live_resource_says_counts() {
    let bench = Bench::good(ThingOperator::default());
    let mut thing = bench.api.get(THING).unwrap();
    thing["spec"]["replicas"] = json!(5);
    bench.api.put(THING, thing.clone());
    bench.pass().await;
    assert_eq!(bench.api.get(CONFIG_MAP).unwrap()["data"]["replicas"], "5");

    for gone in [json!({ "uid": "another" }), json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" })] {
        let bench = Bench::good(ThingOperator { poke: true, ..Default::default() });
        let mut thing = bench.api.get(THING).unwrap();
        for (field, value) in gone.as_object().unwrap() {
            thing["metadata"][field] = value.clone();
        }
        bench.api.put(THING, thing);
        assert_eq!(bench.pass().await, Ended::AWAIT_CHANGE);
        assert_eq!(bench.writes(), Vec::<String>::new());
        assert_eq!(bench.pokes(), 0);
    }
}

#[tokio::test]
async fn waiting_is_not_an_error() {
    let bench = Bench::good(ThingOperator { poke: true, waiting: true, ..Default::default() });
    assert_eq!(bench.pass().await, Ended::after(Duration::from_secs(2)));
    assert_eq!(bench.state(), "fine");
    assert_eq!(bench.events(1).await, ["Poke"]);
    let metrics = bench.pipeline.metrics.encode().unwrap();
    assert!(metrics.contains(r#"predicate="application-accepts""#), "what is waited for is shown: {metrics}");
}

#[tokio::test]
async fn what_holds_back_is_looked_at_soon() {
    let bench = Bench::good(ThingOperator { blocked: true, ..Default::default() });
    bench.pass().await;
    bench.watch();
    assert_eq!(bench.pass().await, Ended::after(Duration::from_secs(5)));
    assert!(bench.pipeline.metrics.encode().unwrap().contains(r#"predicate="quorum""#));
    bench.api.remove(THING);
    let thing = bench.pipeline.caches.resources.named(&key(), "a").unwrap();
    bench.pipeline.caches.resources.take(0, None, Event::Delete(thing.as_ref().clone()));
    assert_eq!(bench.pass().await, Ended::AWAIT_CHANGE);
    assert!(!bench.pipeline.metrics.encode().unwrap().contains(r#"name="a""#));
}

#[tokio::test]
async fn a_closed_gate_lets_nothing_pass() {
    let bench = Bench::good(ThingOperator { poke: true, ..Default::default() });
    bench.pipeline.gate.close();
    assert_eq!(bench.pass().await, Ended::AWAIT_CHANGE);
    assert_eq!(bench.writes(), Vec::<String>::new());
    assert_eq!(bench.pokes(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_hung_pass_ends_at_its_deadline_and_writes_no_status() {
    let bench = Bench::good(ThingOperator { hung: true, ..Default::default() });
    let start = tokio::time::Instant::now();
    assert_eq!(bench.pass().await.result, "error");
    assert_eq!(start.elapsed(), DEADLINE);
    assert_eq!(bench.api.taken_log(), Vec::<String>::new());
    assert!(bench.pipeline.lanes.is_slow(&key()));
}

#[tokio::test]
async fn a_resource_that_cannot_be_read_is_told_once_and_left_alone() {
    let bench = Bench::good(ThingOperator { poke: true, ..Default::default() });
    let broken =
        json!({ "metadata": { "name": "a", "namespace": "n", "uid": "me" }, "spec": { "size": [] } });
    let broken: DeserializeGuard<Thing> = serde_json::from_value(broken).unwrap();
    assert!(broken.0.is_err());
    bench.pipeline.caches.resources.take(0, None, Event::Apply(broken));
    assert_eq!(bench.pass().await, Ended::AWAIT_CHANGE);
    assert_eq!(bench.pass().await, Ended::AWAIT_CHANGE);
    assert_eq!(bench.events(1).await, ["Unparsable"]);
    assert_eq!(bench.api.taken_log(), Vec::<String>::new());
    assert!(bench.pipeline.metrics.encode().unwrap().contains("ballast_unparsable{"));
}
