//! The file form. Partitions are packed while they are read: a file of a million partitions is never in memory whole.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{IgnoredAny, SeqAccess, Visitor},
    ser::{SerializeSeq, SerializeStruct},
};

use super::{Broker, FORMAT, Partition, Snapshot, SnapshotError, build::Builder};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    brokers: Vec<Broker>,
    partitions: Packed,
}

/// Only the version: a file of a later version may have anything else.
#[derive(Deserialize)]
struct Version {
    format: Option<u32>,
}

struct Packed(Result<Builder, SnapshotError>);

impl<'de> Deserialize<'de> for Packed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Packer)
    }
}

struct Packer;

impl<'de> Visitor<'de> for Packer {
    type Value = Packed;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of partitions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Packed, A::Error> {
        let mut builder = Builder::default();
        while let Some(partition) = list.next_element::<Partition>()? {
            if let Err(error) = builder.push(&partition) {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(Packed(Err(error)));
            }
        }
        Ok(Packed(Ok(builder)))
    }
}

impl Snapshot {
    /// Reads the file form.
    pub fn from_json(text: &str) -> Result<Self, SnapshotError> {
        let document: Result<Document, _> = serde_json::from_str(text);
        let version = document.as_ref().map_or_else(
            |_| serde_json::from_str::<Version>(text).ok().and_then(|version| version.format),
            |document| Some(document.format),
        );
        if let Some(version) = version.filter(|version| *version != FORMAT) {
            return Err(SnapshotError {
                field: "format".to_owned(),
                problem: format!("is {version}, and this program reads {FORMAT}"),
                fix: "use a program as new as the file".to_owned(),
            });
        }
        let document = document.map_err(|error| SnapshotError {
            field: format!("line {} column {}", error.line(), error.column()),
            problem: error.to_string(),
            fix: "write it as the documentation of the format says".to_owned(),
        })?;
        document.partitions.0?.finish(document.brokers)
    }
}

impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Snapshot", 3)?;
        document.serialize_field("format", &FORMAT)?;
        document.serialize_field("brokers", &self.brokers)?;
        document.serialize_field("partitions", &Partitions(self))?;
        document.end()
    }
}

struct Partitions<'a>(&'a Snapshot);

impl Serialize for Partitions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for partition in self.0.partitions() {
            list.serialize_element(&partition)?;
        }
        list.end()
    }
}
