//! Has something that we sent changed? Compares what we send with the live object, the way Kubernetes
//! would read it.
//!
//! Fields that only the live object has never count: defaults and foreign labels roll nothing.

use serde_json::Value;

use crate::quantity;

/// Below these fields scalars are quantities.
const QUANTITIES: [&str; 5] = ["resources", "limits", "requests", "storage", "sizeLimit"];
/// Fields that the API server drops when they are `false`.
const FALSE_IS_ABSENT: [&str; 9] = [
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "paused",
    "publishNotReadyAddresses",
    "readOnly",
    "stdin",
    "stdinOnce",
    "tty",
];
/// Fields for which 0 means "default".
const ZERO_IS_ABSENT: [&str; 6] = [
    "failureThreshold",
    "initialDelaySeconds",
    "minReadySeconds",
    "periodSeconds",
    "successThreshold",
    "timeoutSeconds",
];

/// Fields that Kubernetes takes as one value: what the live object has besides, or lacks, changes what they mean.
const WHOLE: [&str; 2] = ["ingress", "podSelector"];

/// Maps of text: their keys are no fields, and an empty text in them is one.
const MAPS: [&str; 7] =
    ["annotations", "binaryData", "data", "labels", "matchLabels", "nodeSelector", "stringData"];

/// Path of the first leaf of `sent` that is absent or different in `live`; `None` when there is none.
///
/// Lists of objects are matched by Kubernetes' keys and may have more elements in the live object; other
/// lists are compared as a whole. What we send empty (`null`, `""`, `{}`, `[]`) equals absent. `status` and
/// `metadata.managedFields` are not looked at.
pub fn first(sent: &Value, live: &Value) -> Option<String> {
    let Value::Object(sent) = sent else {
        return Walk::default().value(sent, Some(live));
    };
    let mut keys: Vec<_> = sent.iter().filter(|(key, _)| *key != "status").collect();
    keys.sort_unstable_by_key(|(key, _)| *key);
    keys.into_iter().find_map(|(key, value)| {
        let walk = Walk::default().field(key);
        match (key.as_str(), value) {
            ("metadata", Value::Object(metadata)) => {
                let mut metadata = metadata.clone();
                metadata.remove("managedFields");
                walk.value(&Value::Object(metadata), live.get(key))
            }
            _ => walk.value(value, live.get(key)),
        }
    })
}

/// Where the comparison is.
#[derive(Clone, Debug, Default)]
struct Walk {
    path: String,
    field: String,
    quantity: bool,
    map: bool,
}

impl Walk {
    fn field(&self, key: &str) -> Self {
        let plain = key.bytes().all(|b| b.is_ascii_alphanumeric());
        let path = match (plain, self.path.is_empty()) {
            (true, true) => key.to_owned(),
            (true, false) => format!("{}.{key}", self.path),
            (false, _) => format!("{}[{key}]", self.path),
        };
        if self.map {
            return Self { path, field: String::new(), ..self.clone() };
        }
        let quantity = self.quantity || QUANTITIES.contains(&key);
        Self { path, field: key.to_owned(), quantity, map: MAPS.contains(&key) }
    }

    fn element(&self, key: &str) -> Self {
        Self { path: format!("{}[{key}]", self.path), ..self.clone() }
    }

    fn value(&self, sent: &Value, live: Option<&Value>) -> Option<String> {
        if WHOLE.contains(&self.field.as_str()) {
            return (live != Some(sent)).then(|| self.path.clone());
        }
        match sent {
            Value::Null => None,
            Value::Object(sent) => {
                if let Some(extra) = self.extra_key(sent, live) {
                    return Some(self.field(&extra).path);
                }
                let mut keys: Vec<_> = sent.iter().collect();
                keys.sort_unstable_by_key(|(key, _)| *key);
                keys.into_iter().find_map(|(key, value)| {
                    self.field(key).value(value, live.and_then(|live| live.get(key)))
                })
            }
            Value::Array(sent) => self.list(sent, live.and_then(Value::as_array).map_or(&[], Vec::as_slice)),
            scalar => {
                let same = match live {
                    None | Some(Value::Null) => self.is_empty(scalar),
                    Some(live) => self.same(scalar, live),
                };
                (!same).then(|| self.path.clone())
            }
        }
    }

