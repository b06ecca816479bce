//! The pure half of the etcd operator: resource type, validation, built objects, plan, status.
