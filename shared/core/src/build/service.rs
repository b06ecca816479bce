//! Services: one that names the pods, one for clients.

use k8s_openapi::{
    api::core::v1::{Service, ServicePort, ServiceSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};
use serde::Serialize;

use super::Cluster;

/// A named TCP port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Port {
    /// Name, at most 15 characters.
    pub name: &'static str,
    /// Number.
    pub port: i32,
}

/// The headless Service `<cluster>-nodes`: a stable name for every pod, ready or not.
pub fn nodes(cluster: &Cluster, ports: &[Port]) -> Service {
    Service {
        metadata: cluster.metadata(&cluster.nodes_service()),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            publish_not_ready_addresses: Some(true),
            ..spec(cluster, ports)
        }),
        ..Service::default()
    }
}

/// Name of the client Service.
pub fn client_name(cluster: &Cluster) -> String {
    format!("{}-client", cluster.name())
}

/// The Service `<cluster>-client`: one address for the members that are ready.
pub fn client(cluster: &Cluster, ports: &[Port]) -> Service {
    Service {
        metadata: cluster.metadata(&client_name(cluster)),
        spec: Some(spec(cluster, ports)),
        ..Service::default()
    }
}

/// A headless Service `<cluster>-<name>` for the members that have this label, ready or not.
pub fn some_nodes(cluster: &Cluster, name: &str, label: (&str, &str), ports: &[Port]) -> Service {
    let mut service = nodes(cluster, ports);
    service.metadata.name = Some(format!("{}-{name}", cluster.name()));
    only(&mut service, label);
    service
}

/// Lets a Service select only members that have this label.
pub fn only(service: &mut Service, label: (&str, &str)) {
    let selector = service.spec.get_or_insert_default().selector.get_or_insert_default();
    selector.insert(label.0.to_owned(), label.1.to_owned());
}

fn spec(cluster: &Cluster, ports: &[Port]) -> ServiceSpec {
    let ports = ports.iter().map(|port| ServicePort {
        name: Some(port.name.to_owned()),
        port: port.port,
        protocol: Some("TCP".to_owned()),
        target_port: Some(IntOrString::Int(port.port)),
        ..ServicePort::default()
    });
    ServiceSpec {
        type_: Some("ClusterIP".to_owned()),
        selector: Some(cluster.labels.selector()),
        ports: Some(ports.collect()),
        ..ServiceSpec::default()
    }
}
