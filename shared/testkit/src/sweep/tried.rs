//! What is tried on what is only built: no server is needed for it.

#![allow(clippy::panic, reason = "it is for tests only, which fail by it")]

use std::{collections::BTreeSet, fmt::Debug};

use ballast_core::{invalid::Invalid, quantity};
use serde_json::{Value, json};

use super::{Arrives, Change, Refused, Wrong, arrived, leaves, patched};

/// What becomes of a specification, and what is to be tried.
pub trait Sweep {
    /// A specification that others differ from, by its name.
    type Base: Copy + Debug + 'static;
    /// A resolved specification.
    type Desired: Debug;

    /// The specification of this name.
    fn spec(base: Self::Base) -> Value;
    /// The resolved specification, or what is wrong; `None`: not even the type, so that the API server refuses it.
    fn validated(spec: &Value) -> Option<Result<Self::Desired, Vec<Invalid>>>;
    /// All objects that it becomes, with their kinds.
    fn objects(desired: &Self::Desired) -> Vec<(String, Value)>;
    /// Templates of pods with their hashes, without what a pod keeps for life.
    fn templates(desired: &Self::Desired) -> Vec<(String, Value)>;
    /// Other valid values.
    fn changes() -> Vec<&'static Change<Self::Base>>;
    /// Wrong values.
    fn wrongs() -> Vec<&'static Wrong<Self::Base>>;
}

/// Every leaf of the schema of `spec` has a change and a wrong value, but for those of `unchanging` that has no change and of `never_wrong` that
/// cannot be wrong; and there are no entries for others.
///
/// # Panics
/// If a leaf is missing or unknown.
pub fn entered<S: Sweep>(schema: &Value, unchanging: &[&str], never_wrong: &[&str]) {
    let leaves = leaves(schema, "spec");
    let has = |entries: BTreeSet<&str>, but: &[&str], what: &str| {
        let unknown: Vec<_> = entries.iter().chain(but).filter(|leaf| !leaves.contains(**leaf)).collect();
        assert!(unknown.is_empty(), "not in the schema: {unknown:?}");
        let absent = |leaf: &&String| !entries.contains(leaf.as_str()) && !but.contains(&leaf.as_str());
        let forgotten: Vec<_> = leaves.iter().filter(absent).collect();
        assert!(forgotten.is_empty(), "without {what} in the corpus: {forgotten:?}");
    };
    has(S::changes().iter().map(|change| change.leaf).collect(), unchanging, "a change");
    has(S::wrongs().iter().map(|wrong| wrong.leaf).collect(), never_wrong, "a wrong value");
}

/// Every change arrives where it must, restarts pods only if their template is another one, and what says the same touches nothing.
///
/// # Panics
/// If one does not.
pub fn every_change_arrives<S: Sweep>() {
    for change in S::changes() {
        let before = desired::<S>(&S::spec(change.base));
        let after = desired::<S>(&patched(S::spec(change.base), change.patch));
        let (old, new) = (S::objects(&before), S::objects(&after));
        arrived(change.arrives, &new).unwrap_or_else(|why| panic!("{change:?}: {why}"));
        match change.arrives {
            Arrives::Nowhere => {
                assert!(without_sizes(&old) == without_sizes(&new), "{change:?} changes an object");
            }
            Arrives::Plan => assert_ne!(format!("{before:?}"), format!("{after:?}"), "{change:?}"),
            arrives => assert!(arrived(arrives, &old).is_err(), "{change:?} is so before"),
        }
        assert!(
            S::objects(&desired::<S>(&S::spec(change.base))) == old,
            "{change:?}: back is somewhere else"
        );
        let (old, new) = (S::templates(&before), S::templates(&after));
        for ((old_hash, old), (new_hash, new)) in old.iter().zip(&new) {
            assert_eq!(old_hash == new_hash, old == new, "{change:?}: the hash and the template");
        }
    }
}

/// A size may be written in several ways, and is passed on as it is written.
fn without_sizes(objects: &[(String, Value)]) -> Vec<(String, Value)> {
    let mut objects = objects.to_vec();
    for (_, object) in objects.iter_mut().filter(|(kind, _)| kind == "PersistentVolumeClaim") {
        let Some(size) = object.pointer_mut("/spec/resources/requests/storage") else { continue };
        let bytes = size.as_str().and_then(|size| quantity::parse(size).ok()).map(quantity::Amount::bytes);
        *size = json!(bytes.map(|bytes| bytes.to_string()));
    }
    objects
}

/// Every wrong value is refused, by the operator with its field alone where it is the operator that refuses it. What the schema and its rules
/// refuse is the API server's: only the tests with one try it.
///
/// # Panics
/// If one is not refused so.
pub fn every_wrong_value_is_refused<S: Sweep>() {
    let mut missed = vec![];
    for wrong in S::wrongs() {
        let outcome = S::validated(&patched(S::spec(wrong.base), wrong.patch));
        match (wrong.refused, outcome) {
            (Refused::ApiServer(_), _)
            | (Refused::Kubernetes(_) | Refused::Waits(_) | Refused::Nobody, Some(Ok(_))) => {}
            (Refused::Operator(field), Some(Err(errors))) => {
                let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
                if fields != [field] {
                    missed.push(format!("{wrong:?}: {errors:?}"));
                }
            }
            (_, outcome) => missed.push(format!("{wrong:?}: {:?}", outcome.map(|outcome| outcome.map(drop)))),
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

fn desired<S: Sweep>(spec: &Value) -> S::Desired {
    let outcome = S::validated(spec).unwrap_or_else(|| panic!("{spec}: not the type"));
    outcome.unwrap_or_else(|errors| panic!("{spec}: {errors:?}"))
}
