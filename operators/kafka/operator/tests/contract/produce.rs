//! Records, so that there is something to measure and to move.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::{
    messages::{
        ApiKey, ProduceRequest, ProduceResponse, RequestHeader, ResponseHeader, TopicName,
        produce_request::{PartitionProduceData, TopicProduceData},
    },
    protocol::{Decodable, Encodable, HeaderVersion, encode_request_header_into_buffer},
    records::{Compression, Record, RecordBatchEncoder, RecordEncodeOptions, TimestampType},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// All of Kafka 4.x has it.
const VERSION: i16 = 9;
/// Less than what Kafka takes in one batch.
const BATCH: usize = 900_000;

fn batch(bytes: usize) -> Bytes {
    let record = Record {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: -1,
        producer_id: -1,
        producer_epoch: -1,
        timestamp_type: TimestampType::Creation,
        offset: 0,
        sequence: -1,
        timestamp: 1_700_000_000_000,
        key: None,
        value: Some(vec![b'x'; bytes].into()),
        headers: std::iter::empty().collect(),
    };
    let options = RecordEncodeOptions { version: 2, compression: Compression::None };
    let mut buffer = BytesMut::new();
    RecordBatchEncoder::encode(&mut buffer, [&record], &options).unwrap();
    buffer.freeze()
}

/// Writes so many records of 900 kB to a partition, acknowledged by all replicas in sync. To be asked of its leader.
pub async fn produce(address: &str, topic: &str, partition: i32, records: usize) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = ProduceRequest::default().with_acks(-1).with_timeout_ms(30_000).with_topic_data(vec![
        TopicProduceData::default().with_name(TopicName(topic.to_owned().into())).with_partition_data(vec![
            PartitionProduceData::default().with_index(partition).with_records(Some(batch(BATCH))),
        ]),
    ]);
    let header = RequestHeader::default()
        .with_request_api_key(ApiKey::Produce as i16)
        .with_request_api_version(VERSION)
        .with_correlation_id(1);
    let mut body = BytesMut::new();
    encode_request_header_into_buffer(&mut body, &header).unwrap();
    request.encode(&mut body, VERSION).unwrap();
    let mut frame = BytesMut::new();
    frame.put_u32(u32::try_from(body.len()).unwrap());
    frame.put(body);
    for _ in 0..records {
        stream.write_all(&frame).await.unwrap();
        let length = stream.read_u32().await.unwrap();
        let mut answer = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut answer).await.unwrap();
        let mut answer = Bytes::from(answer);
        ResponseHeader::decode(&mut answer, ProduceResponse::header_version(VERSION)).unwrap();
        let answer =
            ProduceResponse::decode(&mut answer, VERSION).map(|read| (read, answer.remaining())).unwrap();
        let code = answer.0.responses[0].partition_responses[0].error_code;
        assert_eq!((code, answer.1), (0, 0), "{:?}", answer.0);
    }
}
