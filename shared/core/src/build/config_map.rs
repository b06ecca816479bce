//! ConfigMaps: configuration, tickets and the bootstrap record.

use std::collections::BTreeMap;

use ballast_guard::ticket::{self, Ticket};
use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};

use super::{Cluster, labelled};
use crate::{
    bootstrap::{self, Record},
    hash, label,
    object::Children,
};

/// Value of [`label::PURPOSE`] on configuration.
pub const CONFIG: &str = "config";
/// Value of [`label::PURPOSE`] on tickets.
pub const TICKET: &str = "ticket";
/// The key of a ticket's text.
pub const TICKET_KEY: &str = ticket::FILE;

/// Immutable configuration, named `<cluster>-<role>-<hash>`.
///
/// The hash covers the resource's uid too, so that an earlier cluster with the same name has other objects.
pub fn hashed(cluster: &Cluster, role: &str, data: BTreeMap<String, String>) -> ConfigMap {
    let hash = hash::json_hash(&(&cluster.labels.uid, &data));
    let metadata = cluster.metadata(&format!("{}-{role}-{hash}", cluster.name()));
    ConfigMap {
        metadata: labelled(metadata, label::PURPOSE, CONFIG),
        data: Some(data),
        immutable: Some(true),
        ..ConfigMap::default()
    }
}

/// Configuration that is not `wanted`, and that no template and no pod names any more.
pub fn unused<'a>(children: &'a Children, wanted: &[String]) -> Vec<&'a ObjectMeta> {
    let mut used: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let templates = children.stateful_sets.iter().filter_map(|set| set.spec.as_ref()?.template.spec.as_ref());
    let pods = children.pods.iter().filter_map(|pod| pod.spec.as_ref());
    for volume in templates.chain(pods).filter_map(|spec| spec.volumes.as_ref()).flatten() {
        used.extend(volume.config_map.as_ref().map(|source| source.name.as_str()));
    }
    let maps = children.config_maps.iter().map(|map| &map.metadata);
    maps.filter(|metadata| {
        let purpose = metadata.labels.as_ref().and_then(|labels| labels.get(label::PURPOSE));
        purpose.is_some_and(|purpose| purpose == CONFIG)
            && metadata.name.as_ref().is_some_and(|name| !used.contains(&name.as_str()))
    })
    .collect()
}

/// Name of a member's ticket.
pub fn ticket_name(member: &str) -> String {
    format!("{member}-ticket")
}

/// A member's permission to start on an empty volume, read by the guard.
pub fn ticket(cluster: &Cluster, member: &str, ticket: &Ticket) -> ConfigMap {
    let metadata = cluster.member_metadata(&ticket_name(member), member);
    // A ticket always has a JSON form; were it empty, the guard would refuse to start.
    let text = serde_json::to_string(ticket).unwrap_or_default();
    ConfigMap {
        metadata: labelled(metadata, label::PURPOSE, TICKET),
        data: Some(BTreeMap::from([(TICKET_KEY.to_owned(), text)])),
        ..ConfigMap::default()
    }
}

/// The record that the cluster was bootstrapped.
pub fn bootstrap(cluster: &Cluster, record: &Record) -> ConfigMap {
    let metadata = cluster.metadata(&bootstrap::name(cluster.name(), &cluster.labels.uid));
    ConfigMap {
        metadata: labelled(metadata, label::PURPOSE, bootstrap::PURPOSE),
        data: Some(record.to_data()),
        ..ConfigMap::default()
    }
}
