//! Label and annotation keys, and the label sets of one cluster.

use std::collections::BTreeMap;

/// Kubernetes' recommended labels.
pub const NAME: &str = "app.kubernetes.io/name";
/// The cluster's name.
pub const INSTANCE: &str = "app.kubernetes.io/instance";
/// What the object is part of the cluster for, for instance `member`.
pub const COMPONENT: &str = "app.kubernetes.io/component";
/// The application's version; never in a selector.
pub const VERSION: &str = "app.kubernetes.io/version";
/// `ballast-<operator>`; what the operator's watches select on.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// uid of the resource that the object was made for.
pub const CLUSTER_UID: &str = "ballast.dev/cluster-uid";
/// Name of the member that the object belongs to.
pub const MEMBER: &str = "ballast.dev/member";
/// Zone that was given to the member when it was created.
pub const ZONE: &str = "ballast.dev/zone";
/// A claim that was kept when its member was removed; when that was.
pub const RETIRED: &str = "ballast.dev/retired";
/// What an owned ConfigMap is: `config`, `ticket` or `bootstrap`.
pub const PURPOSE: &str = "ballast.dev/purpose";

/// Annotation on a pod template: hash of the resolved specification it was made from.
pub const TEMPLATE_HASH: &str = "ballast.dev/template-hash";
/// Annotation on the resource: the operator changes nothing while it is `"true"`.
pub const PAUSED: &str = "ballast.dev/paused";
/// Annotation on the resource: pods older than this time are restarted, one at a time.
pub const RESTART: &str = "ballast.dev/restart";
/// Annotation on the resource: the member with this id (as `.status.members` shows it) is replaced, with a new volume.
/// An id, not a name: the member that takes its place has another one, so nothing is replaced twice.
pub const REPLACE: &str = "ballast.dev/replace";
/// Annotation on the resource: `<name>@<until>`, a predicate not to wait for.
pub const SKIP_PREDICATE: &str = "ballast.dev/skip-predicate";
/// Annotation on the resource: retained volumes of the cluster with this uid are taken over.
pub const ADOPT_VOLUMES: &str = "ballast.dev/adopt-volumes";

/// The labels of everything that belongs to one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterLabels {
    /// The application: `etcd`, `kafka`, `elasticsearch`.
    pub application: &'static str,
    /// The resource's name.
    pub instance: String,
    /// The resource's uid.
    pub uid: String,
}

/// Value of [`MANAGED_BY`] for one application's operator; also its field manager.
pub fn manager(application: &str) -> String {
    format!("ballast-{application}")
}

impl ClusterLabels {
    /// The subset that never changes while the resource lives: for selectors.
    pub fn selector(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            (NAME.to_owned(), self.application.to_owned()),
            (INSTANCE.to_owned(), self.instance.clone()),
            (MANAGED_BY.to_owned(), manager(self.application)),
        ])
    }

    /// The selector of one member's pod.
    pub fn member_selector(&self, member: &str) -> BTreeMap<String, String> {
        let mut labels = self.selector();
        labels.insert(MEMBER.to_owned(), member.to_owned());
        labels
    }

    /// The labels of an owned object.
    pub fn object(&self) -> BTreeMap<String, String> {
        let mut labels = self.selector();
        labels.insert(CLUSTER_UID.to_owned(), self.uid.clone());
        labels
    }
}

/// A label set as Kubernetes writes selectors in text: `a=b,c=d`.
pub fn selector_text(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

/// Whether Kubernetes takes this text as the value of a label; the error says why not.
pub fn check_value(text: &str) -> Result<(), String> {
    if text.is_empty() || part(text) {
        return Ok(());
    }
    Err(format!(
        "{text:?} is no value of a label: at most 63 letters, digits, \"-\", \"_\" and \".\", with a letter or digit at both ends"
    ))
}

/// Whether Kubernetes takes this text as the key of a label or an annotation; the error says why not.
pub fn check_key(text: &str) -> Result<(), String> {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    if part(name) && prefix.is_none_or(crate::name::is_subdomain) {
        return Ok(());
    }
    Err(format!(
        "{text:?} is no key of a label: a name of at most 63 letters, digits, \"-\", \"_\" and \".\", after a domain and \"/\" if there is one"
    ))
}

/// 1 to 63 characters of a key's name or of a value.
fn part(text: &str) -> bool {
    let end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 63
        && end(text.bytes().next())
        && end(text.bytes().next_back())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", true)]
    #[case("europe-west1-b", true)]
    #[case("A_1.x", true)]
    #[case("-a", false)]
    #[case("a-", false)]
    #[case("a b", false)]
    #[case("a\n", false)]
    #[case("ä", false)]
    #[case(&"a".repeat(63), true)]
    #[case(&"a".repeat(64), false)]
    fn values(#[case] text: &str, #[case] good: bool) {
        assert_eq!(check_value(text).is_ok(), good, "{text:?}");
    }

    #[rstest]
    #[case("app", true)]
    #[case("app.kubernetes.io/name", true)]
    #[case("", false)]
    #[case("/name", false)]
    #[case("a/b/c", false)]
    #[case("App.io/name", false)]
    #[case("a..b/name", false)]
    #[case("a.io/", false)]
    #[case("a\u{2028}b", false)]
    fn keys(#[case] text: &str, #[case] good: bool) {
        assert_eq!(check_key(text).is_ok(), good, "{text:?}");
    }
}
