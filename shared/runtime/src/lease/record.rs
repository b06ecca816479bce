//! What stands in a Lease (coordination.k8s.io/v1). Pure.
//!
//! Whatever else somebody put into the object is kept.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};

use super::timing::Timing;

/// Who holds the lease, if anybody does.
pub(super) fn holder(lease: &Lease) -> Option<&str> {
    spec(lease).and_then(|spec| spec.holder_identity.as_deref()).filter(|holder| !holder.is_empty())
}

/// How long it is left alone after a renewal was seen: what its holder promised. Unknown is `otherwise`.
pub(super) fn duration(lease: &Lease, otherwise: Duration) -> Duration {
    let seconds = spec(lease).and_then(|spec| spec.lease_duration_seconds).unwrap_or(0);
    u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).map_or(otherwise, Duration::from_secs)
}

/// The object's version, without which nothing is replaced.
pub(super) fn version(lease: &Lease) -> Option<&str> {
    lease.metadata.resource_version.as_deref().filter(|version| !version.is_empty())
}

/// `lease`, taken over or renewed by `identity`. `wall` is for people only.
pub(super) fn held(lease: &Lease, identity: &str, timing: &Timing, wall: Timestamp) -> Lease {
    let mut lease = lease.clone();
    let renewed = holder(&lease) == Some(identity);
    let had_holder_once = lease.spec.as_ref().is_some_and(|spec| spec.acquire_time.is_some());
    let spec = lease.spec.get_or_insert_default();
    if !renewed {
        let before = spec.lease_transitions.unwrap_or(0);
        spec.lease_transitions = Some(if had_holder_once { before.saturating_add(1) } else { before });
        spec.acquire_time = Some(MicroTime(wall));
        spec.holder_identity = Some(identity.to_owned());
    }
    spec.lease_duration_seconds = Some(timing.lease_seconds());
    spec.renew_time = Some(MicroTime(wall));
    lease
}

/// `lease`, given up: nobody holds it, and whoever sees it need not wait.
pub(super) fn released(lease: &Lease, wall: Timestamp) -> Lease {
    let mut lease = lease.clone();
    let spec = lease.spec.get_or_insert_default();
    // Empty and not absent, and a second and not nothing: so do the components of Kubernetes, which validates both.
    spec.holder_identity = Some(String::new());
    spec.lease_duration_seconds = Some(1);
    spec.renew_time = Some(MicroTime(wall));
    lease
}

fn spec(lease: &Lease) -> Option<&LeaseSpec> {
    lease.spec.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing() -> Timing {
        Timing::new(Duration::from_secs(15), Duration::from_secs(10), Duration::from_secs(2)).unwrap()
    }

    fn wall(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn transitions_count_changes_of_the_holder() {
        let first = held(&Lease::default(), "a", &timing(), wall(1));
        let spec = |lease: &Lease| lease.spec.clone().unwrap();
        assert_eq!(
            (spec(&first).lease_transitions, spec(&first).lease_duration_seconds),
            (Some(0), Some(15))
        );
        let renewed = held(&first, "a", &timing(), wall(2));
        assert_eq!(spec(&renewed).lease_transitions, Some(0));
        assert_eq!(spec(&renewed).acquire_time, Some(MicroTime(wall(1))));
        assert_eq!(spec(&renewed).renew_time, Some(MicroTime(wall(2))));
        let free = released(&renewed, wall(3));
        assert_eq!((holder(&free), spec(&free).holder_identity.as_deref()), (None, Some("")));
        assert_eq!(duration(&free, Duration::ZERO), Duration::from_secs(1));
        let taken = held(&free, "b", &timing(), wall(4));
        assert_eq!((holder(&taken), spec(&taken).lease_transitions), (Some("b"), Some(1)));
        assert_eq!(spec(&taken).acquire_time, Some(MicroTime(wall(4))));
    }

    #[test]
    fn what_others_put_into_the_object_stays() {
        let mut lease = Lease::default();
        lease.metadata.resource_version = Some("7".into());
        lease.metadata.labels = Some([("team".to_owned(), "a".to_owned())].into());
        let taken = held(&lease, "a", &timing(), wall(1));
        assert_eq!(taken.metadata, lease.metadata);
    }

    #[test]
    fn a_duration_that_makes_no_sense_is_unknown() {
        let mut lease = held(&Lease::default(), "a", &timing(), wall(1));
        for seconds in [None, Some(0), Some(-3)] {
            lease.spec.as_mut().unwrap().lease_duration_seconds = seconds;
            assert_eq!(duration(&lease, Duration::from_secs(15)), Duration::from_secs(15));
        }
    }
}
