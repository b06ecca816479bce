//! The series that belong to one resource each, made anew for every scrape.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, gauge::ConstGauge},
};

use crate::operator::ResourceKey;

type Labels = Vec<(&'static str, String)>;

/// What is known about one resource.
#[derive(Debug, Default)]
pub(super) struct Series {
    pub(super) blocked: Vec<&'static str>,
    pub(super) unparsable: bool,
    /// Type, and 1, 0 or -1.
    pub(super) conditions: Vec<(String, f64)>,
    pub(super) gauges: Vec<(&'static str, f64)>,
}

/// The series that belong to one resource each.
#[derive(Debug)]
pub(super) struct ByResource {
    pub(super) application: &'static str,
    pub(super) resources: Arc<Mutex<BTreeMap<ResourceKey, Series>>>,
}

impl ByResource {
    fn labels(&self, key: &ResourceKey) -> Labels {
        vec![
            ("application", self.application.to_owned()),
            ("namespace", key.namespace.clone()),
            ("name", key.name.clone()),
        ]
    }
}

impl Collector for ByResource {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let resources = self.resources.lock().unwrap_or_else(PoisonError::into_inner);
        let mut blocked = vec![];
        let mut unparsable = vec![];
        let mut conditions = vec![];
        let mut gauges: BTreeMap<&'static str, Vec<(Labels, f64)>> = BTreeMap::new();
        for (key, series) in resources.iter() {
            for predicate in &series.blocked {
                let mut labels = self.labels(key);
                labels.push(("predicate", (*predicate).to_owned()));
                blocked.push((labels, 1.0));
            }
            for (condition, value) in &series.conditions {
                let mut labels = self.labels(key);
                labels.push(("condition", condition.clone()));
                conditions.push((labels, *value));
            }
            if series.unparsable {
                unparsable.push((self.labels(key), 1.0));
            }
            for (name, value) in &series.gauges {
                gauges.entry(name).or_default().push((self.labels(key)[1..].to_vec(), *value));
            }
        }
        drop(resources);
        family(&mut encoder, "ballast_plan_blocked", "Predicates that hold a plan back.", &blocked)?;
        family(
            &mut encoder,
            "ballast_resource_condition",
            "Conditions of resources: 1 True, 0 False, -1 Unknown.",
            &conditions,
        )?;
        family(&mut encoder, "ballast_unparsable", "Resources that cannot be read.", &unparsable)?;
        for (name, series) in gauges {
            let full = format!("{}_cluster_{name}", self.application);
            family(&mut encoder, &full, &format!("{}.", name.replace('_', " ")), &series)?;
        }
        Ok(())
    }
}

fn family(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    series: &[(Labels, f64)],
) -> Result<(), fmt::Error> {
    if series.is_empty() {
        return Ok(());
    }
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in series {
        ConstGauge::new(*value).encode(family.encode_family(labels)?)?;
    }
    Ok(())
}
