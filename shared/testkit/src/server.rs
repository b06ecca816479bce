//! The API server: every mutating call, with its preconditions.

use ballast_core::object::{Kind, Object, ObjectRef};
use serde_json::{Value, json};

use crate::{
    apply::{forbidden, merged},
    world::{Stored, World},
};

/// Why a call was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It exists already.
    Exists(String),
    /// uid or resourceVersion do not match.
    Conflict(String),
    /// It is not there.
    NotFound(String),
    /// Anything else: the caller's mistake.
    Invalid(String),
}

/// What a created object got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// uid.
    pub uid: String,
    /// resourceVersion.
    pub resource_version: String,
}

impl World {
    /// Creates.
    pub fn create(&mut self, object: &Object) -> Result<Created, Rejected> {
        let (kind, name) = (object.kind(), object.name().to_owned());
        if self.live(kind, &name).is_some() {
            return Err(Rejected::Exists(format!("{} {name}", kind.as_str())));
        }
        Ok(self.insert(kind, name, object.to_json(), None))
    }

    fn insert(&mut self, kind: Kind, name: String, mut live: Value, applied: Option<Value>) -> Created {
        let uid = format!("{}-uid-{}", kind.as_str().to_lowercase(), self.next());
        let version = self.next().to_string();
        live["metadata"]["uid"] = json!(uid);
        live["metadata"]["resourceVersion"] = json!(version);
        live["metadata"]["creationTimestamp"] = json!(self.now.to_string());
        if kind == Kind::PersistentVolumeClaim {
            live["status"]["phase"] = json!("Pending");
            if live.pointer("/spec/storageClassName").is_none() {
                live["spec"]["storageClassName"] = json!("default-class");
            }
        }
        self.objects.insert((kind, name), Stored::new(live, applied));
        Created { uid, resource_version: version }
    }

    /// Server-side apply. With a uid in its metadata only that object is touched.
    pub fn apply(&mut self, object: &Object) -> Result<(), Rejected> {
        let (kind, name) = (object.kind(), object.name().to_owned());
        let sent = object.to_json();
        let wanted = object.metadata().uid.clone();
        let Some(stored) = self.objects.get(&(kind, name.clone())) else {
            if wanted.is_some() {
                return Err(Rejected::Conflict(format!("{} {name} is gone", kind.as_str())));
            }
            self.insert(kind, name, sent.clone(), Some(sent));
            return Ok(());
        };
        let live = stored.live();
        if wanted.is_some_and(|wanted| live["metadata"]["uid"] != json!(wanted)) {
            return Err(Rejected::Conflict(format!("{} {name} is another one", kind.as_str())));
        }
        let mut after = merged(live, stored.applied.as_ref(), &sent);
        for field in ["uid", "resourceVersion", "creationTimestamp"] {
            after["metadata"][field] = live["metadata"][field].clone();
        }
        if let Some(why) = forbidden(kind, live, &after) {
            return Err(Rejected::Invalid(format!("{} {name}: {why}", kind.as_str())));
        }
        if after != *live {
            after["metadata"]["resourceVersion"] = json!(self.next().to_string());
        }
        self.objects.insert((kind, name), Stored::new(after, Some(sent)));
        Ok(())
    }

    /// Replaces an object that was read before.
    pub fn replace(&mut self, object: &Object) -> Result<(), Rejected> {
        let (kind, name) = (object.kind(), object.name().to_owned());
        let mut after = object.to_json();
        let live = self.live(kind, &name).ok_or_else(|| Rejected::NotFound(name.clone()))?;
        if after["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"] {
            return Err(Rejected::Conflict(format!("{} {name} has changed", kind.as_str())));
        }
        for field in ["uid", "creationTimestamp"] {
            after["metadata"][field] = live["metadata"][field].clone();
        }
        if let Some(why) = forbidden(kind, live, &after) {
            return Err(Rejected::Invalid(format!("{} {name}: {why}", kind.as_str())));
        }
        after["metadata"]["resourceVersion"] = json!(self.next().to_string());
        self.objects.insert((kind, name), Stored::new(after, None));
        Ok(())
    }

    /// Merge patch of the metadata of an object that was read at this resourceVersion.
    pub fn patch_metadata(
        &mut self,
        object: &ObjectRef,
        version: &str,
        metadata: &Value,
    ) -> Result<(), Rejected> {
        let next = self.next().to_string();
        let key = (object.kind, object.name.clone());
        let stored = self.objects.get_mut(&key).ok_or_else(|| Rejected::NotFound(object.name.clone()))?;
        let have = &mut stored.live_mut()["metadata"];
        if have["uid"] != json!(object.uid) || have["resourceVersion"] != json!(version) {
            return Err(Rejected::Conflict(format!("{} has changed", object.name)));
        }
        merge_patch(have, metadata);
        have["resourceVersion"] = json!(next);
        Ok(())
    }

    /// Deletes exactly this object. What is gone already is fine; another one of the same name is a conflict.
    pub fn delete(&mut self, object: &ObjectRef) -> Result<(), Rejected> {
        let key = (object.kind, object.name.clone());
        let Some(stored) = self.objects.get_mut(&key) else { return Ok(()) };
        if stored.live()["metadata"]["uid"] != json!(object.uid) {
            return Err(Rejected::Conflict(format!("{} is another one", object.name)));
        }
        let metadata = &mut stored.live_mut()["metadata"];
        let pinned = metadata["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
        // Claim protection is a finalizer too; the controller takes it away.
        if pinned || object.kind == Kind::PersistentVolumeClaim {
            if metadata["deletionTimestamp"].is_null() {
                metadata["deletionTimestamp"] = json!(self.now.to_string());
                let version = self.next().to_string();
                if let Some(stored) = self.objects.get_mut(&key) {
                    stored.live_mut()["metadata"]["resourceVersion"] = json!(version);
                }
            }
        } else {
            self.objects.remove(&key);
        }
        Ok(())
    }

    /// Deletes exactly this pod; with no grace at all it is gone at once, whatever its node says.
    pub fn delete_pod(&mut self, name: &str, uid: &str, grace: Option<i64>) -> Result<(), Rejected> {
        let Some(pod) = self.pods.get_mut(name) else { return Ok(()) };
        if pod.metadata.uid.as_deref() != Some(uid) {
            return Err(Rejected::Conflict(format!("pod {name} is another one")));
        }
        let unscheduled = pod.spec.as_ref().is_none_or(|spec| spec.node_name.is_none());
        if grace == Some(0) || unscheduled {
            self.pods.remove(name);
            return Ok(());
        }
        let own = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(30);
        let due = self.now + jiff::SignedDuration::from_secs(grace.unwrap_or(own));
        let have = pod.metadata.deletion_timestamp.get_or_insert_with(|| time(due));
        if have.0 > due {
            *have = time(due);
        }
        Ok(())
    }
}

pub(crate) fn time(at: jiff::Timestamp) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::Time {
    k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at)
}

fn merge_patch(live: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *live = patch.clone();
        return;
    };
    if !live.is_object() {
        *live = json!({});
    }
    for (key, value) in fields {
        if value.is_null() {
            if let Some(live) = live.as_object_mut() {
                live.remove(key);
            }
        } else {
            merge_patch(&mut live[key], value);
        }
    }
}
