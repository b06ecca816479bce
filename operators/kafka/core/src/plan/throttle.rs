//! How fast replicas are moved: what Kafka has to be told before they are, and to forget afterwards.

use super::Context;
use crate::{
    api::Purpose,
    intent::{Intent, Throttle},
    moving::{Lists, Moving},
    rebalance::{outcome::Move, schedule},
    relocation::Relocation,
};

/// The throttle for what runs, if it is not there yet, or names what runs no longer.
pub(super) fn mend(context: &Context<'_>, relocation: &Relocation, moving: &Moving) -> Option<Intent> {
    let throttle = wanted(context, relocation, moving, &[]);
    (!throttle.is_empty()).then_some(Intent::Throttle(throttle))
}

/// What has to change for the throttle to be as it should be. What others have set for all brokers stays and counts; so do
/// lists of whole topics.
pub(super) fn wanted(
    context: &Context<'_>,
    relocation: &Relocation,
    moving: &Moving,
    starting: &[&Move],
) -> Throttle {
    let wanted = schedule::throttled(&relocation.snapshot, starting);
    let ours = context.observed.rebalance.as_ref().and_then(|status| status.throttle).is_some();
    let begun = relocation.purpose != Purpose::Drain || !relocation.leaving.is_empty();
    let copies = begun && relocation.plan.moves.iter().any(|it| !it.transfers.is_empty());
    let rate = match (wanted.is_empty(), ours) {
        (false, true) => {
            let rate = Some(context.desired.throttle);
            (moving.rates != (rate, rate)).then_some(rate)
        }
        // Nothing is copied for us any more.
        (true, true) if !copies => (moving.rates != (None, None)).then_some(None),
        _ => None,
    };
    let mut lists = vec![];
    for topic in &wanted {
        let name = topic.topic.to_string();
        let lists_wanted = Lists { leaders: topic.leader_value(), followers: topic.follower_value() };
        let have = moving.throttled.get(&name);
        if have != Some(&lists_wanted) && !have.is_some_and(Lists::names_all) {
            lists.push((name, Some(lists_wanted)));
        }
    }
    let needed = |name: &str| wanted.iter().any(|topic| topic.topic.as_str() == name);
    let leftover = moving.throttled.iter().filter(|(name, lists)| !needed(name) && !lists.names_all());
    lists.extend(leftover.map(|(name, _)| (name.clone(), None)));
    Throttle { rate, lists }
}