    /// In a selector a key that somebody added changes what is selected: Kubernetes treats these maps as one value.
    fn extra_key(&self, sent: &serde_json::Map<String, Value>, live: Option<&Value>) -> Option<String> {
        let atomic = matches!(self.field.as_str(), "selector" | "matchLabels" | "nodeSelector");
        // Some selectors are no map of labels but hold one.
        let live = live.and_then(Value::as_object).filter(|_| atomic && !sent.contains_key("matchLabels"))?;
        live.keys().find(|key| !sent.contains_key(*key)).cloned()
    }

    fn list(&self, sent: &[Value], live: &[Value]) -> Option<String> {
        if let Some(identity) = identity(&self.field, sent) {
            return sent.iter().find_map(|sent| {
                let key = identity(sent)?;
                let live = live.iter().find(|live| identity(live).as_ref() == Some(&key));
                let walk = self.element(&key);
                // An element whose leaves are all empty still has to be there.
                if live.is_none() { Some(walk.path) } else { walk.value(sent, live) }
            });
        }
        if sent.len() != live.len() {
            return Some(self.path.clone());
        }
        let mut pairs = sent.iter().zip(live).enumerate();
        pairs.find_map(|(index, (sent, live))| self.element(&index.to_string()).value(sent, Some(live)))
    }

    fn is_empty(&self, scalar: &Value) -> bool {
        match scalar {
            Value::String(text) => text.is_empty() && !self.map,
            Value::Bool(value) => !value && FALSE_IS_ABSENT.contains(&self.field.as_str()),
            Value::Number(number) => number.as_f64() == Some(0.0) && self.zero_is_default(),
            _ => false,
        }
    }

    fn zero_is_default(&self) -> bool {
        ZERO_IS_ABSENT.contains(&self.field.as_str())
    }

    fn same(&self, sent: &Value, live: &Value) -> bool {
        if sent == live || (self.is_empty(sent) && matches!(sent, Value::Number(_))) {
            return true;
        }
        if let (Value::Number(sent), Value::Number(live)) = (sent, live) {
            // Large integers are not compared as floats, which would lose digits.
            return (sent.is_f64() || live.is_f64()) && sent.as_f64() == live.as_f64();
        }
        match (printed(sent), printed(live)) {
            (Some(sent), Some(live)) => sent == live || (self.quantity && quantity::same(&sent, &live)),
            _ => false,
        }
    }
}

/// A number or a text as text: `80` and `"80"` are the same port.
fn printed(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What tells the elements of a list apart.
type Identity = fn(&Value) -> Option<String>;

/// The identity for the list in this field, if it is a list of objects and all of `sent` have it.
fn identity(field: &str, sent: &[Value]) -> Option<Identity> {
    let identity: Identity = match field {
        "containers" | "initContainers" | "ephemeralContainers" | "volumes" | "env" | "imagePullSecrets" => {
            |item| text(item, "name")
        }
        "ports" if sent.iter().all(|item| text(item, "name").is_some()) => |item| text(item, "name"),
        "ports" => port,
        "volumeMounts" => |item| text(item, "mountPath"),
        "volumeDevices" => |item| text(item, "devicePath"),
        "volumeClaimTemplates" => |item| text(item.get("metadata")?, "name"),
        "hostAliases" => |item| text(item, "ip"),
        "topologySpreadConstraints" => {
            |item| Some(format!("{}/{}", text(item, "topologyKey")?, text(item, "whenUnsatisfiable")?))
        }
        "ownerReferences" => |item| text(item, "uid"),
        "conditions" => |item| text(item, "type"),
        "finalizers" => |item| item.as_str().map(str::to_owned),
        _ => return None,
    };
    sent.iter().all(|item| identity(item).is_some()).then_some(identity)
}

fn text(item: &Value, key: &str) -> Option<String> {
    item.get(key)?.as_str().map(str::to_owned)
}

/// `containerPort` or `port`, with the protocol, which is TCP unless given.
fn port(item: &Value) -> Option<String> {
    let number = item.get("containerPort").or_else(|| item.get("port"))?;
    let protocol = item.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
    Some(format!("{number}/{protocol}"))
}

#[cfg(test)]
#[path = "difference_tests.rs"]
mod tests;
