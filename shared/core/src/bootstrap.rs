//! The record that a cluster was bootstrapped, once.
//!
//! It is a ConfigMap that the resource owns and whose name carries the resource's uid. It is created before
//! the first permission to start is given; the status only mirrors it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;

use crate::{
    label,
    object::{Children, Kind, ObjectRef, by_name},
};

/// Value of [`label::PURPOSE`] on the record.
pub const PURPOSE: &str = "bootstrap";
/// Characters of the uid in the name.
const UID_LENGTH: usize = 8;

/// How far the one bootstrap of a cluster got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Member and claim are chosen; nothing was permitted yet.
    Preparing {
        /// The first member.
        member: String,
        /// Name of its claim.
        claim: String,
    },
    /// The first member may start on this claim; may be given again, to the same claim only.
    Granted {
        /// The first member.
        member: String,
        /// Name of its claim.
        claim: String,
        /// uid of its claim.
        claim_uid: String,
    },
    /// The cluster exists.
    Started {
        /// The application's own identity of the cluster.
        cluster_id: String,
    },
    /// The volumes of an earlier cluster were taken over; nothing is bootstrapped.
    Adopted {
        /// uid of the earlier resource.
        from_uid: String,
    },
}

impl Record {
    /// The ConfigMap's data.
    pub fn to_data(&self) -> BTreeMap<String, String> {
        let entries: Vec<(&str, &str)> = match self {
            Self::Preparing { member, claim } => {
                vec![("state", "Preparing"), ("member", member), ("claim", claim)]
            }
            Self::Granted { member, claim, claim_uid } => {
                vec![("state", "Granted"), ("member", member), ("claim", claim), ("claimUid", claim_uid)]
            }
            Self::Started { cluster_id } => vec![("state", "Started"), ("clusterId", cluster_id)],
            Self::Adopted { from_uid } => vec![("state", "Adopted"), ("fromUid", from_uid)],
        };
        entries.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// Reads [`Self::to_data`]. What cannot be read is an error, never "not bootstrapped".
    pub fn from_data(data: &BTreeMap<String, String>) -> Result<Self, String> {
        let get = |key: &str| match data.get(key) {
            Some(value) if !value.is_empty() => Ok(value.clone()),
            _ => Err(format!("the bootstrap record has no \"{key}\"")),
        };
        match get("state")?.as_str() {
            "Preparing" => Ok(Self::Preparing { member: get("member")?, claim: get("claim")? }),
            "Granted" => Ok(Self::Granted {
                member: get("member")?,
                claim: get("claim")?,
                claim_uid: get("claimUid")?,
            }),
            "Started" => Ok(Self::Started { cluster_id: get("clusterId")? }),
            "Adopted" => Ok(Self::Adopted { from_uid: get("fromUid")? }),
            state => Err(format!("the bootstrap record is in an unknown state \"{state}\"")),
        }
    }
}

/// The record's name: `<cluster>-bootstrap-<first 8 of the uid>`.
pub fn name(cluster: &str, uid: &str) -> String {
    let short: String = uid.chars().take(UID_LENGTH).collect();
    format!("{cluster}-bootstrap-{short}")
}

/// The bootstrap record as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRecord {
    /// What it says.
    pub record: Record,
    /// Its ConfigMap.
    pub reference: ObjectRef,
    /// Its resourceVersion.
    pub resource_version: String,
}

/// The record of the cluster with this uid.
///
/// It counts only when its label names the uid and an owner reference has it: one that was copied or
/// restored belongs to nobody. An error means that it is there and cannot be read.
pub fn find(children: &Children, uid: &str, cluster: &str) -> Result<Option<FoundRecord>, String> {
    let name = name(cluster, uid);
    let Some(object) = by_name(&children.config_maps, &name).filter(|object| belongs(object, uid)) else {
        return Ok(None);
    };
    let read = || Some((object.metadata.uid.clone()?, object.metadata.resource_version.clone()?));
    let (object_uid, resource_version) =
        read().ok_or_else(|| format!("ConfigMap {name} was not read from a server"))?;
    let data =
        object.data.as_ref().ok_or_else(|| format!("ConfigMap {name}: the bootstrap record is empty"))?;
    let record = Record::from_data(data).map_err(|error| format!("ConfigMap {name}: {error}"))?;
    let reference = ObjectRef { kind: Kind::ConfigMap, name, uid: object_uid };
    Ok(Some(FoundRecord { record, reference, resource_version }))
}

fn belongs(object: &ConfigMap, uid: &str) -> bool {
    let metadata = &object.metadata;
    let labelled = metadata.labels.as_ref().and_then(|labels| labels.get(label::CLUSTER_UID));
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    labelled.is_some_and(|labelled| labelled == uid) && owners.iter().any(|owner| owner.uid == uid)
}

#[cfg(test)]
#[path = "bootstrap_tests.rs"]
mod tests;
