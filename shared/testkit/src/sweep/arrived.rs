//! Whether a change is where it must be.

use serde_json::Value;

use super::{Arrives, yaml};

/// Whether what must be seen is: `objects` are all that there are, with their kinds; the error says what is there instead.
///
/// # Errors
/// What is seen instead.
pub fn arrived(arrives: Arrives, objects: &[(String, Value)]) -> Result<(), String> {
    let of =
        |kind: &'static str| objects.iter().filter(move |(have, _)| have == kind).map(|(_, value)| value);
    let every = |kind: &'static str, check: &dyn Fn(&Value) -> Result<(), String>| {
        let mut seen = of(kind).peekable();
        if seen.peek().is_none() {
            return Err(format!("there is no {kind}"));
        }
        seen.try_for_each(check)
    };
    match arrives {
        Arrives::Plan | Arrives::Nowhere => Ok(()),
        Arrives::Count(kind, wanted) => match of(kind).count() {
            found if found == wanted => Ok(()),
            found => Err(format!("{found} {kind}, not {wanted}")),
        },
        Arrives::At(kind, pointer, wanted) => match of(kind).next() {
            None => Err(format!("there is no {kind}")),
            Some(object) => same(&format!("{kind}{pointer}"), object.pointer(pointer), wanted),
        },
        Arrives::Pod(pointer, wanted) => {
            let template = format!("/spec/template{pointer}");
            every("StatefulSet", &|set| same(&template, set.pointer(&template), wanted))?;
            // What is only built has no pods.
            of("Pod").try_for_each(|pod| same(&format!("Pod{pointer}"), pod.pointer(pointer), wanted))
        }
        Arrives::Item(pointer, wanted) => every("StatefulSet", &|set| {
            let items = set.pointer(&format!("/spec/template{pointer}")).and_then(Value::as_array);
            let has = items.is_some_and(|items| items.contains(&yaml(wanted)));
            if has { Ok(()) } else { Err(format!("{pointer} is {items:?}, without {wanted}")) }
        }),
        Arrives::InFile(file, key, wanted) => {
            let used = files(file, of("StatefulSet"), &of("ConfigMap").collect::<Vec<_>>());
            if used.is_empty() {
                return Err(format!("there is no {file} that a StatefulSet names"));
            }
            used.iter()
                .try_for_each(|text| same(&format!("{file}'s {key}"), read(file, text).get(key), wanted))
        }
    }
}

fn same(what: &str, found: Option<&Value>, wanted: &str) -> Result<(), String> {
    let wanted = Some(yaml(wanted)).filter(|wanted| !wanted.is_null());
    if found == wanted.as_ref() { Ok(()) } else { Err(format!("{what} is {found:?}, not {wanted:?}")) }
}

/// A pod that is about to go may still have its old file: those that StatefulSets name count.
fn files<'a>(file: &str, sets: impl Iterator<Item = &'a Value>, maps: &[&'a Value]) -> Vec<&'a str> {
    let volumes = sets.filter_map(|set| set.pointer("/spec/template/spec/volumes")?.as_array());
    let named: Vec<&Value> =
        volumes.flatten().filter_map(|volume| volume.pointer("/configMap/name")).collect();
    let used =
        maps.iter().filter(|map| map["metadata"].get("name").is_some_and(|name| named.contains(&name)));
    used.filter_map(|map| map["data"].get(file)?.as_str()).collect()
}

/// Keys and values of a configuration file, by the end of its name.
fn read(file: &str, text: &str) -> Value {
    if !file.ends_with(".properties") {
        return yaml(text);
    }
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines.map(|(key, value)| (key.to_owned(), Value::from(value))).collect()
}
