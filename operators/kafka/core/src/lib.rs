//! The pure half of the Kafka operator: no client, no clock, no randomness.

