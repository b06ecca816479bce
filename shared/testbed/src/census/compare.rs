//! The oracle: what a disturbed run must have in common with undisturbed ones. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;

use serde_json::Value;

use super::run::{Count, Run};

/// Where a disturbed run is unlike the undisturbed ones.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// Created more or less often.
    Created {
        /// Kind and masked name.
        object: String,
        /// How often in the undisturbed runs.
        expected: RangeInclusive<usize>,
        /// How often now.
        found: usize,
    },
    /// Deleted more or less often.
    Deleted {
        /// Kind and masked name.
        object: String,
        /// How often in the undisturbed runs.
        expected: RangeInclusive<usize>,
        /// How often now.
        found: usize,
    },
    /// More or fewer are there at the end.
    Present {
        /// Kind and masked name.
        object: String,
        /// How many in the undisturbed runs.
        expected: RangeInclusive<usize>,
        /// How many now.
        found: usize,
    },
    /// A field has another value at the end; `None` means that it is absent.
    Field {
        /// Kind and masked name.
        object: String,
        /// JSON pointer.
        path: String,
        /// The value in all undisturbed runs.
        expected: Option<Value>,
        /// The value now.
        found: Option<Value>,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = |range: &RangeInclusive<usize>| {
            if range.start() == range.end() {
                range.start().to_string()
            } else {
                format!("{} to {}", range.start(), range.end())
            }
        };
        let shown =
            |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
        match self {
            Self::Created { object, expected, found } => {
                write!(f, "{object}: created {found} times, not {}", times(expected))
            }
            Self::Deleted { object, expected, found } => {
                write!(f, "{object}: deleted {found} times, not {}", times(expected))
            }
            Self::Present { object, expected, found } => {
                write!(f, "{object}: {found} are there at the end, not {}", times(expected))
            }
            Self::Field { object, path, expected, found } => {
                write!(f, "{object}{path}: {}, not {}", shown(found), shown(expected))
            }
        }
    }
}

/// Compares a disturbed run with undisturbed ones of the same work.
///
/// What the undisturbed runs do not agree upon is no criterion: such a field may have any value, such a count any value
/// between the least and the most. So there must be two of them at least.
pub fn compare(reference: &[Run], disturbed: &Run) -> Vec<Difference> {
    let keys: BTreeSet<&String> = reference
        .iter()
        .chain([disturbed])
        .flat_map(|run| run.counts.keys().chain(run.objects.keys()))
        .collect();
    keys.into_iter().flat_map(|object| differences(object, reference, disturbed)).collect()
}

fn differences(object: &str, reference: &[Run], disturbed: &Run) -> Vec<Difference> {
    let mut all = vec![];
    let count = |run: &Run| run.counts.get(object).copied().unwrap_or_default();
    let present = |run: &Run| run.objects.get(object).map_or(0, Vec::len);
    let outside = |of: &dyn Fn(&Run) -> usize| {
        let (least, most) = (reference.iter().map(of).min(), reference.iter().map(of).max());
        let expected = least.unwrap_or(0)..=most.unwrap_or(0);
        let found = of(disturbed);
        (!expected.contains(&found)).then_some((expected, found))
    };
    let name = || object.to_owned();
    let created: &dyn Fn(&Run) -> usize = &|run| -> usize {
        let Count { created, .. } = count(run);
        created
    };
    let deleted: &dyn Fn(&Run) -> usize = &|run| -> usize {
        let Count { deleted, .. } = count(run);
        deleted
    };
    if let Some((expected, found)) = outside(created) {
        all.push(Difference::Created { object: name(), expected, found });
    }
    if let Some((expected, found)) = outside(deleted) {
        all.push(Difference::Deleted { object: name(), expected, found });
    }
    if let Some((expected, found)) = outside(&present) {
        all.push(Difference::Present { object: name(), expected, found });
    }
    // Objects of the same masked name are told apart by their place only when all runs have as many of them.
    let many = present(disturbed);
    if reference.is_empty() || reference.iter().any(|run| present(run) != many) {
        return all;
    }
    for at in 0..many {
        let fields: Vec<_> = reference.iter().map(|run| leaves(&run.objects[object][at])).collect();
        let now = leaves(&disturbed.objects[object][at]);
        let paths: BTreeSet<&String> = fields.iter().chain([&now]).flat_map(BTreeMap::keys).collect();
        for path in paths {
            let expected = fields[0].get(path);
            let agreed = fields.iter().all(|run| run.get(path) == expected);
            if agreed && now.get(path) != expected {
                all.push(Difference::Field {
                    object: name(),
                    path: path.clone(),
                    expected: expected.cloned(),
                    found: now.get(path).cloned(),
                });
            }
        }
    }
    all
}

