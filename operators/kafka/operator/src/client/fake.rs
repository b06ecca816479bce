//! A node for unit tests: answers what the test says, byte by byte if need be.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::{
    messages::{
        ApiKey, ApiVersionsResponse, RequestHeader, ResponseHeader, api_versions_response::ApiVersion,
    },
    protocol::{Decodable, Encodable, HeaderVersion},
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use super::frame;

/// A request that has arrived.
pub(super) struct Question {
    pub key: ApiKey,
    pub version: i16,
    pub id: i32,
}

/// What happens to it.
pub(super) enum Reply {
    /// These bytes, and the connection stays.
    Bytes(Bytes),
    /// These bytes, and the connection ends.
    Last(Bytes),
    /// Nothing, for as long as the node is there.
    Silence,
}

/// Listens until it is dropped.
pub(super) struct Fake {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Fake {
    pub async fn start(answer: impl Fn(&Question) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (answer, count) = (Arc::new(answer), Arc::clone(&connections));
        let task = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                open.spawn(serve(stream, Arc::clone(&answer)));
            }
        });
        Self { address, connections, task }
    }

    /// How often somebody has connected.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve(mut stream: TcpStream, answer: Arc<impl Fn(&Question) -> Reply>) {
    while let Ok(mut frame) = frame::read(&mut stream, frame::MAX_FRAME).await {
        let key = i16::from_be_bytes([frame[0], frame[1]]);
        let version = i16::from_be_bytes([frame[2], frame[3]]);
        let key = ApiKey::try_from(key).unwrap();
        let header = RequestHeader::decode(&mut frame, key.request_header_version(version)).unwrap();
        match answer(&Question { key, version, id: header.correlation_id }) {
            Reply::Bytes(bytes) => stream.write_all(&bytes).await.unwrap(),
            Reply::Last(bytes) => {
                let _ = stream.write_all(&bytes).await;
                return;
            }
            Reply::Silence => std::future::pending().await,
        }
    }
}

/// The frame of an answer.
pub(super) fn framed<R: Encodable + HeaderVersion>(answer: &R, version: i16, id: i32) -> Bytes {
    let mut body = BytesMut::new();
    ResponseHeader::default().with_correlation_id(id).encode(&mut body, R::header_version(version)).unwrap();
    answer.encode(&mut body, version).unwrap();
    let mut frame = BytesMut::new();
    frame.put_u32(u32::try_from(body.len()).unwrap());
    frame.put(body);
    frame.freeze()
}

/// An answer to the question, as it should be.
pub(super) fn answer<R: Encodable + HeaderVersion>(question: &Question, answer: &R) -> Reply {
    Reply::Bytes(framed(answer, question.version, question.id))
}

/// Tells that the node has these requests in these versions, and the question for them in all.
pub(super) fn versions(apis: &[(ApiKey, i16, i16)]) -> ApiVersionsResponse {
    let api = |(key, min, max): &(ApiKey, i16, i16)| {
        ApiVersion::default().with_api_key(*key as i16).with_min_version(*min).with_max_version(*max)
    };
    let own = (ApiKey::ApiVersions, 0, 4);
    ApiVersionsResponse::default().with_api_keys(apis.iter().chain([&own]).map(api).collect())
}
