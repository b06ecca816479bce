//! The proxy's kills and faults, seen by a plain client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ballast_testbed::proxy::{ApiProxy, Class, Disturbance, Fault, Moment, Point, Reading};
use ballast_testbed::wait;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use crate::bed;

/// A client behind a proxy of its own, in a namespace of its own.
pub struct Behind {
    pub proxy: ApiProxy,
    pub client: Client,
    pub namespace: String,
    pub kills: Arc<AtomicUsize>,
}

impl Behind {
    pub async fn new(about: &str) -> Result<Self> {
        let kills = Arc::new(AtomicUsize::new(0));
        let counted = kills.clone();
        let kill = Arc::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let proxy = ApiProxy::start(bed().control_plane(), kill).await?;
        let client = ballast_testbed::client(proxy.kubeconfig()).await?;
        Ok(Self { proxy, client, namespace: bed().namespace(about).await?, kills })
    }

    /// ConfigMaps, through the proxy.
    pub fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// ConfigMaps as they really are.
    pub fn real(&self) -> Api<ConfigMap> {
        Api::namespaced(bed().client().clone(), &self.namespace)
    }

    pub async fn create(&self, name: &str) -> kube::Result<ConfigMap> {
        self.maps().create(&PostParams::default(), &map(name)).await
    }
}

pub fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"x": "1"}})).unwrap()
}

pub fn object(number: usize) -> Point {
    Point { class: Class::Object, number }
}

#[test]
fn writes_are_numbered_by_class_and_answers_recorded() -> Result<()> {
    bed().block_on(async {
        let behind = Behind::new("record").await?;
        assert_eq!(behind.proxy.quiet_for(), None);
        behind.create("a").await?;
        let again = behind.create("a").await.expect_err("it exists");
        assert!(matches!(again, kube::Error::Api(status) if status.code == 409));
        let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": behind.namespace}});
        let events =
            Api::<k8s_openapi::api::core::v1::Event>::namespaced(behind.client.clone(), &behind.namespace);
        events.create(&PostParams::default(), &serde_json::from_value(event)?).await?;
        behind.maps().list(&ListParams::default()).await?;
        let writes: Vec<_> =
            behind.proxy.writes().into_iter().map(|write| (write.point, write.verb, write.code)).collect();
        let event = Point { class: Class::Event, number: 1 };
        let post = || "POST".to_owned();
        assert_eq!(
            writes,
            [(object(1), post(), Some(201)), (object(2), post(), Some(409)), (event, post(), Some(201))]
        );
        assert!(behind.proxy.quiet_for().is_some_and(|quiet| quiet < crate::DEADLINE));
        let reads = behind.proxy.reads();
        assert!(reads.iter().any(|read| read.reading == Reading::List && read.path.ends_with("/configmaps")));
        Ok(())
    })
}

#[test]
fn a_kill_before_a_write_leaves_it_undone() -> Result<()> {
    bed().block_on(async {
        let behind = Behind::new("before").await?;
        behind.proxy.disturb(vec![Disturbance::Kill(Moment::Before, object(2))]);
        behind.create("a").await?;
        behind.create("b").await.expect_err("nobody answers");
        assert_eq!(behind.kills.load(Ordering::SeqCst), 1);
        assert_eq!(behind.proxy.kills(), [(Moment::Before, object(2))]);
        assert!(behind.real().get_opt("b").await?.is_none());
        behind.create("b").await.context("only once")?;
        Ok(())
    })
}

#[test]
fn a_kill_after_a_write_leaves_it_done_and_unanswered() -> Result<()> {
    bed().block_on(async {
        let behind = Behind::new("after").await?;
        behind.proxy.disturb(vec![Disturbance::Kill(Moment::After, object(1))]);
        behind.create("a").await.expect_err("nobody answers");
        assert_eq!(behind.kills.load(Ordering::SeqCst), 1);
        assert!(behind.real().get_opt("a").await?.is_some());
        assert_eq!(behind.proxy.writes()[0].code, Some(201));
        Ok(())
    })
}

#[test]
fn ordered_faults_are_what_the_client_gets() -> Result<()> {
    bed().block_on(async {
        let behind = Behind::new("faults").await?;
        let faults = [
            (Fault::Conflict, Some(409)),
            (Fault::TooManyRequests(1), Some(429)),
            (Fault::InternalError, Some(500)),
            (Fault::Unavailable, Some(503)),
            (Fault::Unsent, None),
        ];
        for (number, (fault, code)) in faults.into_iter().enumerate() {
            let at = object(behind.proxy.writes().len() + 1);
            behind.proxy.disturb(vec![Disturbance::Answer(at, fault)]);
            let name = format!("a{number}");
            let error = behind.create(&name).await.expect_err("it is told to fail");
            let got = match &error {
                kube::Error::Api(status) => Some(status.code),
                _ => None,
            };
            assert_eq!(got, code, "{fault:?}: {error}");
            assert!(behind.real().get_opt(&name).await?.is_none(), "{fault:?} does nothing");
        }
        let at = object(behind.proxy.writes().len() + 1);
        behind.proxy.disturb(vec![Disturbance::Answer(at, Fault::Unanswered)]);
        behind.create("b").await.expect_err("nobody answers");
        assert!(behind.real().get_opt("b").await?.is_some(), "but it is done");
        assert_eq!(behind.kills.load(Ordering::SeqCst), 0);
        Ok(())
    })
}

