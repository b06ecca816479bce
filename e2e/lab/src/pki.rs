//! The cluster's certificates and kubeconfigs, all made anew by every `lab up`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;

use crate::certificate::{self, Authority, Subject};
use crate::layout::{self, CONTROL_PLANE_ADDRESS};
use crate::node::Node;

/// A certificate of the lab: the name of its files, and whom it stands for.
struct Leaf {
    name: String,
    subject: Subject,
}

impl Leaf {
    fn client(name: &str, user: &str, group: Option<&str>) -> Self {
        let subject = Subject { user: user.into(), group: group.map(Into::into), names: Vec::new() };
        Self { name: name.into(), subject }
    }
}

/// A file of the lab's keys and certificates.
pub(crate) fn file(name: &str) -> PathBuf {
    layout::state(format!("pki/{name}"))
}

/// The kubeconfig of a user of the control plane or of a node.
pub(crate) fn kubeconfig(name: &str) -> PathBuf {
    layout::state(format!("kubeconfig/{name}.yaml"))
}

fn leaves(nodes: &[Node]) -> Vec<Leaf> {
    // Whatever a client may call the API server, in the lab and in a pod.
    let api =
        ["127.0.0.1", CONTROL_PLANE_ADDRESS, "10.96.0.1", "localhost", "kubernetes", "kubernetes.default"]
            .into_iter()
            .chain(["kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]);
    let mut all = vec![
        Leaf {
            name: "apiserver".into(),
            subject: Subject {
                user: "kube-apiserver".into(),
                group: None,
                names: api.map(Into::into).collect(),
            },
        },
        Leaf::client("apiserver-kubelet", "apiserver-kubelet", Some("system:masters")),
        Leaf::client("admin", "lab-admin", Some("system:masters")),
        // Told apart from the administrator in the audit log.
        Leaf::client("provisioner", "lab-provisioner", Some("system:masters")),
        Leaf::client("controller-manager", "system:kube-controller-manager", None),
        Leaf::client("scheduler", "system:kube-scheduler", None),
        Leaf::client("proxy", "system:kube-proxy", None),
    ];
    all.extend(nodes.iter().map(|node| Leaf {
        name: node.name.clone(),
        subject: Subject {
            user: format!("system:node:{}", node.name),
            group: Some("system:nodes".into()),
            names: vec![node.address(), node.name.clone()],
        },
    }));
    all
}

/// Writes all certificates, keys and kubeconfigs.
pub(crate) fn create(nodes: &[Node]) -> Result<()> {
    let ca = Authority::new("ballast-lab")?;
    let own = ca.issued();
    write("ca.crt", &own.certificate)?;
    write("ca.key", &own.key)?;
    for leaf in leaves(nodes) {
        let issued = ca.issue(&leaf.subject)?;
        write(&format!("{}.crt", leaf.name), &issued.certificate)?;
        write(&format!("{}.key", leaf.name), &issued.key)?;
        let config = kubeconfig(&leaf.name);
        fs::write(&config, kubeconfig_text(&leaf.name)?)
            .with_context(|| format!("cannot write {}", config.display()))?;
    }
    let (key, public) = certificate::service_account_key()?;
    write("service-account.key", &key)?;
    write("service-account.pub", &public)
}

fn kubeconfig_text(name: &str) -> Result<String> {
    let cluster = json!({
        "server": format!("https://{CONTROL_PLANE_ADDRESS}:6443"),
        "certificate-authority": file("ca.crt"),
    });
    let user = json!({
        "client-certificate": file(&format!("{name}.crt")),
        "client-key": file(&format!("{name}.key")),
    });
    certificate::kubeconfig("ballast-lab", name, &cluster, &user)
}

fn write(name: &str, text: &str) -> Result<()> {
    let path = file(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_server_is_known_by_its_addresses_and_names() -> Result<()> {
        let api = leaves(&[]).into_iter().next().context("the API server comes first")?;
        for name in ["10.99.0.1", "10.96.0.1", "127.0.0.1", "kubernetes.default.svc"] {
            assert!(
                api.subject.names.iter().any(|have| have == name),
                "{name} is missing in {:?}",
                api.subject
            );
        }
        Ok(())
    }

    #[test]
    fn a_node_is_in_the_group_of_nodes() {
        let node = Node::new(2, "b");
        let subject = leaves(&[node]).pop().expect("the node comes last").subject;
        assert_eq!(
            (subject.user.as_str(), subject.group.as_deref()),
            ("system:node:n2", Some("system:nodes"))
        );
        assert_eq!(subject.names, ["10.99.0.12", "n2"]);
    }
}
