//! What a container may use of its node: checked as the API server checks it, so that an error names the field of the
//! resource and not an object that is made of it.

use serde_json::Value;

use crate::{invalid::Invalid, label, quantity};

/// Resources without a domain that containers may have; those with one are extended resources.
const NAMES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const PAGES: &str = "hugepages-";

/// What is wrong with these `ResourceRequirements`, which are at `path`.
pub fn faults(resources: &Value, path: &str) -> Vec<Invalid> {
    let mut faults = vec![];
    for part in ["requests", "limits"] {
        for (name, amount) in resources.get(part).and_then(Value::as_object).into_iter().flatten() {
            let field = format!("{path}.{part}[{name}]");
            let known = NAMES.contains(&name.as_str()) || name.starts_with(PAGES);
            let extended = name.contains('/') && label::check_key(name).is_ok();
            if !known && !extended {
                faults.push(Invalid::new(
                    field.as_str(),
                    format!(
                        "is no resource of a container: {} and {PAGES}<size> are, and those with a domain",
                        NAMES.join(", ")
                    ),
                ));
            }
            if let Err(error) = quantity::parse(&text(amount)) {
                faults.push(Invalid::new(field, error.to_string()));
            }
        }
    }
    for (name, request) in resources.get("requests").and_then(Value::as_object).into_iter().flatten() {
        let limit = resources.get("limits").and_then(|limits| limits.get(name));
        let Some(limit) = limit else { continue };
        if let (Ok(least), Ok(most)) = (quantity::parse(&text(request)), quantity::parse(&text(limit)))
            && least > most
        {
            faults.push(Invalid::new(
                format!("{path}.requests[{name}]"),
                format!("{} is more than the limit of {}", text(request), text(limit)),
            ));
        }
    }
    faults
}

fn text(amount: &Value) -> String {
    amount.as_str().map_or_else(|| amount.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;

    use super::*;

    fn fields(text: &str) -> Vec<String> {
        faults(&serde_yaml::from_str(text).unwrap(), "r").into_iter().map(|fault| fault.field).collect()
    }

    #[rstest]
    #[case("{}")]
    #[case("~")]
    #[case("{requests: {cpu: 100m, memory: 1Gi}, limits: {cpu: 2, memory: 1024Mi}}")]
    #[case("{limits: {ephemeral-storage: 1Gi, hugepages-2Mi: 64Mi, example.com/gpu: 1}}")]
    #[case("{requests: {cpu: 2}}")]
    fn fine(#[case] text: &str) {
        assert_eq!(fields(text), [""; 0]);
    }

    #[rstest]
    #[case("{requests: {cpu: lots}}", "r.requests[cpu]")]
    #[case("{limits: {memory: -1Gi}}", "r.limits[memory]")]
    #[case("{limits: {memory: ''}}", "r.limits[memory]")]
    #[case("{limits: {memory: [1]}}", "r.limits[memory]")]
    #[case("{limits: {disk: 1Gi}}", "r.limits[disk]")]
    #[case("{limits: {'a b/c': 1}}", "r.limits[a b/c]")]
    #[case("{requests: {cpu: 1001m}, limits: {cpu: 1}}", "r.requests[cpu]")]
    fn wrong(#[case] text: &str, #[case] field: &str) {
        assert_eq!(fields(text), [field]);
    }
}
