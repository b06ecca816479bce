//! What moves replicas away and removes the nodes that had them: the model of the operator's `act::drain`, one to one.

use ballast_core::{
    guard::TicketKind,
    object::{ObjectRef, by_name},
};
use ballast_kafka_core::{
    APPLICATION,
    api::Purpose,
    build::{self, Place},
    intent::{Intent, Throttle},
    observed::Observed,
    validate::{Desired, Pool},
};
use serde_json::json;

use super::{Died, NAME, Simulation};

impl Simulation {
    /// What a drain does.
    pub(super) fn drain(
        &mut self,
        desired: &Desired,
        observed: &Observed,
        intent: &Intent,
    ) -> Result<(), Died> {
        match intent {
            Intent::Cordon { brokers } => brokers.iter().try_for_each(|id| {
                self.write(format!("cordon {id}"), |sim| sim.kafka.cordoned.insert(*id)).map(|_| ())
            }),
            Intent::Uncordon { brokers } => brokers.iter().try_for_each(|id| {
                self.write(format!("uncordon {id}"), |sim| sim.kafka.cordoned.remove(id)).map(|_| ())
            }),
            Intent::MoveReplicas { moves, throttle, .. } => {
                self.is_announced(observed);
                self.throttle(throttle)?;
                self.write(format!("move {}", moves.len()), |sim| {
                    let copies = moves.iter().any(|it| !it.transfers.is_empty());
                    let slow = sim.kafka.rates.0.is_some();
                    assert!(slow || !copies, "replicas move at full speed\n{}", sim.told());
                    for it in moves {
                        let named = sim.kafka.throttled.get(it.topic.as_str());
                        for transfer in &it.transfers {
                            let replica = format!("{}:{}", it.partition, transfer.joins);
                            let named = named
                                .is_some_and(|lists| lists.followers.contains(&replica) || lists.names_all());
                            assert!(named, "{}-{} moves without a throttle", it.topic, it.partition);
                        }
                        sim.kafka.reassign(it.topic.as_str(), it.partition, Some(&it.to)).unwrap();
                    }
                })
            }
            Intent::Throttle(throttle) => self.throttle(throttle),
            Intent::CancelMoves { partitions, .. } => self.write("cancel".to_owned(), |sim| {
                for (topic, partition) in partitions {
                    sim.kafka.reassign(topic, *partition, None).unwrap();
                }
            }),
            Intent::RemoveVoter { id, directory, .. } => self
                .write(format!("remove voter {id}"), |sim| sim.kafka.remove_voter(*id, directory).unwrap()),
            Intent::Park { node, pool, place } => {
                assert!(!self.kafka.holds(place.id), "{node} is stopped and has replicas\n{}", self.told());
                let children = self.world.children(APPLICATION, NAME);
                let live = by_name(&children.stateful_sets, node).cloned();
                let set = build::parked(desired, desired.pool(pool).unwrap(), place, live.as_ref());
                self.send(format!("park {node}"), |sim| sim.world.apply(&set.into()).unwrap())
            }
            Intent::Unregister { id, .. } => {
                let _ = self.write(format!("lift cordon {id}"), |sim| sim.kafka.cordoned.remove(id))?;
                self.write(format!("unregister {id}"), |sim| sim.kafka.unregister(*id))
            }
            Intent::Forget { node, retain } => self.forget(observed, node, *retain),
            Intent::FinalizeMetadata { to, .. } => {
                self.write(format!("finalize {to}"), |sim| sim.kafka.finalize(*to))
            }
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn replace(
        &mut self,
        desired: &Desired,
        observed: &Observed,
        pool: &Pool,
        place: &Place,
        lost: Option<&ObjectRef>,
    ) -> Result<(), Died> {
        let node = observed.node(place.id).unwrap();
        assert!(node.voter.is_none(), "{} starts empty and votes\n{}", node.name, self.told());
        if let Some(claim) = node.claims.iter().find(|claim| Some(&claim.reference) == lost) {
            let (claim, version) = (&claim.reference, &claim.resource_version);
            let retired = json!({"labels": {ballast_core::label::RETIRED: "true"}});
            self.write(format!("give up {}", claim.name), |sim| {
                sim.world.patch_metadata(claim, version, &retired).unwrap();
            })?;
        }
        let claim_uid = self.claim(desired, observed, pool, place)?;
        self.start(desired, observed, pool, place, TicketKind::Join, claim_uid)
    }

    /// What is moved, and for whom, is told before: who looks, and an operator that starts anew, must know of it.
    fn is_announced(&self, observed: &Observed) {
        let Some(Ok(relocation)) = &observed.relocation else { panic!("{:?}", observed.relocation) };
        let told = self.resource.status.as_ref().and_then(|status| status.rebalance.as_ref());
        let told = told.unwrap_or_else(|| panic!("replicas move unannounced\n{}", self.told()));
        assert_eq!(told.purpose, relocation.purpose, "{}", self.told());
        let brokers = if told.purpose == Purpose::Spread { &relocation.kept } else { &relocation.leaving };
        assert!(brokers.iter().all(|id| told.brokers.contains(id)), "{brokers:?}, told {told:?}");
    }

    fn throttle(&mut self, throttle: &Throttle) -> Result<(), Died> {
        if let Some(rate) = throttle.rate {
            self.write(format!("rate {rate:?}"), |sim| sim.kafka.rates = (rate, rate))?;
        }
        if throttle.lists.is_empty() {
            return Ok(());
        }
        self.write("lists".to_owned(), |sim| {
            for (topic, lists) in &throttle.lists {
                let _ = match lists {
                    Some(lists) => sim.kafka.throttled.insert(topic.clone(), lists.clone()),
                    None => sim.kafka.throttled.remove(topic),
                };
            }
        })
    }

    fn forget(&mut self, observed: &Observed, name: &str, retain: bool) -> Result<(), Died> {
        let node = observed.nodes.iter().find(|node| node.name == name).unwrap();
        assert!(!self.kafka.holds(node.id), "{name} is removed and has replicas\n{}", self.told());
        let objects = node.stateful_set.iter().map(|set| &set.reference);
        for object in objects.chain(node.ticket.iter().map(|ticket| &ticket.reference)) {
            self.write(format!("delete {}", object.name), |sim| drop(sim.world.delete(object)))?;
        }
        for claim in node.live_claims() {
            let (claim, version) = (&claim.reference, &claim.resource_version);
            let retired = json!({"labels": {ballast_core::label::RETIRED: "true"}});
            self.write(format!("give up {}", claim.name), |sim| {
                if retain {
                    sim.world.patch_metadata(claim, version, &retired).unwrap();
                } else {
                    drop(sim.world.delete(claim));
                }
            })?;
        }
        Ok(())
    }
}
