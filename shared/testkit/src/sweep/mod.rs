//! The sweep over a resource type: for every leaf of its schema, other values that are valid and where they must arrive, and values
//! that are wrong and who must say so.
//!
//! What an operator says is pure data ([`Change`], [`Wrong`]) about specifications that it names (`B`); what becomes of one is a [`Sweep`]. A leaf
//! of the schema without an entry fails [`entered`], so that no new field is forgotten.

mod arrived;
mod leaves;
mod patch;
mod tried;

pub use arrived::arrived;
pub use leaves::leaves;
pub use patch::{patched, yaml};
pub use tried::{Sweep, entered, every_change_arrives, every_wrong_value_is_refused};

/// Where a change must be seen. Values are YAML; `~` is: not there.
#[derive(Clone, Copy, Debug)]
pub enum Arrives {
    /// In this key of every configuration file of this name that a StatefulSet uses.
    InFile(&'static str, &'static str, &'static str),
    /// At this JSON pointer of the first object of this kind.
    At(&'static str, &'static str, &'static str),
    /// At this JSON pointer below the template of every StatefulSet, and so in every pod.
    Pod(&'static str, &'static str),
    /// Among the items of the list at this JSON pointer below the template of every StatefulSet.
    Item(&'static str, &'static str),
    /// In how many objects of this kind there are.
    Count(&'static str, usize),
    /// In no object: it matters only in what the operator plans.
    Plan,
    /// Nowhere: it is another way to say the same.
    Nowhere,
}

/// Another valid value.
#[derive(Clone, Copy, Debug)]
pub struct Change<B> {
    /// The leaf that it is of, as [`leaves`] names it.
    pub leaf: &'static str,
    /// The specification that it changes.
    pub base: B,
    /// What [`patched`] does to the base, in YAML.
    pub patch: &'static str,
    /// Where it must be seen.
    pub arrives: Arrives,
    /// Who refuses the way back, if there is none.
    pub back: Option<Refused>,
}

/// Who says that something is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The API server, by the schema or a rule of it, with this in the message: nothing is stored.
    ApiServer(&'static str),
    /// The operator, which names this field: nothing is changed.
    Operator(&'static str),
    /// The API server refuses an object that the operator would write, with this in the message, which the status repeats.
    Kubernetes(&'static str),
    /// The plan waits for this reason, and nothing is changed.
    Waits(&'static str),
    /// Nobody: a pod that is made of it never serves.
    Nobody,
}

/// A value that is wrong.
#[derive(Clone, Copy, Debug)]
pub struct Wrong<B> {
    /// The leaf that it is of, as [`leaves`] names it.
    pub leaf: &'static str,
    /// The specification that it changes.
    pub base: B,
    /// What [`patched`] does to the base, in YAML.
    pub patch: &'static str,
    /// Who must say so.
    pub refused: Refused,
}

/// A change that can be taken back.
pub const fn change<B: Copy>(
    leaf: &'static str,
    base: B,
    patch: &'static str,
    arrives: Arrives,
) -> Change<B> {
    Change { leaf, base, patch, arrives, back: None }
}

/// A change that cannot be taken back.
pub const fn forward<B: Copy>(
    leaf: &'static str,
    base: B,
    patch: &'static str,
    arrives: Arrives,
    back: Refused,
) -> Change<B> {
    Change { leaf, base, patch, arrives, back: Some(back) }
}

/// A value that is wrong.
pub const fn wrong<B: Copy>(leaf: &'static str, base: B, patch: &'static str, refused: Refused) -> Wrong<B> {
    Wrong { leaf, base, patch, refused }
}
