//! Operates etcd clusters on Kubernetes.

fn main() {}
