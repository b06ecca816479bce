//! Test support of the Ballast operators: a real Kubernetes API without nodes, and everything that disturbs an operator.
//! Development only; nothing here knows an application.
//!
//! | module | what |
//! |---|---|
//! | [`Testbed`] | etcd, API server and controller manager for all tests of one binary, with fake kubelets |
//! | [`application`] | the application under test, as the kubelets run it |
//! | [`kubelet`] | scheduler, provisioner and kubelets; the guard's real decision at every start |
//! | [`proxy`] | sees everything an operator does, kills it around any write, and answers wrongly |
//! | [`operator`] | the operator's process |
//! | [`census`] | what was created and deleted, and what is there at the end, compared with undisturbed runs |
//! | [`mask`] | names without what differs from run to run |
//! | [`wait`] | waiting for conditions |
//!
//! # A crash matrix
//! The operator is killed before and after every single write, each time in a namespace of its own, and must end where an
//! undisturbed one does, having created and deleted as much.
//! ```no_run
//! use std::sync::{Arc, OnceLock};
//!
//! use anyhow::{Result, ensure};
//! use ballast_testbed::census::{Census, Run, compare, kinds};
//! use ballast_testbed::{Application, Disturbance, Operated, Program, Testbed, built_binary, proxy};
//!
//! # fn simulated() -> Arc<dyn Application> { unimplemented!() }
//! # async fn apply_and_await_ready(_: &kube::Client, _: &str) -> Result<()> { Ok(()) }
//! /// One control plane for all tests of the binary.
//! fn bed() -> &'static Testbed {
//!     static BED: OnceLock<Testbed> = OnceLock::new();
//!     BED.get_or_init(|| Testbed::start(simulated(), &[/* EtcdCluster::crd() */]).expect("a testbed"))
//! }
//!
//! /// The work: a resource is applied, changed, …, until everything is as it says.
//! async fn run(disturbances: Vec<Disturbance>) -> Result<(Run, proxy::ApiProxy)> {
//!     let killed = disturbances.iter().any(|one| matches!(one, Disturbance::Kill(..)));
//!     let namespace = bed().namespace("crash").await?;
//!     // With the operator's own kind: kinds().push(ApiResource::erase::<EtcdCluster>(&())).
//!     let census = Census::start(bed().client(), &namespace, kinds()).await?;
//!     let program = Program {
//!         path: built_binary("etcd-operator")?,
//!         args: vec!["--operator-image".into(), "operator:test".into()],
//!         env: vec![],
//!     };
//!     let operated = Operated::start(bed().control_plane(), program, &namespace, disturbances).await?;
//!     apply_and_await_ready(bed().client(), &namespace).await?;
//!     operated.operator.must_run()?;
//!     ensure!(operated.operator.panics().is_empty(), "it panicked");
//!     // A kill that was ordered must have happened, or the test shows nothing.
//!     ensure!(operated.proxy.kills().len() == usize::from(killed), "not killed");
//!     Ok((census.run().await?, operated.proxy))
//! }
//!
//! # fn test() -> Result<()> {
//! bed().block_on(async {
//!     let (first, proxy) = run(vec![]).await?;
//!     let reference = [first, run(vec![]).await?.0];
//!     for point in proxy.points() {
//!         for moment in [proxy::Moment::Before, proxy::Moment::After] {
//!             let (disturbed, _) = run(vec![Disturbance::Kill(moment, point)]).await?;
//!             let differences = compare(&reference, &disturbed);
//!             ensure!(differences.is_empty(), "killed {moment:?} {point:?}: {differences:?}");
//!         }
//!     }
//!     Ok(())
//! })
//! # }
//! ```
//! Runs are independent of each other, so a matrix runs them side by side (`futures::stream::iter(…).buffer_unordered(8)`).
//!
//! # What is not as in a real cluster
//! Containers that end start again after a fraction of a second; mounted ConfigMaps are up to date at every start; nodes
//! never die; nobody evicts; there are no network policies, quotas, Deployments or endpoints. The clocks are real.

pub mod application;
pub mod census;
mod chance;
mod control_plane;
pub mod kubelet;
pub mod mask;
pub mod operator;
mod ports;
mod process;
pub mod proxy;
mod testbed;

pub use application::{Application, Process};
pub use ballast_core::guard::Start;
pub use ballast_lab::wait;
pub use census::{Census, Difference, Run, compare};
pub use control_plane::{ControlPlane, client};
pub use kubelet::Kubelets;
pub use operator::{Operated, OperatorProcess, Program, built_binary};
pub use ports::Addresses;
pub use proxy::{ApiProxy, Class, Disturbance, Fault, Moment, Point};
pub use testbed::Testbed;
