//! Accepting connections, of HTTP/1 and of HTTP/2 on the same port, and ending them like a process that dies.

use std::{
    convert::Infallible,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};

use super::{Shared, dispatch};

/// How long to wait when no connection can be accepted now.
const PAUSE: Duration = Duration::from_millis(20);

/// Lets a request end its connection.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    broken: AtomicBool,
    noticed: Notify,
}

impl Breaker {
    /// Resets the connection; requests on it get no answer.
    pub(super) fn trip(&self) {
        self.broken.store(true, Ordering::SeqCst);
        self.noticed.notify_one();
    }
}

/// A connection that ends with a reset, not in peace, once it is broken.
struct Stream {
    inner: TcpStream,
    breaker: Arc<Breaker>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.breaker.broken.load(Ordering::SeqCst) {
            // If this fails, the client sees the end of the stream instead of a reset.
            let _ = self.inner.set_zero_linger();
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Counts a connection for as long as it is open.
struct Open(Arc<Shared>);

impl Open {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.connections.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Accepts until it is aborted; then all connections end with it.
pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&shared)))),
                // Out of file descriptors, most likely: the connections that are open will end.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let _open = Open::new(&shared);
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "no TCP_NODELAY");
    }
    let breaker = Arc::new(Breaker::default());
    let stream = TokioIo::new(Stream { inner: stream, breaker: Arc::clone(&breaker) });
    let service = service_fn(|request| {
        let (shared, breaker) = (Arc::clone(&shared), Arc::clone(&breaker));
        async move { Ok::<_, Infallible>(dispatch::answer(shared, breaker, request).await) }
    });
    let server = auto::Builder::new(TokioExecutor::new());
    tokio::select! {
        ended = server.serve_connection(stream, service) => if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        },
        () = breaker.noticed.notified() => {}
    }
}
