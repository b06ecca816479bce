//! Connections that break while an answer is under way.

use kafka_operator::client::{Cause, Error, Unknown};

use super::topics::{assigned, known};
use crate::{proxy::Proxy, world::World};

/// What the client may conclude when half an answer is there: nothing, and of a change that it may have been made.
pub async fn cut(world: &World) {
    let proxy = Proxy::start(world.servers.addresses().brokers[&2].clone()).await;
    let direct = world.network.redirect(2, proxy.address.clone());
    world.broker(2).describe_cluster().await.unwrap();

    proxy.cut_after(0);
    let error = world.broker(2).describe_cluster().await.unwrap_err();
    eprintln!("  half an answer: {error}");
    let Error::Unknown(Unknown { cause: Cause::Disconnected(_), may_have_been_applied: false }) = error
    else {
        panic!("{error}")
    };
    for _ in 0..3 {
        world.brokers().describe_cluster().await.unwrap();
    }

    proxy.mend();
    world.broker(2).describe_cluster().await.unwrap();
    proxy.cut_after(0);
    let error = world.broker(2).create_topic(&assigned("cut", &[&[1]]), false).await.unwrap_err();
    eprintln!("  half an answer to a change: {error}");
    assert!(error.may_have_been_applied(), "{error}");
    world.network.redirect(2, direct);
    known(world, "cut").await;
    let cut = world.brokers().topics(Some(&["cut".to_owned()])).await.unwrap().found.remove(0);
    world.brokers().delete_topic(cut.id).await.unwrap();
}
