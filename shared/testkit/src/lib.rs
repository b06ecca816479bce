//! Test support of the Ballast operators: a simulated world, and a sweep over resource types. Development only.
//!
//! [`World`] is a small, deterministic model of an API server and of the controllers that act on what an operator
//! makes. It knows nothing of any application: what an application does when its container starts comes in through
//! [`Application`]. Nothing happens by itself: [`World::step`] lets every controller act once, and
//! [`World::advance`] moves the time.
//!
//! | module | what is modelled |
//! |---|---|
//! | [`server`] | create, server-side apply, replace, patch and delete with their preconditions |
//! | [`apply`] | the merge of server-side apply by one manager, and fields that cannot change |
//! | [`controllers`] | garbage collection, StatefulSets of one, claims: binding, growth, protection |
//! | [`scheduler`] | nodes, zones, and where a volume binds its pod to |
//! | [`kubelet`] | containers, the guard at every start, what a dead node leaves behind |
//! | [`guarded`] | what the guard decides about a disk, and leaves on it |
//! | [`pod`] | what kubelet and scheduler read in a pod |
//! | [`people`] | what people and hardware do: delete, wipe, pin, stop a node |
//!
//! Besides, for tests without any world: [`samples`] are what they begin with, and [`sweep`] tries every field of a resource type.

pub mod application;
pub mod apply;
pub mod controllers;
pub mod guarded;
pub mod kubelet;
pub mod people;
pub mod pod;
pub mod samples;
pub mod scheduler;
pub mod server;
pub mod sweep;
mod world;

pub use application::{Application, Process};
pub use server::Rejected;
pub use world::{Disk, Node, World};
