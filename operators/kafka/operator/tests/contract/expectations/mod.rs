//! What the operator relies on, in the life of one cluster: each part goes on from what the one before has left.

mod begin;
mod breaks;
mod features;
mod loss;
mod moves;
mod settings;
mod topics;

use crate::{servers::Servers, world::World};

pub async fn all(servers: Servers) {
    let mut world = World::new(servers);
    begin::three_voters(&mut world).await;
    begin::listeners(&world).await;
    world.done("three voters");
    topics::made_and_deleted(&world).await;
    topics::pages(&world).await;
    settings::dynamic(&world).await;
    world.done("topics and settings");
    features::levels(&world).await;
    world.done("features");
    moves::reassigned(&world).await;
    moves::led(&world).await;
    world.done("moves");
    breaks::cut(&world).await;
    let lost = loss::frozen(&mut world).await;
    world.done("one frozen");
    loss::wiped(&mut world, lost).await;
    world.done("one replaced");
    loss::active_controller(&mut world).await;
    world.done("the active controller gone");
}
