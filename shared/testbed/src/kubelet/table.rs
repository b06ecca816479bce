//! The objects of one kind as a watch tells them.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt;
use kube::runtime::watcher::Event;

use super::Key;

/// What an event means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The object with this name is new or different.
    Now(Key),
    /// The object with this uid is gone.
    Gone(String),
}

/// Objects by namespace and name.
#[derive(Debug)]
pub(super) struct Table<K> {
    objects: BTreeMap<Key, K>,
    /// While a list begins anew: what it has not told yet. What is left at its end has gone unseen.
    unconfirmed: Option<BTreeSet<Key>>,
}

impl<K> Default for Table<K> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), unconfirmed: None }
    }
}

impl<K: ResourceExt> Table<K> {
    pub(super) fn get(&self, key: &Key) -> Option<&K> {
        self.objects.get(key)
    }

    pub(super) fn take(&mut self, event: Event<K>) -> Vec<Change> {
        match event {
            Event::Init => {
                self.unconfirmed = Some(self.objects.keys().cloned().collect());
                vec![]
            }
            Event::Apply(object) | Event::InitApply(object) => {
                let key = (object.namespace().unwrap_or_default(), object.name_any());
                if let Some(unconfirmed) = &mut self.unconfirmed {
                    unconfirmed.remove(&key);
                }
                let uid = object.uid();
                let before = self.objects.insert(key.clone(), object).and_then(|before| before.uid());
                let replaced = before.filter(|before| Some(before) != uid.as_ref());
                replaced.map(Change::Gone).into_iter().chain([Change::Now(key)]).collect()
            }
            Event::Delete(object) => {
                self.objects.remove(&(object.namespace().unwrap_or_default(), object.name_any()));
                object.uid().map(Change::Gone).into_iter().collect()
            }
            Event::InitDone => {
                let gone = self.unconfirmed.take().unwrap_or_default();
                gone.iter().filter_map(|key| Some(Change::Gone(self.objects.remove(key)?.uid()?))).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;

    fn pod(name: &str, uid: &str) -> Pod {
        let metadata = json!({"namespace": "n", "name": name, "uid": uid});
        serde_json::from_value(json!({"metadata": metadata})).expect("a pod")
    }

    fn now(name: &str) -> Change {
        Change::Now(("n".into(), name.into()))
    }

    fn gone(uid: &str) -> Change {
        Change::Gone(uid.into())
    }

    #[test]
    fn a_successor_of_the_same_name_means_that_the_first_is_gone() {
        let mut table = Table::default();
        assert_eq!(table.take(Event::Apply(pod("a", "1"))), [now("a")]);
        assert_eq!(table.take(Event::Apply(pod("a", "1"))), [now("a")]);
        assert_eq!(table.take(Event::Apply(pod("a", "2"))), [gone("1"), now("a")]);
        assert_eq!(table.take(Event::Delete(pod("a", "2"))), [gone("2")]);
    }

    #[test]
    fn what_a_new_list_does_not_tell_is_gone() {
        let mut table = Table::default();
        for (name, uid) in [("a", "1"), ("b", "2")] {
            table.take(Event::Apply(pod(name, uid)));
        }
        assert_eq!(table.take(Event::Init), []);
        assert_eq!(table.take(Event::InitApply(pod("b", "2"))), [now("b")]);
        assert_eq!(table.take(Event::InitDone), [gone("1")]);
        assert_eq!(table.take(Event::InitDone), []);
    }
}
