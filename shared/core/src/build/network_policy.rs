//! The NetworkPolicy of a cluster's pods: who may reach which port.
//!
//! <https://kubernetes.io/docs/concepts/services-networking/network-policies/>: what no rule of a policy that selects
//! a pod allows is refused; connections from the pod's own node are always allowed, and so are answers.

use ipnet::IpNet;
use k8s_openapi::{
    api::networking::v1::{
        NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicyPort, NetworkPolicySpec,
    },
    apimachinery::pkg::{apis::meta::v1::LabelSelector, util::intstr::IntOrString},
};

use super::Cluster;
use crate::label;

/// Label of every namespace, set by Kubernetes, whose value is the namespace's name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
/// Label and value of every pod of an operator, whatever its release is called; the charts set it.
pub const OPERATOR: (&str, &str) = ("app.kubernetes.io/part-of", "ballast");

/// A TCP port that only some may reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Guarded {
    /// The port, 1 to 65535.
    pub port: i32,
    /// Who may reach it; `None`: everyone. An empty list would mean everyone to Kubernetes, so it may not be given.
    pub from: Option<Vec<NetworkPolicyPeer>>,
}

/// The pods of this cluster, members and what else carries its labels.
pub fn own_pods(cluster: &Cluster) -> NetworkPolicyPeer {
    NetworkPolicyPeer {
        pod_selector: Some(LabelSelector {
            match_labels: Some(cluster.labels.selector()),
            ..LabelSelector::default()
        }),
        ..NetworkPolicyPeer::default()
    }
}

/// The operator, which runs in `namespace`.
pub fn operator(namespace: &str) -> NetworkPolicyPeer {
    let labels = |key: &str, value: &str| {
        Some(LabelSelector {
            match_labels: Some([(key.to_owned(), value.to_owned())].into()),
            ..LabelSelector::default()
        })
    };
    NetworkPolicyPeer {
        namespace_selector: labels(NAMESPACE_NAME, namespace),
        pod_selector: labels(OPERATOR.0, OPERATOR.1),
        ip_block: None,
    }
}

/// The policy, named like the cluster: a rule for each guarded port, and one for all other ports, which belong to
/// the user's sidecars and stay as open as they would be without it.
pub fn policy(cluster: &Cluster, guarded: &[Guarded]) -> NetworkPolicy {
    let mut rules: Vec<NetworkPolicyIngressRule> = guarded
        .iter()
        .map(|guarded| NetworkPolicyIngressRule {
            from: guarded.from.clone().filter(|from| !from.is_empty()),
            ports: Some(vec![ports("TCP", guarded.port, guarded.port)]),
        })
        .collect();
    let mut others: Vec<NetworkPolicyPort> =
        between(guarded).into_iter().map(|(first, last)| ports("TCP", first, last)).collect();
    others.push(ports("UDP", 1, 65535));
    rules.push(NetworkPolicyIngressRule { from: None, ports: Some(others) });
    NetworkPolicy {
        metadata: cluster.metadata(cluster.name()),
        spec: Some(NetworkPolicySpec {
            ingress: Some(rules),
            egress: None,
            pod_selector: Some(LabelSelector {
                match_labels: Some(cluster.labels.selector()),
                ..LabelSelector::default()
            }),
            policy_types: Some(vec!["Ingress".to_owned()]),
        }),
    }
}

/// The ranges of ports that are not guarded, first and last.
fn between(guarded: &[Guarded]) -> Vec<(i32, i32)> {
    let mut taken: Vec<i32> = guarded.iter().map(|guarded| guarded.port).collect();
    taken.sort_unstable();
    let firsts = std::iter::once(1).chain(taken.iter().map(|port| port + 1));
    let lasts = taken.iter().map(|port| port - 1).chain(std::iter::once(65535));
    firsts.zip(lasts).filter(|(first, last)| first <= last).collect()
}

