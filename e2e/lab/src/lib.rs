//! A real three-zone Kubernetes on one Linux machine, as a library and the lab command.
//!
//! The control plane and every node live in network namespaces of their own; there is no way out of them. A program
//! that talks to the cluster calls [`Lab::enter`] first thing in `main`, then uses [`client`] as with any cluster.

mod bring_up;
pub mod certificate;
mod cgroup;
pub mod cli;
mod command;
mod control_plane;
mod diagnose;
mod disk;
pub mod image;
mod lab;
mod layout;
mod mount;
mod netns;
mod network;
mod node;
mod partition;
mod pki;
mod prerequisites;
mod process;
mod progress;
mod provisioner;
mod size;
mod status;
mod teardown;
mod tools;
pub mod wait;

pub use diagnose::diagnose;
pub use disk::{fill, unfill};
pub use lab::{Lab, client};
pub use layout::{CONTROL_PLANE, CONTROL_PLANE_ADDRESS, DATA, STATE, audit_log, kubeconfig};
pub use node::Node;
pub use partition::Partition;
pub use progress::Progress;
pub use tools::{Family, built, folder_of};