#[test]
fn a_throttled_client_is_told_when_to_come_back() -> Result<()> {
    bed().block_on(async {
        let behind = Behind::new("throttle").await?;
        behind.proxy.disturb(vec![Disturbance::Answer(object(1), Fault::TooManyRequests(7))]);
        let path = format!("/api/v1/namespaces/{}/configmaps", behind.namespace);
        let body = kube::client::Body::from(serde_json::to_vec(&map("a"))?);
        let request = http::Request::post(path).header("content-type", "application/json").body(body)?;
        let response = behind.client.send(request).await?;
        assert_eq!(response.status().as_u16(), 429);
        assert_eq!(response.headers().get("retry-after").and_then(|value| value.to_str().ok()), Some("7"));
        Ok(())
    })
}

#[test]
fn faults_come_by_chance_and_the_rest_goes_through() -> Result<()> {
    bed().block_on(async {
        let behind = Behind::new("chance").await?;
        let faults = vec![Fault::Unavailable, Fault::Conflict];
        behind.proxy.disturb(vec![
            Disturbance::Answers { seed: 5, one_in: 3, faults },
            Disturbance::Delay { seed: 5, up_to: Duration::from_millis(5) },
        ]);
        let mut failed = 0;
        for number in 0..30 {
            failed += usize::from(behind.create(&format!("a{number}")).await.is_err());
        }
        assert!((1..30).contains(&failed), "{failed}");
        assert_eq!(behind.real().list(&ListParams::default()).await?.items.len(), 30 - failed);
        Ok(())
    })
}

#[test]
fn lists_are_stale_once_after_a_kill_and_watches_catch_up() -> Result<()> {
    bed().block_on(async {
        let behind = Behind::new("stale").await?;
        let hold = Duration::from_millis(300);
        behind.proxy.disturb(vec![
            Disturbance::Stale { before: object(2), hold },
            Disturbance::Kill(Moment::After, object(3)),
        ]);
        behind.create("a").await?;
        let change = Patch::Merge(json!({"data": {"x": "2"}}));
        behind.maps().patch("a", &PatchParams::default(), &change).await?;
        behind.create("b").await.expect_err("killed");
        let present = behind.maps().list(&ListParams::default()).await?;
        assert_eq!(present.items.len(), 2, "who asks for the present gets it");
        let all = ListParams::default().limit(500);
        let stale = behind.maps().list(&all).await?;
        let names: Vec<_> = stale.items.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["a"], "as it was before the second write");
        assert_eq!(stale.items[0].data.as_ref().unwrap()["x"], "1");
        assert_eq!(behind.maps().get("a").await?.data.unwrap()["x"], "2", "one object is read as it is");
        let begun = tokio::time::Instant::now();
        let version = stale.metadata.resource_version.unwrap();
        let caught_up = crate::watches::first_events(&behind.maps(), &version, 2).await?;
        assert_eq!(caught_up, ["MODIFIED a", "ADDED b"]);
        assert!(begun.elapsed() < crate::DEADLINE);
        assert_eq!(behind.maps().list(&all).await?.items.len(), 2, "the next list is fresh");
        Ok(())
    })
}

#[test]
fn lists_come_in_another_order() -> Result<()> {
    bed().block_on(async {
        let behind = Behind::new("shuffle").await?;
        for number in 0..8 {
            behind.create(&format!("a{number}")).await?;
        }
        behind.proxy.disturb(vec![Disturbance::ShuffleLists { seed: 1 }]);
        let names = |list: kube::core::ObjectList<ConfigMap>| -> Vec<String> {
            list.items.iter().map(ResourceExt::name_any).collect()
        };
        let real = names(behind.real().list(&ListParams::default()).await?);
        let mut shuffled = names(behind.maps().list(&ListParams::default()).await?);
        assert_ne!(shuffled, real);
        shuffled.sort();
        assert_eq!(shuffled, real);
        Ok(())
    })
}

/// A deletion of a certain object that is under way while another takes its name; whether that one is still there.
async fn late_deletion(without_preconditions: bool) -> Result<bool> {
    let behind = Behind::new("late").await?;
    let first = behind.create("a").await?;
    let path = format!("/api/v1/namespaces/{}/configmaps/a", behind.namespace);
    let mut all = vec![Disturbance::Hold { verb: "DELETE", path }];
    all.extend(without_preconditions.then_some(Disturbance::WithoutPreconditions));
    behind.proxy.disturb(all.clone());
    let exactly = DeleteParams {
        preconditions: Some(Preconditions { uid: first.uid(), resource_version: None }),
        ..DeleteParams::default()
    };
    // Who sent it gives it up; it is under way all the same.
    let given_up =
        tokio::time::timeout(Duration::from_millis(500), behind.maps().delete("a", &exactly)).await;
    ensure!(given_up.is_err(), "it was not held: {given_up:?}");
    behind.real().delete("a", &DeleteParams::default()).await?;
    behind.real().create(&PostParams::default(), &map("a")).await?;
    behind.proxy.disturb(all.into_iter().skip(1).collect());
    wait::until(Duration::from_secs(30), "the deletion to arrive", || async {
        let arrived =
            behind.proxy.writes().iter().any(|write| write.verb == "DELETE" && write.code.is_some());
        Ok(arrived.then_some(()))
    })
    .await?;
    Ok(behind.real().get_opt("a").await?.is_some())
}

#[test]
fn a_deletion_is_held_back_and_its_preconditions_can_be_lost() -> Result<()> {
    bed().block_on(async {
        ensure!(late_deletion(false).await?, "what was meant was gone, and a successor was hit");
        ensure!(!late_deletion(true).await?, "the preconditions were not lost");
        Ok(())
    })
}
