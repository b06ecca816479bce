//! Operates Apache Kafka clusters on Kubernetes.

