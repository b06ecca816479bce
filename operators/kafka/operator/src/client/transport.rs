//! The bytes' way to a node. Plaintext for now: what wraps a stream (TLS, and SASL before the first request) belongs here.

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

use super::error::Cause;

/// An open way to a node and back.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects to `host:port`. Bounded by the caller.
pub(super) async fn open(address: &str) -> Result<Box<dyn Stream>, Cause> {
    let failed = |error: std::io::Error| Cause::Connect(format!("{address}: {error}"));
    let stream = TcpStream::connect(address).await.map_err(failed)?;
    // Requests are small and waited for.
    stream.set_nodelay(true).map_err(failed)?;
    Ok(Box::new(stream))
}
