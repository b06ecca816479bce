//! What a specification names outside of itself: an image, a storage class, zones, and who may connect.
//!
//! The API server would refuse the objects that they get into, without saying which field of the resource it was.

use ballast_core::{build::network_policy, invalid::Invalid, label, name};
use k8s_openapi::api::networking::v1::NetworkPolicyPeer;

use crate::api::EtcdClusterSpec;

/// Reports every name that cannot be one.
pub(crate) fn check(spec: &EtcdClusterSpec, invalid: &mut Vec<Invalid>) {
    check_zones(&spec.zones, invalid);
    check_peers(&spec.network_policy.clients_from, invalid);
    check_names(spec, invalid);
}

fn check_zones(zones: &[String], invalid: &mut Vec<Invalid>) {
    for (index, zone) in zones.iter().enumerate() {
        if zone.is_empty() {
            invalid.push(Invalid::new(format!("spec.zones[{index}]"), "must not be empty"));
        } else if zones[..index].contains(zone) {
            invalid.push(Invalid::new(format!("spec.zones[{index}]"), format!("{zone} is listed twice")));
        } else if let Err(message) = label::check_value(zone) {
            invalid.push(Invalid::new(format!("spec.zones[{index}]"), message));
        }
    }
}

fn check_peers(peers: &[NetworkPolicyPeer], invalid: &mut Vec<Invalid>) {
    for (index, peer) in peers.iter().enumerate() {
        for (field, message) in network_policy::peer_faults(peer) {
            invalid.push(Invalid::new(format!("spec.networkPolicy.clientsFrom[{index}]{field}"), message));
        }
    }
}

fn check_names(spec: &EtcdClusterSpec, invalid: &mut Vec<Invalid>) {
    if let Some(image) = spec.image.as_deref().filter(|image| !name::is_image_repository(image)) {
        invalid.push(Invalid::new(
            "spec.image",
            format!("{image:?} is no image without a tag, such as registry.example.com:5000/mirror/etcd"),
        ));
    }
    if let Some(class) = spec.storage.storage_class_name.as_deref().filter(|class| !name::is_subdomain(class))
    {
        invalid.push(Invalid::new(
            "spec.storage.storageClassName",
            format!("{class:?} is no name of a StorageClass: small letters, digits, \"-\" and \".\""),
        ));
    }
}