/// Every value of an object that holds no others, by JSON pointer. An empty list or object is one as well.
fn leaves(object: &Value) -> BTreeMap<String, Value> {
    fn walk(value: &Value, path: &str, into: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (key, inner) in fields {
                    let key = key.replace('~', "~0").replace('/', "~1");
                    walk(inner, &format!("{path}/{key}"), into);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (index, inner) in items.iter().enumerate() {
                    walk(inner, &format!("{path}/{index}"), into);
                }
            }
            leaf => {
                into.insert(path.to_owned(), leaf.clone());
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(object, "", &mut all);
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(created: usize, objects: &[Value]) -> Run {
        let name = "ConfigMap/a".to_owned();
        Run {
            counts: [(name.clone(), Count { created, deleted: created - objects.len() })].into(),
            objects: if objects.is_empty() { BTreeMap::new() } else { [(name, objects.to_vec())].into() },
        }
    }

    #[test]
    fn equal_runs_do_not_differ() {
        let one = run(1, &[json!({"data": {"x": "1"}})]);
        assert_eq!(compare(&[one.clone(), one.clone()], &one), []);
    }

    #[test]
    fn one_creation_and_deletion_more_is_told_although_the_end_is_the_same() {
        let object = json!({"data": {"x": "1"}});
        let reference = run(1, std::slice::from_ref(&object));
        let found = compare(&[reference.clone(), reference], &run(2, &[object]));
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["ConfigMap/a: created 2 times, not 1", "ConfigMap/a: deleted 1 times, not 0"]);
    }

    #[test]
    fn an_object_that_is_missing_or_unexpected_is_told() {
        let (with, without) = (run(1, &[json!({})]), Run::default());
        let missing = compare(&[with.clone(), with.clone()], &without);
        assert!(missing.contains(&Difference::Present {
            object: "ConfigMap/a".into(),
            expected: 1..=1,
            found: 0
        }));
        let unexpected = compare(&[without.clone(), without], &with);
        assert!(unexpected.contains(&Difference::Present {
            object: "ConfigMap/a".into(),
            expected: 0..=0,
            found: 1
        }));
    }

    #[test]
    fn fields_are_compared_unless_the_undisturbed_runs_differ_in_them() {
        let object = |x: &str, y: &str| json!({"data": {"x": x, "y": y}, "list": [{"k/v": 1}]});
        let reference = [run(1, &[object("1", "same")]), run(1, &[object("2", "same")])];
        assert_eq!(compare(&reference, &run(1, &[object("3", "same")])), []);
        let found = compare(&reference, &run(1, &[object("3", "other")]));
        let [Difference::Field { path, found, .. }] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((path.as_str(), found), ("/data/y", &Some(json!("other"))));
    }

    #[test]
    fn a_field_that_is_new_or_gone_is_a_difference() {
        let reference = [run(1, &[json!({"a": 1})]), run(1, &[json!({"a": 1})])];
        let found = compare(&reference, &run(1, &[json!({"b": {"c/d": 2}})]));
        let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["ConfigMap/a/a: nothing, not 1", "ConfigMap/a/b/c~1d: 2, not nothing"]);
    }

    #[test]
    fn a_count_may_be_anything_between_those_of_the_undisturbed_runs() {
        let with = |created| run(created, &[json!({})]);
        let reference = [with(1), with(3)];
        assert_eq!(compare(&reference, &with(2)), []);
        assert!(matches!(
            compare(&reference, &with(4)).as_slice(),
            [Difference::Created { .. }, Difference::Deleted { .. }]
        ));
    }
}
