//! Preferred leaders, evened out by the order of replica lists. It copies nothing, and `KRaft` does it at once; but each
//! change makes clients look for their leader again, so it stops as soon as nobody is above the limit.

use std::collections::BTreeSet;

use super::{
    layout::Layout,
    load::{self, Load, Resource},
    target::{burden, improves, relief},
};

/// What moves with the leadership.
pub(super) const DRIVERS: [Resource; 2] = [Resource::NetworkOut, Resource::Leaders];

/// Passes over all brokers. Each makes the potential smaller; in practice three are enough.
const ROUNDS: usize = 16;

/// A leadership that a broker could give away.
struct Offer {
    gain: f64,
    tie: u64,
    row: usize,
}

/// Takes leadership from brokers above the limit until they are not, or nothing helps any more. Frozen partitions are
/// left as they are.
pub(super) fn even(layout: &mut Layout<'_>, frozen: &[bool], above: f64, drivers: &[Resource]) {
    // First nobody may get above the limit for it. Where that is not enough, brokers pass on what they have got.
    let mut strict = true;
    for _ in 0..ROUNDS {
        let crowded = crowded(layout, above, drivers);
        if crowded.is_empty() {
            return;
        }
        if round(layout, frozen, above, drivers, &crowded, strict) == 0 {
            if !strict {
                return;
            }
            strict = false;
        }
    }
}

/// Staying brokers above the limit, the fullest first.
fn crowded(layout: &Layout<'_>, above: f64, drivers: &[Resource]) -> Vec<u16> {
    let staying = (0..).zip(&layout.roster.staying).filter(|(_, staying)| **staying);
    let mut crowded: Vec<(f64, u16)> = staying
        .map(|(broker, _)| (highest(layout, broker, drivers), broker))
        .filter(|(ratio, _)| *ratio > above)
        .collect();
    crowded.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    crowded.into_iter().map(|(_, broker)| broker).collect()
}

fn highest(layout: &Layout<'_>, broker: u16, drivers: &[Resource]) -> f64 {
    drivers.iter().map(|resource| layout.helpable(broker, *resource)).fold(0.0, f64::max)
}

/// How many partitions got another leader.
fn round(
    layout: &mut Layout<'_>,
    frozen: &[bool],
    above: f64,
    drivers: &[Resource],
    crowded: &[u16],
    strict: bool,
) -> usize {
    let wanted: BTreeSet<u16> = crowded.iter().copied().collect();
    let mut led: Vec<(u16, usize)> = Vec::new();
    for row in (0..frozen.len()).filter(|row| !frozen[*row]) {
        let leader = layout.list(row)[0];
        if wanted.contains(&leader) {
            led.push((leader, row));
        }
    }
    led.sort_unstable();
    let mut changes = 0;
    for broker in crowded {
        let begin = led.partition_point(|(leader, _)| leader < broker);
        let end = led.partition_point(|(leader, _)| leader <= broker);
        let rows = led[begin..end].iter().map(|(_, row)| *row);
        let mut offers: Vec<Offer> = rows
            .filter_map(|row| {
                let (_, gain) = best(layout, row, above, drivers, strict)?;
                Some(Offer { gain, tie: layout.tie(row, *broker), row })
            })
            .collect();
        offers.sort_by(|one, other| one.gain.total_cmp(&other.gain).then(one.tie.cmp(&other.tie)));
        for offer in offers {
            if highest(layout, *broker, drivers) <= above {
                break;
            }
            // Others may have filled up since the offer was made.
            if let Some((position, _)) = best(layout, offer.row, above, drivers, strict) {
                layout.lead(offer.row, position);
                changes += 1;
            }
        }
    }
    changes
}

/// Who should lead instead, and by how much the potential falls.
fn best(
    layout: &Layout<'_>,
    row: usize,
    above: f64,
    drivers: &[Resource],
    strict: bool,
) -> Option<(usize, f64)> {
    let list = layout.list(row);
    let view = layout.snapshot.view(row);
    let load = load::leadership(view);
    let relief = relief(layout, list[0], &load);
    let mut best: Option<(usize, f64)> = None;
    for (position, broker) in list.iter().copied().enumerate().skip(1) {
        if !layout.roster.staying[usize::from(broker)] || !may_lead(layout, row, broker) {
            continue;
        }
        if strict && exceeds(layout, broker, &load, above, drivers) {
            continue;
        }
        let burden = burden(layout, broker, &load);
        let gain = relief + burden;
        if improves(relief, burden) && best.is_none_or(|(_, least)| gain < least) {
            best = Some((position, gain));
        }
    }
    best
}

/// Whether a load brings a broker above the limit.
pub(super) fn exceeds(
    layout: &Layout<'_>,
    broker: u16,
    load: &Load,
    above: f64,
    drivers: &[Resource],
) -> bool {
    drivers.iter().any(|resource| {
        let index = resource.index();
        let fair = layout.fair(broker)[index];
        fair > 0.0 && layout.load(broker)[index] + load[index] > above * fair
    })
}

/// A replica that has fallen behind is not elected. One that the plan copies is complete when its turn comes.
fn may_lead(layout: &Layout<'_>, row: usize, broker: u16) -> bool {
    let view = layout.snapshot.view(row);
    let position = view.targets().iter().position(|replica| *replica == broker);
    position.is_none_or(|position| view.in_sync(position))
}
