//! Server-side apply by one manager, and what the API server does not let anybody change.

use ballast_core::object::Kind;
use serde_json::{Map, Value};

/// `live` with what `sent` says; what `before` said and `sent` does not is removed. Lists are replaced as a whole.
pub(crate) fn merged(live: &Value, before: Option<&Value>, sent: &Value) -> Value {
    let (Value::Object(live), Value::Object(sent)) = (live, sent) else { return sent.clone() };
    let empty = Map::new();
    let before = before.and_then(Value::as_object).unwrap_or(&empty);
    let mut result = live.clone();
    for key in before.keys().filter(|key| !sent.contains_key(*key)) {
        result.remove(key);
    }
    for (key, value) in sent {
        let merged = live.get(key).map_or_else(|| value.clone(), |live| merged(live, before.get(key), value));
        result.insert(key.clone(), merged);
    }
    Value::Object(result)
}

/// Why an object of this kind may not be changed like this.
pub(crate) fn forbidden(kind: Kind, before: &Value, after: &Value) -> Option<String> {
    let fixed: &[&str] = match kind {
        Kind::StatefulSet => &["/spec/selector", "/spec/serviceName", "/spec/podManagementPolicy"],
        Kind::PersistentVolumeClaim => &["/spec/accessModes", "/spec/storageClassName"],
        Kind::ConfigMap if before["immutable"] == true => &["/data", "/immutable"],
        Kind::Service => &["/spec/clusterIP"],
        Kind::Secret => &["/type"],
        _ => &[],
    };
    let fixed = fixed.iter().find(|path| before.pointer(path) != after.pointer(path));
    if let Some(path) = fixed {
        return Some(format!("{path} is immutable"));
    }
    (kind == Kind::PersistentVolumeClaim && bytes(after) < bytes(before))
        .then(|| "a claim cannot shrink".to_owned())
}

fn bytes(claim: &Value) -> Option<i128> {
    let text = claim.pointer("/spec/resources/requests/storage")?.as_str()?;
    ballast_core::quantity::parse(text).ok().map(ballast_core::quantity::Amount::bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_others_wrote_stays_and_what_we_wrote_before_goes() {
        let live = json!({"labels": {"ours": "1", "old": "1", "foreign": "1"}, "list": [1, 2]});
        let before = json!({"labels": {"ours": "1", "old": "1"}, "list": [1, 2]});
        let sent = json!({"labels": {"ours": "2"}, "list": [3]});
        assert_eq!(
            merged(&live, Some(&before), &sent),
            json!({"labels": {"ours": "2", "foreign": "1"}, "list": [3]})
        );
    }

    #[test]
    fn claims_grow_only() {
        let claim = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}});
        assert!(forbidden(Kind::PersistentVolumeClaim, &claim("2Gi"), &claim("1Gi")).is_some());
        assert!(forbidden(Kind::PersistentVolumeClaim, &claim("1Gi"), &claim("2Gi")).is_none());
    }
}
