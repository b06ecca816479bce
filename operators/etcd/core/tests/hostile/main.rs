//! Resources that mean harm: every text of the resource type is tried, found by walking its schema, so that a new field
//! is covered when it comes.
//!
//! Either a resource is refused with the field's path, or what is built of it holds exactly what it would hold otherwise.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod closed;
mod intended;
mod limits;
mod places;

use ballast_core::object::{Children, Object};
use ballast_etcd_core::{
    api::EtcdCluster,
    build,
    observed::{self, Answers},
    plan,
    validate::{Desired, Environment, validate},
};
use ballast_testkit::samples;
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::Value;

use intended::{ESSENCES, configuration_is_as_intended, essence, objects_are_in_place};
use places::{BASES, PLACES, Place, with};

fn environment() -> Environment {
    samples::environment("ballast/etcd-operator:test")
}

/// `None`: not even the type, so that the API server refuses it.
fn resource(value: Value) -> Option<EtcdCluster> {
    serde_json::from_value(value).ok()
}

/// Everything that would be applied.
fn objects(desired: &Desired) -> Vec<Object> {
    build::everything(desired)
}

fn accepted(base: &Value) -> Desired {
    validate(&resource(base.clone()).unwrap(), &environment()).unwrap()
}

fn withstands(place: &Place, text: &str) {
    let Some(resource) = resource(with(place, text)) else { return };
    let desired = match validate(&resource, &environment()) {
        Ok(desired) => desired,
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in errors {
                assert!(error.field.starts_with("spec.") || error.field.starts_with("metadata."), "{error}");
                let shown = error.to_string();
                assert!(!shown.contains(|c: char| c.is_control() || c == '\u{2028}'), "{shown:?}");
                assert!(!error.message.is_empty() && shown.chars().count() < 1100, "{shown}");
            }
            return;
        }
    };
    configuration_is_as_intended(&desired);
    let objects = objects(&desired);
    objects_are_in_place(&objects);
    let (Place::Value(pointer) | Place::Key(pointer)) = place;
    let base = BASES.iter().position(|base| base.pointer(pointer).is_some()).unwrap();
    assert_eq!(essence(&objects), ESSENCES[base], "{place:?}: {text:?}");
}

/// What configuration files, shells, templates, DNS and URLs take for more than text.
const HOSTILE: &[&str] = &[
    "",
    " ",
    "\n",
    "a\nforce-new-cluster: true",
    "a\r\nname: b",
    "a\0b",
    "a\tb",
    "\u{2028}name: b",
    "a\u{85}name: b",
    "\u{feff}a",
    "\u{202e}a",
    "${BALLAST_HOST}",
    "${BALLAST_X}",
    "${BALLAST_",
    "${HOME}",
    "$(cat /etc/passwd)",
    "$(ETCD_NAME)",
    "`id`",
    "a: b",
    "- a",
    "{a: b}",
    "[a]",
    "\"a\" # b",
    "'a'",
    "a\"\nb: \"c",
    "&a *a !!python/object",
    "%YAML 1.1",
    "---",
    "yes",
    "0777",
    "1e3",
    "null",
    "~",
    "../../etc/passwd",
    "/etc/shadow",
    "a/../../b",
    "http://169.254.169.254/latest/meta-data",
    "file:///etc/passwd",
    "other-ns/name",
    "kube-system",
    "a,b=c",
    "--force-new-cluster",
    "a --data-dir=/x",
    "🦀",
    "ä",
    "ETCD_NAME",
    "ballast.dev/cluster-uid",
    "app.kubernetes.io/instance",
    "force-new-cluster",
    "initial-cluster",
    "kubernetes.io/metadata.name",
    "18446744073709551616",
    "-1",
    "1e308",
    "9223372036854775807h",
];

#[test]
fn the_bases_are_valid_and_have_every_text_of_the_schema() {
    for base in BASES.iter() {
        accepted(base);
    }
    assert!(PLACES.len() > 50, "{PLACES:?}");
    assert!(PLACES.contains(&Place::Value("/spec/storage/ephemeral/sizeLimit".to_owned())));
    assert!(PLACES.contains(&Place::Key("/spec/etcd/extraConfig".to_owned())));
}

#[test]
fn a_plan_stays_in_the_resources_namespace() {
    for base in BASES.iter() {
        let desired = accepted(base);
        let observed = observed::observe(&desired, None, Children::default(), Answers::default());
        let plan = plan::plan(&desired, &observed, Timestamp::UNIX_EPOCH);
        assert!(!plan.apply.is_empty());
        objects_are_in_place(&plan.apply);
    }
}

#[test]
fn every_text_of_the_resource_withstands_every_known_trick() {
    for place in PLACES.iter() {
        for (number, text) in HOSTILE.iter().enumerate() {
            withstands(place, text);
            // Those that end a line or a word, also behind something that is valid by itself.
            let (Place::Value(pointer) | Place::Key(pointer)) = place;
            if let (true, Place::Value(_), Some(valid)) = (
                number < 18,
                place,
                BASES.iter().find_map(|base| base.pointer(pointer)).and_then(Value::as_str),
            ) {
                withstands(place, &format!("{valid}{text}"));
            }
        }
    }
}

proptest! {
    #[test]
    fn every_text_of_the_resource_withstands_any_text(
        place in proptest::sample::select(PLACES.clone()),
        text in prop_oneof![
            any::<String>(),
            "[a-z0-9:/${}()`'\"\\\\\n\r\t\u{0}\u{85}\u{2028}\u{2029} ,=#&*!|>%@-]{0,40}",
        ],
    ) {
        withstands(&place, &text);
    }
}

/// Nothing secret is made yet. What is given to applications says where to connect, and no object but that one repeats it
/// as a Secret: this test is to be extended when passwords or keys come.
#[test]
fn nothing_secret_stands_where_it_can_be_read() {
    for base in BASES.iter() {
        for object in objects(&accepted(base)) {
            let text = object.to_json().to_string();
            match &object {
                Object::Secret(secret) => {
                    let keys: Vec<_> =
                        secret.data.iter().chain([]).flatten().map(|(key, _)| key.clone()).collect();
                    let strings = secret.string_data.iter().flatten().map(|(key, _)| key.clone());
                    let mut keys: Vec<_> = keys.into_iter().chain(strings).collect();
                    keys.sort();
                    assert_eq!(keys, ["endpoints", "host", "port", "provider", "type", "uri"]);
                }
                _ => assert!(!text.contains("secretKeyRef") && !text.contains("secretRef"), "{text}"),
            }
        }
    }
}
