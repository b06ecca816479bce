//! Which requests a node has at which port, and who answers them.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::{
    messages::{
        AddRaftVoterRequest, AlterPartitionReassignmentsRequest, ApiKey, ApiVersionsRequest,
        CreateTopicsRequest, DeleteTopicsRequest, DescribeClusterRequest, DescribeConfigsRequest,
        DescribeLogDirsRequest, DescribeQuorumRequest, DescribeTopicPartitionsRequest, ElectLeadersRequest,
        IncrementalAlterConfigsRequest, ListOffsetsRequest, ListPartitionReassignmentsRequest,
        RemoveRaftVoterRequest, ResponseHeader, UnregisterBrokerRequest, UpdateFeaturesRequest,
    },
    protocol::{Encodable, HeaderVersion, Request, decode_request_header_from_buffer},
};

use super::{
    answer::{Asked, configs, disks, features, membership, moves, quorum, topics},
    connection::Port,
};

/// Requests that both ports have.
const BOTH: &[ApiKey] = &[
    ApiKey::ApiVersions,
    ApiKey::DescribeCluster,
    ApiKey::DescribeQuorum,
    ApiKey::AddRaftVoter,
    ApiKey::RemoveRaftVoter,
    ApiKey::DescribeConfigs,
    ApiKey::IncrementalAlterConfigs,
    ApiKey::AlterPartitionReassignments,
    ApiKey::ListPartitionReassignments,
    ApiKey::ElectLeaders,
    ApiKey::UpdateFeatures,
    ApiKey::UnregisterBroker,
    ApiKey::CreateTopics,
    ApiKey::DeleteTopics,
];
/// Requests that only brokers have.
const CLIENTS: &[ApiKey] = &[ApiKey::DescribeTopicPartitions, ApiKey::DescribeLogDirs, ApiKey::ListOffsets];

/// The requests that a port has.
pub(super) fn keys(port: Port) -> impl Iterator<Item = ApiKey> {
    let more = if port == Port::Clients { CLIENTS } else { &[] };
    BOTH.iter().chain(more).copied()
}

/// A request that has arrived.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) key: ApiKey,
    version: i16,
    id: i32,
    body: Bytes,
}

impl Question {
    pub(super) fn read(mut frame: Bytes, port: Port) -> Result<Self, String> {
        let header = decode_request_header_from_buffer(&mut frame).map_err(|error| error.to_string())?;
        let (number, version) = (header.request_api_key, header.request_api_version);
        let key = ApiKey::try_from(number).map_err(|()| format!("{number} is no request"))?;
        if !keys(port).any(|known| known == key) {
            return Err(format!("{key:?} is not for this port"));
        }
        Ok(Self { key, version, id: header.correlation_id, body: frame })
    }
}

/// The frame of the answer.
pub(super) fn answer(asked: &mut Asked<'_>, question: Question) -> Result<Bytes, String> {
    let question = (asked, question);
    match question.1.key {
        ApiKey::ApiVersions => reply::<ApiVersionsRequest>(question, features::describe),
        ApiKey::UpdateFeatures => reply::<UpdateFeaturesRequest>(question, features::update),
        ApiKey::DescribeCluster => reply::<DescribeClusterRequest>(question, membership::describe),
        ApiKey::UnregisterBroker => reply::<UnregisterBrokerRequest>(question, membership::unregister),
        ApiKey::DescribeQuorum => reply::<DescribeQuorumRequest>(question, quorum::describe),
        ApiKey::AddRaftVoter => reply::<AddRaftVoterRequest>(question, quorum::add),
        ApiKey::RemoveRaftVoter => reply::<RemoveRaftVoterRequest>(question, quorum::remove),
        ApiKey::DescribeConfigs => reply::<DescribeConfigsRequest>(question, configs::describe),
        ApiKey::IncrementalAlterConfigs => reply::<IncrementalAlterConfigsRequest>(question, configs::alter),
        ApiKey::AlterPartitionReassignments => {
            reply::<AlterPartitionReassignmentsRequest>(question, moves::alter)
        }
        ApiKey::ListPartitionReassignments => {
            reply::<ListPartitionReassignmentsRequest>(question, moves::list)
        }
        ApiKey::ElectLeaders => reply::<ElectLeadersRequest>(question, moves::elect),
        ApiKey::DescribeTopicPartitions => {
            reply::<DescribeTopicPartitionsRequest>(question, topics::describe)
        }
        ApiKey::CreateTopics => reply::<CreateTopicsRequest>(question, topics::create),
        ApiKey::DeleteTopics => reply::<DeleteTopicsRequest>(question, topics::delete),
        ApiKey::DescribeLogDirs => reply::<DescribeLogDirsRequest>(question, disks::describe),
        ApiKey::ListOffsets => reply::<ListOffsetsRequest>(question, disks::offsets),
        other => Err(format!("{other:?} is not simulated")),
    }
}

fn reply<Q: Request>(
    (asked, mut question): (&mut Asked<'_>, Question),
    handle: impl FnOnce(&mut Asked<'_>, &Q) -> Q::Response,
) -> Result<Bytes, String> {
    let version = question.version;
    let request = Q::decode(&mut question.body, version).map_err(|error| error.to_string())?;
    framed(&handle(asked, &request), version, question.id)
}

fn framed<R: Encodable + HeaderVersion>(answer: &R, version: i16, id: i32) -> Result<Bytes, String> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let mut body = BytesMut::new();
    let header = ResponseHeader::default().with_correlation_id(id);
    header.encode(&mut body, R::header_version(version)).map_err(|error| failed(&error))?;
    answer.encode(&mut body, version).map_err(|error| failed(&error))?;
    let mut frame = BytesMut::new();
    frame.put_u32(u32::try_from(body.len()).map_err(|error| failed(&error))?);
    frame.put(body);
    Ok(frame.freeze())
}
