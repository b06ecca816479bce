//! Frames: a length of four bytes, a header, and a message ("Network" and "Requests" in Kafka's protocol guide).

use std::fmt::Display;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use kafka_protocol::{
    messages::{RequestHeader, ResponseHeader},
    protocol::{Decodable, HeaderVersion, StrBytes, encode_request_header_into_buffer},
};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::{call::Call, error::Cause};

/// The largest frame that is read or sent, in bytes: what Kafka's servers take (`socket.request.max.bytes`).
pub const MAX_FRAME: usize = 100 * 1024 * 1024;

/// The bytes of a frame's length.
const PREFIX: usize = size_of::<i32>();

fn size(bytes: usize) -> Cause {
    Cause::Frame(i64::try_from(bytes).unwrap_or(i64::MAX))
}

fn unwritable(error: impl Display) -> Cause {
    Cause::Unwritable(error.to_string())
}

fn unparsable(error: impl Display) -> Cause {
    Cause::Unparsable(error.to_string())
}

/// The whole frame of a request.
pub(super) fn encode<C: Call>(
    request: &C,
    version: i16,
    id: i32,
    client: &str,
    limit: usize,
) -> Result<Bytes, Cause> {
    let header = RequestHeader::default()
        .with_request_api_key(C::KEY as i16)
        .with_request_api_version(version)
        .with_correlation_id(id)
        .with_client_id(Some(StrBytes::from_string(client.to_owned())));
    let mut frame = BytesMut::new();
    frame.put_bytes(0, PREFIX);
    encode_request_header_into_buffer(&mut frame, &header).map_err(unwritable)?;
    request.encode(&mut frame, version).map_err(unwritable)?;
    let length = frame.len() - PREFIX;
    let prefix = i32::try_from(length).ok().filter(|_| length <= limit).ok_or_else(|| size(length))?;
    frame[..PREFIX].copy_from_slice(&prefix.to_be_bytes());
    Ok(frame.freeze())
}

/// Reads one frame, without its length. Memory grows with what arrives, not with what is announced.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin), limit: usize) -> Result<Bytes, Cause> {
    let disconnected = |error: std::io::Error| Cause::Disconnected(error.to_string());
    let announced = stream.read_i32().await.map_err(disconnected)?;
    let length = usize::try_from(announced).map_err(|_| Cause::Frame(announced.into()))?;
    if length > limit {
        return Err(size(length));
    }
    let mut frame = Vec::new();
    stream.take(length as u64).read_to_end(&mut frame).await.map_err(disconnected)?;
    if frame.len() < length {
        return Err(Cause::Disconnected(format!("after {} of {length} bytes", frame.len())));
    }
    Ok(frame.into())
}

/// What follows the header of the answer to the request `id`. The version of the header follows from the message's.
fn body<C: Call>(mut frame: Bytes, version: i16, id: i32) -> Result<Bytes, Cause> {
    let header =
        ResponseHeader::decode(&mut frame, C::Answer::header_version(version)).map_err(unparsable)?;
    if header.correlation_id != id {
        return Err(Cause::Unparsable(format!("an answer to request {}, not {id}", header.correlation_id)));
    }
    Ok(frame)
}

/// The answer to the request `id`. Bytes after it are an error: what is read must be what was written.
///
/// kafka-protocol reserves as many elements as an array announces, before it reads them. A wrong number makes it ask for
/// hundreds of gigabytes, which Linux grants where it overcommits, as kubelet has it do; elsewhere the process would end.
pub(super) fn decode<C: Call>(frame: Bytes, version: i16, id: i32) -> Result<C::Answer, Cause> {
    let mut body = body::<C>(frame, version, id)?;
    let answer = C::Answer::decode(&mut body, version).map_err(unparsable)?;
    match body.remaining() {
        0 => Ok(answer),
        more => Err(Cause::Unparsable(format!("{more} bytes more than the answer has"))),
    }
}

/// The code with which an answer begins, of those requests whose answers begin with one in every version.
pub(super) fn leading_code<C: Call>(frame: Bytes, version: i16, id: i32) -> Result<i16, Cause> {
    body::<C>(frame, version, id)?.try_get_i16().map_err(unparsable)
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
