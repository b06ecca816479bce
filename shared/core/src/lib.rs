//! Pure building blocks of the Ballast operators.
//!
//! Nothing here talks to a server, reads a clock, an environment variable or randomness: what a function
//! needs comes in as an argument, and the same input gives the same output. The imperative half is
//! `ballast-runtime`.
//!
//! | module | subject |
//! |---|---|
//! | [`name`] | strong name types and their length rules |
//! | [`label`] | label and annotation keys, selectors |
//! | [`object`] | the kinds of objects an operator owns, and the set of them that exists for one cluster |
//! | [`build`] | builders of Kubernetes objects |
//! | [`pod_template`] | the user's overlay on the pod, and what it may not touch |
//! | [`config`] | writers of configuration files |
//! | [`quantity`], [`duration`], [`version`], [`resource_amounts`] | values users write as text |
//! | [`hash`], [`difference`] | has something changed that we sent? |
//! | [`zone`] | which zone a new member goes to |
//! | [`environment`] | how the operator was installed |
//! | [`condition`] | metav1 conditions |
//! | [`plan`] | what an operator decides: applies, one intent, what holds it back |
//! | [`invalid`] | errors in a resource, by field |
//! | [`message`] | texts for people: printable and not too long |
//! | [`bootstrap`] | the record that a cluster was bootstrapped, once |
//! | [`view`] | what is seen of the Kubernetes objects of a member |
//! | [`spec`], [`schema`] | parts that the specifications of all our resources have |

pub mod bootstrap;
pub mod build;
pub mod condition;
pub mod config;
pub mod difference;
pub mod duration;
pub mod environment;
pub mod hash;
pub mod invalid;
pub mod label;
pub mod message;
pub mod name;
pub mod object;
pub mod plan;
pub mod pod_template;
pub mod quantity;
pub mod resource_amounts;
pub mod schema;
pub mod spec;
pub mod version;
pub mod view;
pub mod zone;

pub use ballast_guard as guard;
