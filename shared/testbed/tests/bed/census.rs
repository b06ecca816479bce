//! The census against the real API server.

use anyhow::Result;
use ballast_testbed::census::{Census, Count, Difference, Run, compare, kinds};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::bed;

/// Makes an object whose name and data hold what differs from run to run; `twice` makes it, deletes it, makes it again.
async fn work(id: &str, twice: bool, value: &str) -> Result<Run> {
    let namespace = bed().namespace("census").await?;
    let census = Census::start(bed().client(), &namespace, kinds()).await?;
    let maps = Api::<ConfigMap>::namespaced(bed().client().clone(), &namespace);
    let name = format!("config-{id}");
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": name}, "data": {
        "host": format!("m-0.{namespace}.svc"), "id": id, "value": value}}))?;
    for time in 0..=u8::from(twice) {
        if time > 0 {
            maps.delete(&name, &DeleteParams::default()).await?;
        }
        maps.create(&PostParams::default(), &map).await?;
    }
    census.run().await
}

#[test]
fn one_extra_creation_is_noticed_although_nothing_of_it_is_left() -> Result<()> {
    bed().block_on(async {
        let reference = [work("0a1b2c3d", false, "v").await?, work("99887766", false, "v").await?];
        assert_eq!(reference[0].counts["ConfigMap/config-*"], Count { created: 1, deleted: 0 });
        assert_eq!(compare(&reference, &work("5f5f5f5f", false, "v").await?), []);
        let found = compare(&reference, &work("5e5e5e5e", true, "v").await?);
        let object = "ConfigMap/config-*".to_owned();
        assert_eq!(
            found,
            [
                Difference::Created { object: object.clone(), expected: 1..=1, found: 2 },
                Difference::Deleted { object, expected: 0..=0, found: 1 },
            ]
        );
        let other = compare(&reference, &work("5d5d5d5d", false, "w").await?);
        assert!(
            matches!(other.as_slice(), [Difference::Field { path, .. }] if path == "/data/value"),
            "{other:?}"
        );
        Ok(())
    })
}
