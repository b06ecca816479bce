//! Settings that are kept in the cluster.

use kafka_protocol::messages::{
    ApiKey, DescribeConfigsRequest, DescribeConfigsResponse, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    describe_configs_response::{DescribeConfigsResourceResult, DescribeConfigsResult},
    incremental_alter_configs_request::AlterableConfig,
    incremental_alter_configs_response::AlterConfigsResourceResponse,
};

use super::{Asked, said};
use crate::{
    model::{Change, Code, Entry, Refusal, Resource},
    server::connection::Port,
};

/// Kinds of resources (`ConfigResource.Type`).
const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const LOGGER: i8 = 8;
/// Kinds of changes (`AlterConfigOp.OpType`).
const SET: i8 = 0;
const DELETE: i8 = 1;

fn resource(kind: i8, name: &str) -> Result<Resource, Refusal> {
    match (kind, name) {
        (TOPIC, topic) => Ok(Resource::Topic(topic.to_owned())),
        (BROKER, "") => Ok(Resource::Brokers),
        (BROKER | LOGGER, node) => match node.parse() {
            Ok(node) if kind == BROKER => Ok(Resource::Broker(node)),
            Ok(node) => Ok(Resource::Logger(node)),
            Err(_) => Code::InvalidRequest.because(format!("{node} is no broker")),
        },
        _ => Code::InvalidRequest.because(format!("resources of kind {kind} are not simulated")),
    }
}

fn described(entry: Entry) -> DescribeConfigsResourceResult {
    DescribeConfigsResourceResult::default()
        .with_name(entry.name.into())
        .with_value(Some(entry.value.into()))
        .with_read_only(entry.read_only)
        .with_config_source(entry.source as i8)
}

pub(in crate::server) fn describe(
    asked: &mut Asked<'_>,
    request: &DescribeConfigsRequest,
) -> DescribeConfigsResponse {
    let results = request.resources.iter().map(|wanted| {
        let (kind, name) = (wanted.resource_type, wanted.resource_name.as_str());
        let entries = resource(kind, name).and_then(|resource| {
            asked.kafka.describe(&resource, &asked.process, asked.port == Port::Controllers)
        });
        let (code, message) = said(&entries);
        let asked_for = |entry: &Entry| {
            let keys = wanted.configuration_keys.as_ref();
            keys.is_none_or(|keys| keys.iter().any(|key| key.as_str() == entry.name))
        };
        let configs = entries.unwrap_or_default().into_iter().filter(asked_for).map(described);
        DescribeConfigsResult::default()
            .with_error_code(code)
            .with_error_message(message)
            .with_resource_type(kind)
            .with_resource_name(wanted.resource_name.clone())
            .with_configs(configs.collect())
    });
    DescribeConfigsResponse::default().with_results(results.collect())
}

fn change(config: &AlterableConfig) -> Result<(String, Change), Refusal> {
    let name = config.name.to_string();
    match config.config_operation {
        SET => Ok((name, Some(config.value.as_ref().map(ToString::to_string).unwrap_or_default()))),
        DELETE => Ok((name, None)),
        other => Code::InvalidRequest.because(format!("changes of kind {other} are not simulated")),
    }
}

pub(in crate::server) fn alter(
    asked: &mut Asked<'_>,
    request: &IncrementalAlterConfigsRequest,
) -> IncrementalAlterConfigsResponse {
    let broker = (asked.port == Port::Clients).then_some(asked.process.node);
    let mut responses = vec![];
    for wanted in &request.resources {
        let (kind, name) = (wanted.resource_type, wanted.resource_name.as_str());
        let outcome = asked.through_controller(ApiKey::IncrementalAlterConfigs, |kafka| {
            let changes = wanted.configs.iter().map(change).collect::<Result<Vec<_>, _>>()?;
            kafka.alter(&resource(kind, name)?, &changes, broker, request.validate_only)
        });
        let (code, message) = said(&outcome);
        let response = AlterConfigsResourceResponse::default()
            .with_error_code(code)
            .with_error_message(message)
            .with_resource_type(kind)
            .with_resource_name(wanted.resource_name.clone());
        responses.push(response);
    }
    IncrementalAlterConfigsResponse::default().with_responses(responses)
}
