//! Scenarios of the Kafka operator.

pub(crate) mod cluster;
mod create;
mod drain;
mod hot;
mod life;
mod lost;
pub(crate) mod quorum;
mod rebalance;
mod restart;
pub(crate) mod stream;
pub(crate) mod tools;
mod upgrade;

use crate::{operator::Operator, rights, scenario, scenario::Scenario};

/// All of them, in the order in which they run.
pub(crate) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = vec![
        scenario!(
            "kafka-create",
            "three nodes in three zones, racks, a topic; fewer brokers than it has replicas are refused",
            create::three_zones,
            gate
        ),
        scenario!(
            "kafka-dedicated",
            "three controllers and three brokers, each kind in three racks; the canary passes",
            create::dedicated,
            gate
        ),
        scenario!(
            "kafka-drain",
            "4 → 3 brokers under load with replicas of all kinds, the operator killed: nothing is lost, nothing left",
            drain::four_to_three,
            gate
        ),
        scenario!(
            "kafka-roll",
            "a change of settings under load, one node at a time, the active controller last",
            restart::rolling,
            gate
        ),
        scenario!(
            "kafka-disturbed",
            "a drain with topics made and deleted, a broker killed, and the broker wanted again half way",
            drain::disturbed
        ),
        scenario!(
            "kafka-votes",
            "3 → 5 → 3 nodes that vote: votes are given and given back",
            drain::with_votes
        ),
        scenario!(
            "kafka-rebalance",
            "a new broker gets its share; one in the middle is emptied, filled again, and replaced, under load",
            rebalance::in_the_middle
        ),
        scenario!(
            "kafka-pools",
            "combined nodes become dedicated controllers and brokers by other pools, under load",
            rebalance::pools
        ),
        scenario!(
            "kafka-hot",
            "everything that is written goes to one broker: it is told of, and relieved",
            hot::relieved
        ),
        scenario!(
            "kafka-upgrade",
            "4.1 → 4.4 under load, taken back half way once; the metadata version last, and then no way back",
            upgrade::with_a_way_back
        ),
        scenario!(
            "kafka-lost-volume",
            "the first controller loses its volume under load and starts empty; the only copy of a topic waits for a person",
            lost::volumes
        ),
        scenario!(
            "kafka-restart-all",
            "all pods deleted while the operator is away: they come back with their data",
            restart::all_pods
        ),
        scenario!(
            "kafka-quorum",
            "1 → 3 → 5 → 3 controllers under load, the active one killed in each change",
            quorum::resized
        ),
        scenario!(
            "kafka-uninstall",
            "without the operator nodes run on; another build takes over without a restart",
            life::take_over
        ),
        scenario!(
            "kafka-invalid",
            "wrong resources are refused with the field, and nothing changes",
            life::refused
        ),
        scenario!("kafka-namespaced", "with rights in one namespace only", life::one_namespace),
        scenario!(
            "kafka-quiet",
            "when nothing is to be done nothing is written or listed",
            create::quiet,
            needs_lab
        ),
        // The last one: it looks at what all others made the operator do.
        scenario!(
            "kafka-rights",
            "the operator has exactly the rights that it uses",
            rights::exact,
            needs_lab
        ),
    ];
    for scenario in &mut scenarios {
        scenario.operator = Operator::Kafka;
    }
    scenarios
}
