//! What a request to the API server is about. Pure.

use http::{Method, Uri};

/// What a mutating request changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// An object itself.
    Object,
    /// The status of an object.
    Status,
    /// A lease: who leads.
    Lease,
    /// An event: what people are told.
    Event,
    /// Nothing: a question in the shape of a write, such as an access review.
    Review,
}

/// How a request reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reading {
    /// One object.
    Get,
    /// A list.
    List,
    /// A watch.
    Watch,
    /// Something else: discovery, health, versions.
    Other,
}

/// A request, understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Read(Reading),
    Write(Class),
}

/// Group, resource, name and subresource in a path of the API.
#[derive(Debug, Default, PartialEq, Eq)]
struct Target<'a> {
    group: &'a str,
    resource: Option<&'a str>,
    name: Option<&'a str>,
    subresource: Option<&'a str>,
}

fn target(path: &str) -> Target<'_> {
    let mut parts = path.trim_matches('/').split('/');
    let group = match parts.next() {
        Some("api") => {
            parts.next();
            ""
        }
        Some("apis") => {
            let group = parts.next().unwrap_or_default();
            parts.next();
            group
        }
        _ => return Target::default(),
    };
    let rest: Vec<&str> = parts.collect();
    // A namespace is an object too: /api/v1/namespaces/x is one, what follows is in it.
    let rest = match rest.as_slice() {
        ["namespaces", _, inner, ..] if !matches!(*inner, "status" | "finalize") => &rest[2..],
        other => other,
    };
    Target {
        group,
        resource: rest.first().copied(),
        name: rest.get(1).copied(),
        subresource: rest.get(2).copied(),
    }
}

/// The value of a parameter of the query.
pub(crate) fn parameter<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    let pairs = uri.query()?.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// The same address with other parameters: those of `replaced` instead of what there was.
pub(crate) fn with_parameters(uri: &Uri, replaced: &[(&str, &str)]) -> String {
    let query = uri.query().unwrap_or_default();
    let kept = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .filter(|pair| !replaced.iter().any(|(key, _)| pair.split('=').next() == Some(key)))
        .map(str::to_owned);
    let new = replaced.iter().map(|(key, value)| format!("{key}={value}"));
    let query: Vec<String> = kept.chain(new).collect();
    format!("{}?{}", uri.path(), query.join("&"))
}

/// What a request is.
pub(crate) fn sort(method: &Method, uri: &Uri) -> Sort {
    let target = target(uri.path());
    if matches!(*method, Method::GET | Method::HEAD) {
        let watches = matches!(parameter(uri, "watch"), Some("true" | "1"));
        return Sort::Read(match (target.resource, target.name) {
            (Some(_), _) if watches => Reading::Watch,
            (Some(_), None) => Reading::List,
            (Some(_), Some(_)) => Reading::Get,
            (None, _) => Reading::Other,
        });
    }
    Sort::Write(match (target.group, target.resource, target.subresource) {
        ("authorization.k8s.io" | "authentication.k8s.io", ..) => Class::Review,
        ("coordination.k8s.io", Some("leases"), _) => Class::Lease,
        ("" | "events.k8s.io", Some("events"), _) => Class::Event,
        (_, _, Some("status")) => Class::Status,
        _ => Class::Object,
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("GET", "/api/v1/namespaces/n/pods?watch=true&resourceVersion=5", Sort::Read(Reading::Watch))]
    #[case("GET", "/api/v1/namespaces/n/pods?labelSelector=a%3Db", Sort::Read(Reading::List))]
    #[case("GET", "/api/v1/namespaces/n/pods/p", Sort::Read(Reading::Get))]
    #[case("GET", "/api/v1/namespaces/n", Sort::Read(Reading::Get))]
    #[case("GET", "/apis/apps/v1/statefulsets?limit=500", Sort::Read(Reading::List))]
    #[case("GET", "/apis/apps/v1", Sort::Read(Reading::Other))]
    #[case("GET", "/readyz", Sort::Read(Reading::Other))]
    #[case(
        "PATCH",
        "/apis/etcd.ballast.dev/v1/namespaces/n/etcdclusters/e/status",
        Sort::Write(Class::Status)
    )]
    #[case("PATCH", "/apis/apps/v1/namespaces/status/statefulsets/s", Sort::Write(Class::Object))]
    #[case("POST", "/api/v1/namespaces/n/pods/p/eviction", Sort::Write(Class::Object))]
    #[case("PUT", "/apis/coordination.k8s.io/v1/namespaces/n/leases/l", Sort::Write(Class::Lease))]
    #[case("POST", "/apis/events.k8s.io/v1/namespaces/n/events", Sort::Write(Class::Event))]
    #[case("POST", "/api/v1/namespaces/n/events", Sort::Write(Class::Event))]
    #[case("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", Sort::Write(Class::Review))]
    #[case("DELETE", "/api/v1/namespaces/n/configmaps/events", Sort::Write(Class::Object))]
    fn requests_are_told_apart(#[case] method: &str, #[case] uri: &str, #[case] expected: Sort) {
        let method: Method = method.parse().expect("a method");
        assert_eq!(sort(&method, &uri.parse().expect("an address")), expected);
    }

    #[test]
    fn parameters_are_replaced_and_others_kept() {
        let uri: Uri = "/api/v1/pods?resourceVersion=0&limit=500".parse().expect("an address");
        assert_eq!(
            with_parameters(&uri, &[("resourceVersion", "7"), ("resourceVersionMatch", "Exact")]),
            "/api/v1/pods?limit=500&resourceVersion=7&resourceVersionMatch=Exact"
        );
    }
}
