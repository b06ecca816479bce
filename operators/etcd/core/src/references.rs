//! What a specification names outside of itself: an image, a storage class, zones, and who may connect.
//!
//! The API server would refuse the objects that they get into, without saying which field of the resource it was.

use ballast_core::{build::network_policy, invalid::Invalid, name, zone};
use k8s_openapi::api::networking::v1::NetworkPolicyPeer;

use crate::api::EtcdClusterSpec;

/// Reports every name that cannot be one.
pub(crate) fn check(spec: &EtcdClusterSpec, invalid: &mut Vec<Invalid>) {
    invalid.extend(zone::faults(&spec.zones, "spec.zones"));
    check_peers(&spec.network_policy.clients_from, invalid);
    check_names(spec, invalid);
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
