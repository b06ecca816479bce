//! Which node takes a pod. Pure.

use ballast_testkit::pod::required_zones;
use k8s_openapi::api::core::v1::Pod;

/// A node of the testbed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name of the node.
    pub node: String,
    /// Its zone.
    pub zone: String,
    /// Its address, as pods show it.
    pub address: String,
}

/// The nodes of every testbed: one in each of the zones a, b and c.
pub(crate) fn places() -> Vec<Place> {
    [("n1", "a"), ("n2", "b"), ("n3", "c")]
        .iter()
        .zip(1..)
        .map(|((node, zone), number)| Place {
            node: (*node).to_owned(),
            zone: (*zone).to_owned(),
            address: format!("10.0.0.{number}"),
        })
        .collect()
}

/// The emptiest node in the pod's zones; where its volume lies, if that is known.
///
/// # Errors
/// Why there is none, as a scheduler says it.
pub(crate) fn choose<'a>(
    places: &'a [Place],
    pod: &Pod,
    bound: Option<&str>,
    crowd: impl Fn(&str) -> usize,
) -> Result<&'a Place, String> {
    let zones = required_zones(pod);
    places
        .iter()
        .filter(|place| bound.is_none_or(|node| node == place.node))
        .filter(|place| zones.is_empty() || zones.contains(&place.zone))
        .min_by_key(|place| crowd(&place.node))
        .ok_or_else(|| match bound {
            Some(node) => format!(
                "0/{} nodes are available: the volume is on {node}, the pod wants zone {}",
                places.len(),
                zones.join(" or ")
            ),
            None => format!("0/{} nodes are available: none in zone {}", places.len(), zones.join(" or ")),
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(zones: &[&str]) -> Pod {
        let terms = json!([{"matchExpressions": [
            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": zones}]}]);
        let affinity = if zones.is_empty() {
            json!({})
        } else {
            json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}})
        };
        serde_json::from_value(json!({"spec": {"containers": [], "affinity": affinity}})).expect("a pod")
    }

    #[test]
    fn the_emptiest_node_of_the_zones_is_chosen() {
        let places = places();
        let crowd = |node: &str| if node == "n2" { 0 } else { 3 };
        let name = |zones: &[&str], bound| {
            choose(&places, &pod(zones), bound, crowd).map(|place| place.node.clone())
        };
        assert_eq!(name(&[], None).as_deref(), Ok("n2"));
        assert_eq!(name(&["a"], None).as_deref(), Ok("n1"));
        assert_eq!(name(&["a", "c"], Some("n3")).as_deref(), Ok("n3"));
        assert!(name(&["d"], None).is_err_and(|why| why.contains("zone d")));
        assert!(name(&["a"], Some("n3")).is_err_and(|why| why.contains("n3")));
    }
}
