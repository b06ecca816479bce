//! Secrets that tell clients how to connect.

use std::collections::BTreeMap;

use k8s_openapi::{ByteString, api::core::v1::Secret};

use super::Cluster;

/// Name of the binding Secret.
pub fn binding_name(cluster: &Cluster) -> String {
    format!("{}-binding", cluster.name())
}

/// `<cluster>-binding` in the shape of the Service Binding specification.
///
/// `type` (the application) and `provider` are added to `entries`, which usually are `host`, `port`, `uri` and
/// `endpoints`.
pub fn binding(cluster: &Cluster, mut entries: BTreeMap<String, String>) -> Secret {
    let application = cluster.labels.application;
    entries.insert("type".to_owned(), application.to_owned());
    entries.insert("provider".to_owned(), "ballast".to_owned());
    let data = entries.into_iter().map(|(key, value)| (key, ByteString(value.into_bytes())));
    Secret {
        metadata: cluster.metadata(&binding_name(cluster)),
        type_: Some(format!("servicebinding.io/{application}")),
        data: Some(data.collect()),
        ..Secret::default()
    }
}
