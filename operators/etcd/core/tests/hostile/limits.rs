//! Large resources.

// Time is what is asked about here.
#![allow(clippy::disallowed_methods)]

use std::time::{Duration, Instant};

use ballast_core::object::Children;
use ballast_etcd_core::{
    api::EtcdCluster,
    build,
    observed::{self, Answers},
    plan, status,
    validate::validate,
};
use jiff::Timestamp;
use rstest::rstest;
use serde_json::Value;

use crate::{
    environment,
    places::{PLACES, Place, with},
    resource,
};

/// A pass up to its status, which is returned.
fn pass(resource: &EtcdCluster, error: &str) -> Value {
    let status = match validate(resource, &environment()) {
        Ok(desired) => {
            let observed = observed::observe(&desired, None, Children::default(), Answers::default());
            let plan = plan::plan(&desired, &observed, Timestamp::UNIX_EPOCH);
            build::everything(&desired);
            status::planned(resource, &desired, &observed, &plan, Some(error), Timestamp::UNIX_EPOCH)
        }
        Err(errors) => status::invalid(resource, &errors, Timestamp::UNIX_EPOCH),
    };
    serde_json::to_value(status).unwrap()
}

#[test]
fn long_texts_make_no_long_status() {
    for place in PLACES.iter() {
        for text in ["a".repeat(40_000), "\u{1b}".repeat(20_000), "a,".repeat(20_000)] {
            let Some(resource) = resource(with(place, &text)) else { continue };
            let size = pass(&resource, &text).to_string().len();
            assert!(size < 32 << 10, "{place:?}: the status has {size} bytes");
        }
    }
}

/// As large as the API server takes them: it stores at most 1.5 MiB.
#[rstest]
#[case::annotation(Place::Value("/spec/pod/template/metadata/annotations/note".to_owned()))]
#[case::argument(Place::Value("/spec/pod/template/spec/containers/1/args/0".to_owned()))]
#[case::setting(Place::Value("/spec/etcd/extraConfig/cors".to_owned()))]
#[case::setting_key(Place::Key("/spec/etcd/extraConfig".to_owned()))]
#[case::zone(Place::Value("/spec/zones/0".to_owned()))]
#[case::version(Place::Value("/spec/version".to_owned()))]
#[case::size(Place::Value("/spec/storage/size".to_owned()))]
#[case::duration(Place::Value("/spec/repair/restartAfter".to_owned()))]
fn the_largest_resources_cost_little(#[case] place: Place) {
    assert!(PLACES.contains(&place), "{place:?}");
    for text in ["a".repeat(1 << 20), "1".repeat(1 << 20), "1h".repeat(1 << 19)] {
        let resource = resource(with(&place, &text)).unwrap();
        let start = Instant::now();
        pass(&resource, "");
        // Far less than a second is what it takes; an unoptimised build on a busy machine gets ten.
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    }
}
