//! The list of scenarios.

use std::{future::Future, pin::Pin};

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use crate::{chaos, environment::Environment, etcd, kafka, operator::Operator};

/// What a scenario gets.
pub(crate) struct Context<'a> {
    /// The cluster.
    pub(crate) environment: &'a Environment,
    /// Which operator it is about.
    pub(crate) operator: Operator,
    /// A namespace of its own, in which Pod Security *restricted* is enforced.
    pub(crate) namespace: String,
    /// For scenarios with random faults.
    pub(crate) chaos: chaos::Settings,
    /// Figures that it measured, for the report.
    pub(crate) figures: std::sync::Mutex<Map<String, Value>>,
}

impl Context<'_> {
    /// Keeps a figure for the report.
    pub(crate) fn figure(&self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        println!("      {name} = {value}");
        if let Ok(mut figures) = self.figures.lock() {
            figures.insert(name.to_owned(), value);
        }
    }
}

type Work = for<'a> fn(&'a Context<'a>) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// A scenario.
pub(crate) struct Scenario {
    /// Name, by which it can be run alone.
    pub(crate) name: &'static str,
    /// What it shows.
    pub(crate) shows: &'static str,
    /// Whether it is part of the gate.
    pub(crate) gate: bool,
    /// Whether it needs the lab's nodes.
    pub(crate) needs_lab: bool,
    /// Whether it takes many minutes, and is run only when it is named.
    pub(crate) long: bool,
    /// Which operator it is about.
    pub(crate) operator: Operator,
    /// What it does.
    pub(crate) work: Work,
}

/// Declares scenarios whose functions are `async fn(&Context) -> Result<()>`.
#[macro_export]
macro_rules! scenario {
    ($name:literal, $shows:literal, $function:path $(, $flag:ident)*) => {{
        #[allow(unused_mut)]
        let mut scenario = $crate::scenario::Scenario {
            name: $name,
            shows: $shows,
            gate: false,
            needs_lab: false,
            long: false,
            operator: $crate::operator::Operator::Etcd,
            work: |context| Box::pin($function(context)),
        };
        $(scenario.$flag = true;)*
        scenario
    }};
}

/// All of them.
pub(crate) fn all() -> Vec<Scenario> {
    let mut all = etcd::scenarios();
    all.extend(chaos::scenarios());
    all.extend(kafka::scenarios());
    all
}

/// The operators that these need.
pub(crate) fn operators(scenarios: &[Scenario]) -> Vec<Operator> {
    let mut operators: Vec<Operator> = scenarios.iter().map(|scenario| scenario.operator).collect();
    operators.sort();
    operators.dedup();
    operators
}

/// Those that the caller asks for.
pub(crate) fn choose(gate: bool, names: &[String]) -> Result<Vec<Scenario>> {
    let known: Vec<&str> = all().iter().map(|scenario| scenario.name).collect();
    for name in names {
        if !known.iter().any(|known| known.starts_with(name.as_str())) {
            bail!("there is no scenario {name}; there are: {}", known.join(", "));
        }
    }
    let wanted = |scenario: &Scenario| {
        (names.is_empty() && !scenario.long
            || names.iter().any(|name| scenario.name.starts_with(name.as_str())))
            && (!gate || scenario.gate)
    };
    Ok(all().into_iter().filter(wanted).collect())
}
