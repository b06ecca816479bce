#![allow(clippy::unwrap_used, clippy::panic)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use rstest::rstest;

use super::*;

const UID: &str = "0a1b2c3d-1111-2222-3333-444455556666";

fn granted() -> Record {
    Record::Granted { member: "my-0".into(), claim: "data-my-0".into(), claim_uid: "c1".into() }
}

fn children(change: impl Fn(&mut ConfigMap)) -> Children {
    let mut object = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name("my", UID)),
            uid: Some("object-uid".into()),
            resource_version: Some("7".into()),
            labels: Some(BTreeMap::from([(label::CLUSTER_UID.to_owned(), UID.to_owned())])),
            owner_references: Some(vec![OwnerReference { uid: UID.into(), ..OwnerReference::default() }]),
            ..ObjectMeta::default()
        },
        data: Some(granted().to_data()),
        ..ConfigMap::default()
    };
    change(&mut object);
    Children { config_maps: vec![object], ..Children::default() }
}

#[rstest]
#[case(Record::Preparing { member: "my-0".into(), claim: "c".into() })]
#[case(granted())]
#[case(Record::Started { cluster_id: "cdf818194e3a8c32".into() })]
#[case(Record::Adopted { from_uid: "old".into() })]
fn read_as_written(#[case] record: Record) {
    let mut data = record.to_data();
    assert_eq!(Record::from_data(&data), Ok(record));
    data.insert("of a newer operator".into(), "x".into());
    assert!(Record::from_data(&data).is_ok());
}

#[rstest]
#[case(&[], "has no \"state\"")]
#[case(&[("state", "Done")], "unknown state \"Done\"")]
#[case(&[("state", "Granted"), ("member", "m"), ("claim", "c")], "has no \"claimUid\"")]
#[case(&[("state", "Started"), ("clusterId", "")], "has no \"clusterId\"")]
fn what_cannot_be_read_is_an_error(#[case] data: &[(&str, &str)], #[case] expected: &str) {
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let error = Record::from_data(&data).unwrap_err();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn found() {
    let FoundRecord { record, reference: object, resource_version: version } =
        find(&children(|_| {}), UID, "my").unwrap().unwrap();
    assert_eq!(record, granted());
    assert_eq!(object.name, "my-bootstrap-0a1b2c3d");
    assert_eq!((object.uid.as_str(), version.as_str()), ("object-uid", "7"));
}

#[rstest]
#[case::copied_without_label(|object: &mut ConfigMap| object.metadata.labels = None)]
#[case::label_of_another(|object: &mut ConfigMap| {
    object.metadata.labels.get_or_insert_default().insert(label::CLUSTER_UID.into(), "other".into());
})]
#[case::restored_without_owner(|object: &mut ConfigMap| object.metadata.owner_references = None)]
#[case::owner_is_another(|object: &mut ConfigMap| {
    object.metadata.owner_references.get_or_insert_default()[0].uid = "other".into();
})]
#[case::another_name(|object: &mut ConfigMap| object.metadata.name = Some("x".into()))]
fn what_is_not_its_own_does_not_count(#[case] change: fn(&mut ConfigMap)) {
    assert_eq!(find(&children(change), UID, "my"), Ok(None));
}

#[rstest]
#[case::empty(|object: &mut ConfigMap| object.data = None)]
#[case::broken(|object: &mut ConfigMap| { object.data.get_or_insert_default().remove("state"); })]
#[case::not_from_a_server(|object: &mut ConfigMap| object.metadata.resource_version = None)]
fn there_but_unreadable(#[case] change: fn(&mut ConfigMap)) {
    assert!(find(&children(change), UID, "my").unwrap_err().starts_with("ConfigMap my-bootstrap-0a1b2c3d"));
}
