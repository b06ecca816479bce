//! Which nodes there are, and forgetting one.

use kafka_protocol::messages::{
    ApiKey, BrokerId, DescribeClusterRequest, DescribeClusterResponse, UnregisterBrokerRequest,
    UnregisterBrokerResponse, describe_cluster_response::DescribeClusterBroker,
};

use super::{Asked, said};
use crate::{
    model::{Code, Refusal},
    server::connection::Port,
};

/// The kinds of nodes that can be asked about.
const BROKERS: i8 = 1;
const CONTROLLERS: i8 = 2;

pub(in crate::server) fn describe(
    asked: &mut Asked<'_>,
    request: &DescribeClusterRequest,
) -> DescribeClusterResponse {
    let kafka = &asked.kafka;
    let answer = DescribeClusterResponse::default()
        .with_endpoint_type(request.endpoint_type)
        .with_cluster_id(kafka.id.clone().into());
    let wanted = match asked.port {
        Port::Clients => BROKERS,
        Port::Controllers => CONTROLLERS,
    };
    if request.endpoint_type != wanted {
        let message = "the other kind of nodes has to be asked".to_owned();
        let (code, message) = said::<()>(&Err(Refusal { code: Code::MismatchedEndpointType, message }));
        return answer.with_error_code(code).with_error_message(message).with_controller_id(BrokerId(-1));
    }
    let node = |id: i32, host: &str, port: Port| {
        DescribeClusterBroker::default()
            .with_broker_id(BrokerId(id))
            .with_host(host.to_owned().into())
            .with_port(port.number().into())
    };
    if wanted == CONTROLLERS {
        let voters = kafka.voters.iter().map(|(id, voter)| node(*id, &voter.host, Port::Controllers));
        return answer
            .with_controller_id(BrokerId(kafka.leader.unwrap_or(-1)))
            .with_brokers(voters.collect());
    }
    let shown = kafka.brokers.iter().filter(|(_, broker)| request.include_fenced_brokers || !broker.fenced);
    let brokers = shown.map(|(id, broker)| {
        node(*id, &broker.host, Port::Clients)
            .with_rack(broker.rack.clone().map(Into::into))
            .with_is_fenced(broker.fenced)
    });
    // Brokers name one of them, who passes on what is for the active controller.
    answer.with_controller_id(BrokerId(asked.process.node)).with_brokers(brokers.collect())
}

pub(in crate::server) fn unregister(
    asked: &mut Asked<'_>,
    request: &UnregisterBrokerRequest,
) -> UnregisterBrokerResponse {
    let outcome =
        asked.through_controller(ApiKey::UnregisterBroker, |kafka| kafka.unregister(request.broker_id.0));
    let (code, message) = said(&outcome);
    UnregisterBrokerResponse::default().with_error_code(code).with_error_message(message)
}
