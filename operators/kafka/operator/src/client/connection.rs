//! One connection to one node: negotiated versions, one request at a time.
//!
//! Not pipelined: Kafka's server reads the next request of a connection only when it has answered the one before
//! (`SocketServer` mutes the channel), so that only the way there and back would be saved; and after a failure it is plain which request
//! was under way. Whatever goes wrong, the connection is dropped, which closes it.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use futures::FutureExt;
use kafka_protocol::{
    messages::{ApiVersionsRequest, ApiVersionsResponse},
    protocol::{StrBytes, VersionRange},
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{
    Settings,
    call::{Call, call},
    error::{Cause, code},
    frame,
    transport::{self, Stream},
};

/// How long a connection may be unused. Kafka closes after ten minutes (`connections.max.idle.ms`).
const IDLE: Duration = Duration::from_mins(5);

call!(ApiVersionsRequest => ApiVersionsResponse, ApiVersions, reads, 0, |answer| vec![answer.error_code]);

/// An open connection.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    address: String,
    /// What the node has, by number of the request.
    node: HashMap<i16, VersionRange>,
    /// The number of the last request.
    id: i32,
    used: Instant,
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Whether some of it may have left.
    pub sent: bool,
}

/// Why an exchange failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing was sent: there is no version that both sides have.
    Unsupported(String),
    /// The connection is of no more use.
    Broken(Cause),
}

impl From<Cause> for Failure {
    fn from(cause: Cause) -> Self {
        Self::Broken(cause)
    }
}

/// The question that begins every connection.
pub(super) fn api_versions() -> ApiVersionsRequest {
    ApiVersionsRequest::default()
        .with_client_software_name(StrBytes::from_static_str(env!("CARGO_PKG_NAME")))
        .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")))
}

/// The newest version that both sides have.
fn common<C: Call>(node: Option<&VersionRange>) -> Result<i16, String> {
    let ours = C::versions();
    let Some(node) = node else { return Err(format!("the node does not have {:?}", C::KEY)) };
    let common = ours.intersect(node);
    if common.is_empty() {
        return Err(format!("the node has {:?} in versions {node}, the client in {ours}", C::KEY));
    }
    Ok(common.max)
}

impl Connection {
    /// Connects, and asks which versions the node has; both within the time for connecting, as nothing has been asked for yet.
    pub async fn open(address: &str, settings: &Settings) -> Result<Self, Failure> {
        let open = async {
            let stream = transport::open(address).await?;
            let (address, used) = (address.to_owned(), Instant::now());
            let mut connection = Self { stream, address, node: HashMap::new(), id: 0, used };
            connection.negotiate(settings).await?;
            Ok(connection)
        };
        let late = || Cause::Connect(format!("{address}: not within {} ms", settings.connect.as_millis()));
        tokio::time::timeout(settings.connect, open).await.unwrap_or_else(|_| Err(late().into()))
    }

    /// A node that does not have our version of the question answers in version 0, with the versions that it has (KIP-511).
    async fn negotiate(&mut self, settings: &Settings) -> Result<(), Failure> {
        let mut version = ApiVersionsRequest::versions().max;
        let mut frame = self.pass(&api_versions(), version, settings, &mut Progress::default()).await?;
        if frame::leading_code::<ApiVersionsRequest>(frame.clone(), version, self.id)?
            == code::UNSUPPORTED_VERSION
        {
            let answer = frame::decode::<ApiVersionsRequest>(frame, 0, self.id)?;
            let key = ApiVersionsRequest::KEY as i16;
            version =
                common::<ApiVersionsRequest>(ranges(&answer).get(&key)).map_err(Failure::Unsupported)?;
            frame = self.pass(&api_versions(), version, settings, &mut Progress::default()).await?;
        }
        let answer = frame::decode::<ApiVersionsRequest>(frame, version, self.id)?;
        if answer.error_code != 0 {
            let why = format!("the node does not tell its versions: code {}", answer.error_code);
            return Err(Cause::Unparsable(why).into());
        }
        self.node = ranges(&answer);
        Ok(())
    }

    /// Whether it was used not long ago.
    pub fn is_fresh(&self) -> bool {
        self.used.elapsed() < IDLE
    }

    /// Whether it can be used again: not when it is old, the node has moved or closed it, or has said something unasked.
    pub fn is_usable(&mut self, address: &str) -> bool {
        let mut byte = [0];
        self.is_fresh() && self.address == address && self.stream.read(&mut byte).now_or_never().is_none()
    }

    /// Sends a request and reads its answer. To be dropped after a failure, and if it is not waited for to the end.
    pub async fn exchange<C: Call>(
        &mut self,
        request: &C,
        settings: &Settings,
        progress: &mut Progress,
    ) -> Result<C::Answer, Failure> {
        let version = common::<C>(self.node.get(&(C::KEY as i16))).map_err(Failure::Unsupported)?;
        let frame = self.pass(&request.clone().fit(version), version, settings, progress).await?;
        let answer = frame::decode::<C>(frame, version, self.id)?;
        self.used = Instant::now();
        Ok(answer)
    }

    /// One frame there and one back.
    async fn pass<C: Call>(
        &mut self,
        request: &C,
        version: i16,
        settings: &Settings,
        progress: &mut Progress,
    ) -> Result<bytes::Bytes, Cause> {
        self.id = self.id.wrapping_add(1);
        let frame = frame::encode(request, version, self.id, &settings.client_id, settings.max_frame)?;
        progress.sent = true;
        self.stream.write_all(&frame).await.map_err(|error| Cause::Disconnected(error.to_string()))?;
        frame::read(&mut self.stream, settings.max_frame).await
    }
}

fn ranges(answer: &ApiVersionsResponse) -> HashMap<i16, VersionRange> {
    let range = |api: &kafka_protocol::messages::api_versions_response::ApiVersion| {
        (api.api_key, VersionRange { min: api.min_version, max: api.max_version })
    };
    answer.api_keys.iter().map(range).collect()
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