fn ports(protocol: &str, first: i32, last: i32) -> NetworkPolicyPort {
    NetworkPolicyPort {
        protocol: Some(protocol.to_owned()),
        port: Some(IntOrString::Int(first)),
        end_port: (first < last).then_some(last),
    }
}

/// What is wrong with a peer that a user wrote, as far as the API server would refuse it: (field below it, message).
pub fn peer_faults(peer: &NetworkPolicyPeer) -> Vec<(String, String)> {
    let mut faults = vec![];
    let selectors = [("podSelector", &peer.pod_selector), ("namespaceSelector", &peer.namespace_selector)];
    match &peer.ip_block {
        None if selectors.iter().all(|(_, selector)| selector.is_none()) => {
            faults.push((
                String::new(),
                "selects nothing: give podSelector, namespaceSelector or ipBlock".to_owned(),
            ));
        }
        Some(_) if selectors.iter().any(|(_, selector)| selector.is_some()) => {
            faults.push((
                ".ipBlock".to_owned(),
                "cannot be together with a selector: make two entries of it".to_owned(),
            ));
        }
        _ => {}
    }
    if let Some(block) = &peer.ip_block {
        let whole = network(&block.cidr);
        if let Err(message) = &whole {
            faults.push((".ipBlock.cidr".to_owned(), message.clone()));
        }
        for (index, except) in block.except.iter().flatten().enumerate() {
            let fault = match (&whole, network(except)) {
                (_, Err(message)) => Some(message),
                // The whole is no part of itself.
                (Ok(whole), Ok(part))
                    if !whole.contains(&part) || whole.prefix_len() == part.prefix_len() =>
                {
                    Some(format!("{except:?} is not a part of {}: remove it", block.cidr))
                }
                _ => None,
            };
            faults.extend(fault.map(|message| (format!(".ipBlock.except[{index}]"), message)));
        }
    }
    for (field, selector) in selectors {
        if let Some(selector) = selector {
            faults.extend(
                selector_faults(selector)
                    .into_iter()
                    .map(|(path, message)| (format!(".{field}{path}"), message)),
            );
        }
    }
    faults
}

fn selector_faults(selector: &LabelSelector) -> Vec<(String, String)> {
    let mut faults = vec![];
    for (key, value) in selector.match_labels.iter().flatten() {
        for checked in [label::check_key(key), label::check_value(value)] {
            faults.extend(checked.err().map(|message| (format!(".matchLabels[{key}]"), message)));
        }
    }
    for (index, expression) in selector.match_expressions.iter().flatten().enumerate() {
        let path = format!(".matchExpressions[{index}]");
        let values = expression.values.as_deref().unwrap_or_default();
        let wants = match expression.operator.as_str() {
            "In" | "NotIn" => Some(true),
            "Exists" | "DoesNotExist" => Some(false),
            _ => None,
        };
        let wrong = match wants {
            None => Some((".operator", "must be In, NotIn, Exists or DoesNotExist")),
            Some(true) if values.is_empty() => Some((".values", "must not be empty with In and NotIn")),
            Some(false) if !values.is_empty() => {
                Some((".values", "must be left out with Exists and DoesNotExist"))
            }
            Some(_) => None,
        };
        faults.extend(wrong.map(|(field, message)| (format!("{path}{field}"), message.to_owned())));
        let key = label::check_key(&expression.key).err().map(|message| (format!("{path}.key"), message));
        faults.extend(key);
        for value in values {
            faults.extend(label::check_value(value).err().map(|message| (format!("{path}.values"), message)));
        }
    }
    faults
}

/// Reads `10.0.0.0/8` or `2001:db8::/32`.
fn network(text: &str) -> Result<IpNet, String> {
    text.parse().map_err(|_| format!("{text:?} is no network: write it as 10.0.0.0/8 or 2001:db8::/32"))
}

#[cfg(test)]
#[path = "network_policy_tests.rs"]
mod tests;
