//! Who has too much traffic.

use crate::{
    api::HotStatus,
    observed::Observed,
    rebalance::outcome::{Evenness, Resource},
    validate::Desired,
};

/// At most so many are listed.
const LISTED: usize = 20;

/// Nothing, while nobody has too much, or it is not looked for.
pub(super) fn status(desired: &Desired, observed: &Observed) -> Option<HotStatus> {
    let plan = observed.heat.as_ref()?;
    let is_hot = |it: &&Evenness| {
        let network = matches!(it.resource, Resource::NetworkIn | Resource::NetworkOut);
        network && it.ratio >= desired.hot.threshold
    };
    let told = |it: &Evenness| {
        let what = if it.resource == Resource::NetworkIn { "comes in" } else { "goes out" };
        format!("broker {} has {:.1} times its fair share of what {what}", it.broker, it.ratio)
    };
    let brokers: Vec<String> = plan.report.before.iter().filter(is_hot).map(told).take(LISTED).collect();
    let partitions: Vec<String> = plan.unfixable.iter().map(|it| it.message.clone()).take(LISTED).collect();
    if brokers.is_empty() && partitions.is_empty() {
        return None;
    }
    Some(HotStatus {
        brokers,
        partitions,
        moves: i32::try_from(plan.moves.len()).unwrap_or(i32::MAX),
        bytes: i64::try_from(plan.report.bytes).unwrap_or(i64::MAX),
    })
}
