//! Test support of the Ballast operators: a real Kubernetes API without nodes. Development only.

pub mod application;

pub use application::{Application, Process};
pub use ballast_core::guard::Start;
