//! How even a layout is.

use super::{
    layout::{self, Layout},
    load::{Resource, real},
    outcome::Evenness,
};

/// How even each resource that is known is over the members, and how many partitions have a rack that is too full.
pub(super) fn measure(layout: &Layout<'_>, members: &[bool]) -> (Vec<Evenness>, usize) {
    let total = layout::sum(layout.loads(), |index| members[index]);
    let shares = layout::shares(layout.snapshot.brokers(), members, &total);
    let count = members.iter().filter(|member| **member).count();
    let evenness = Resource::ALL.into_iter().filter_map(|resource| {
        let index = resource.index();
        let inside = (0_u16..).zip(members).filter(|(_, member)| **member).map(|(broker, _)| broker);
        let ratio = |broker: u16| layout.load(broker)[index] / shares[usize::from(broker)][index];
        // The last of equals.
        let busiest = inside.max_by(|one, other| ratio(*one).total_cmp(&ratio(*other)))?;
        (total[index] > 0.0).then(|| Evenness {
            resource,
            average: total[index] / real(count as u64),
            maximum: layout.load(busiest)[index],
            ratio: ratio(busiest),
            broker: layout.id(busiest),
        })
    });
    (evenness.collect(), violations(layout))
}

fn violations(layout: &Layout<'_>) -> usize {
    let stays: Vec<bool> = layout.roster.leaving.iter().map(|leaving| !leaving).collect();
    let racks = &layout.roster.racks;
    (0..layout.snapshot.len()).filter(|row| racks.is_violated(layout.list(*row), &stays)).count()
}
