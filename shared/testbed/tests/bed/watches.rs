//! Watches through the proxy.

use anyhow::{Context, Result};
use ballast_testbed::proxy::Disturbance;
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::{Api, ResourceExt};
use serde_json::json;

use crate::proxy::Behind;
use crate::{DEADLINE, bed};

/// The first events of a watch, as type and name.
pub async fn first_events(maps: &Api<ConfigMap>, version: &str, count: usize) -> Result<Vec<String>> {
    let events = async {
        let mut events = maps.watch(&WatchParams::default(), version).await?.boxed();
        let mut all = vec![];
        while all.len() < count {
            all.push(match events.next().await.context("the watch ended")?? {
                WatchEvent::Added(map) => format!("ADDED {}", map.name_any()),
                WatchEvent::Modified(map) => format!("MODIFIED {}", map.name_any()),
                WatchEvent::Deleted(map) => format!("DELETED {}", map.name_any()),
                WatchEvent::Error(status) => format!("ERROR {}", status.code),
                WatchEvent::Bookmark(_) => continue,
            });
        }
        Ok(all)
    };
    tokio::time::timeout(DEADLINE, events).await.context("the watch is silent")?
}

async fn version(behind: &Behind) -> Result<String> {
    let list = behind.real().list(&ListParams::default()).await?;
    list.metadata.resource_version.context("a list has a version")
}

async fn change(behind: &Behind, name: &str, value: u32) -> Result<()> {
    let change = Patch::Merge(json!({"data": {"x": value.to_string()}}));
    behind.real().patch(name, &PatchParams::default(), &change).await?;
    Ok(())
}

#[test]
fn events_pass_one_by_one_while_the_watch_is_open() -> Result<()> {
    bed().block_on(async {
        let behind = Behind::new("watch").await?;
        let version = version(&behind).await?;
        let mut events = behind.maps().watch(&WatchParams::default(), &version).await?.boxed();
        for number in 0..3 {
            let name = format!("a{number}");
            behind.create(&name).await?;
            // Nothing else happens until it is delivered: it must not wait for more.
            let event = tokio::time::timeout(DEADLINE, events.next()).await?.context("the watch ended")??;
            assert!(matches!(event, WatchEvent::Added(map) if map.name_any() == name));
        }
        assert_eq!(behind.proxy.events()["ConfigMap/a1"], 1);
        Ok(())
    })
}

#[test]
fn one_event_is_hidden_and_the_next_is_not() -> Result<()> {
    bed().block_on(async {
        let behind = Behind::new("hide").await?;
        let hide = Disturbance::HideEvent { object: "ConfigMap/a".into(), change: 2 };
        behind.proxy.disturb(vec![hide]);
        let version = version(&behind).await?;
        behind.create("a").await?;
        change(&behind, "a", 2).await?;
        behind.create("b").await?;
        change(&behind, "a", 3).await?;
        let seen = first_events(&behind.maps(), &version, 3).await?;
        assert_eq!(seen, ["ADDED a", "ADDED b", "MODIFIED a"]);
        assert_eq!(behind.proxy.events()["ConfigMap/a"], 3);
        Ok(())
    })
}

#[test]
fn a_watch_ends_with_too_old_a_version() -> Result<()> {
    bed().block_on(async {
        let behind = Behind::new("gone").await?;
        behind.proxy.disturb(vec![Disturbance::EndWatches { seed: 1, one_in: 1 }]);
        let version = version(&behind).await?;
        behind.create("a").await?;
        assert_eq!(first_events(&behind.maps(), &version, 2).await?, ["ADDED a", "ERROR 410"]);
        assert!(first_events(&behind.maps(), &version, 3).await.is_err(), "nothing comes after it");
        Ok(())
    })
}
