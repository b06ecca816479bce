//! Relieves brokers that have too much: leadership first, which costs nothing, then the replicas that bring most for
//! their bytes, then swaps. It stops at the limit; evenness beyond that is worth no byte.

mod bounds;
mod search;
mod swap;

use super::{
    emit::{self, Found},
    flights::Flights,
    layout::Layout,
    leaders,
    load::{Resource, real},
    request::{Goal, Request},
};

pub(super) fn plan(layout: &mut Layout<'_>, flights: &Flights, request: &Request) -> Found {
    let hot = request.goal == Goal::HotPartitions;
    // What should be even, and what of it leadership alone can change.
    let (drivers, led): (&[Resource], &[Resource]) = if hot {
        (&[Resource::NetworkIn, Resource::NetworkOut], &[Resource::NetworkOut])
    } else {
        (&Resource::ALL, &leaders::DRIVERS)
    };
    let mut found = Found { leaders_first: true, ..Found::default() };
    found.unfixable = bounds::unfixable(layout, request);
    let over = emit::above(layout, request.trigger, drivers);
    if over.is_empty() && !(hot && (is_overloaded(layout, request) || has_hot_partition(layout, request))) {
        return found;
    }
    let mut frozen = flights.frozen(layout.snapshot.len());
    for (row, view) in layout.snapshot.views().enumerate() {
        frozen[row] |= view.source().is_none();
    }
    layout.give_up(request.stop, drivers);
    leaders::even(layout, &frozen, request.stop, led);
    found.lower_bound_bytes = bounds::bytes(layout, request.stop, drivers);
    let mut search = search::Search::new(layout, frozen, request);
    // First what leadership cannot change, which has to be copied anyway, whatever it does to leadership: that is evened
    // out again for nothing. Only what is then still above the limit is worth copying for the sake of leadership.
    let tied: Vec<Resource> =
        bounds::TIED.into_iter().filter(|resource| drivers.contains(resource)).collect();
    for wanted in [&tied[..], drivers] {
        search.run(wanted);
        leaders::even(search.layout, &search.frozen, request.stop, led);
    }
    found.unresolved = emit::above(layout, request.stop, drivers);
    found
}

/// Whether a broker's network has nearly as much to do as it can.
fn is_overloaded(layout: &Layout<'_>, request: &Request) -> bool {
    let brokers = layout.snapshot.brokers().iter().zip(layout.loads()).zip(&layout.roster.staying);
    brokers.filter(|(_, staying)| **staying).any(|((broker, load), _)| {
        let limits = [
            (broker.capacity.network_in, Resource::NetworkIn),
            (broker.capacity.network_out, Resource::NetworkOut),
        ];
        limits.iter().any(|(capacity, resource)| {
            capacity.is_some_and(|capacity| load[resource.index()] > request.capacity_above * real(capacity))
        })
    })
}

/// Whether one partition is a large part of what a broker should have.
fn has_hot_partition(layout: &Layout<'_>, request: &Request) -> bool {
    let share = bounds::largest_share(layout, Resource::NetworkIn);
    layout.snapshot.views().any(|view| view.bytes_in() > request.partition_trigger * share)
}
