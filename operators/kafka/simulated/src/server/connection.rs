//! Listening, frames, and what becomes of a request.

use std::{future::pending, io, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use jiff::Timestamp;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{JoinSet, spawn_blocking},
};

use super::{
    Moment, Shared,
    answer::Asked,
    dispatch::{self, Question},
    journal, lock,
};

/// How long to wait when no connection can be accepted now.
const PAUSE: Duration = Duration::from_millis(20);
/// The largest frame that is read, in bytes: more than any request of a test.
const LARGEST: usize = 4 << 20;

/// Which of a node's two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Port {
    Clients,
    Controllers,
}

impl Port {
    pub(super) fn number(self) -> u16 {
        match self {
            Self::Clients => 9092,
            Self::Controllers => 9093,
        }
    }
}

/// Accepts until it is aborted; then all connections end with it.
pub(super) async fn accept(listener: std::net::TcpListener, shared: Arc<Shared>, pod: String, port: Port) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "cannot listen"),
    };
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream, Arc::clone(&shared), pod.clone(), port))),
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

async fn serve(mut stream: TcpStream, shared: Arc<Shared>, pod: String, port: Port) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "no TCP_NODELAY");
    }
    while let Ok(frame) = read(&mut stream).await {
        // A task of its own: what has arrived is done, also when the connection ends before it is answered.
        let answered = tokio::spawn(exchange(Arc::clone(&shared), pod.clone(), port, frame));
        let Ok(Some(answer)) = answered.await else { return };
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut TcpStream) -> io::Result<Bytes> {
    let length = stream.read_u32().await?;
    let length = usize::try_from(length).ok().filter(|length| *length <= LARGEST);
    let mut frame = BytesMut::zeroed(length.ok_or(io::ErrorKind::InvalidData)?);
    stream.read_exact(&mut frame).await?;
    Ok(frame.freeze())
}

/// The frame of the answer; `None`: the connection ends instead.
async fn exchange(shared: Arc<Shared>, pod: String, port: Port, frame: Bytes) -> Option<Bytes> {
    if is_frozen(&shared, &pod) {
        return pending().await;
    }
    let question = match Question::read(frame, port) {
        Ok(question) => question,
        Err(error) => {
            tracing::warn!(%error, "a request cannot be read");
            return None;
        }
    };
    let strike = note(&shared, &pod, port, &question);
    if let Some(strike) = strike.as_ref().filter(|strike| strike.moment == Moment::Before) {
        act(strike).await;
        return None;
    }
    let answer = ask(&shared, &pod, port, |asked| dispatch::answer(asked, question))?;
    if let Some(strike) = &strike {
        act(strike).await;
        return None;
    }
    answer.inspect_err(|error| tracing::warn!(%error, "a request cannot be answered")).ok()
}

fn is_frozen(shared: &Shared, pod: &str) -> bool {
    let mut state = lock(&shared.state);
    state.of_pod(pod).is_some_and(|cluster| {
        let process = cluster.kafka.running.get(pod);
        process.is_some_and(|process| cluster.kafka.frozen.contains(&process.node))
    })
}

/// Whatever it does, it may take its time.
async fn act(strike: &journal::Strike) {
    let act = Arc::clone(&strike.act);
    if spawn_blocking(move || act()).await.is_err() {
        tracing::error!("what was to be done around a request panicked");
    }
}

/// Notes a request that changes something, at the node that does it.
fn note(shared: &Shared, pod: &str, port: Port, question: &Question) -> Option<journal::Strike> {
    let here = ask(shared, pod, port, |asked| asked.elsewhere(question.key).is_none())?;
    if !here || !journal::changes(question.key) {
        return None;
    }
    let namespace = lock(&shared.state).of_pod(pod)?.namespace.clone();
    lock(&shared.journal).note(&namespace, question.key)
}

/// Asks the model as of now; `None`: the node does not answer at this port.
fn ask<T>(shared: &Shared, pod: &str, port: Port, question: impl FnOnce(&mut Asked<'_>) -> T) -> Option<T> {
    let mut state = lock(&shared.state);
    let cluster = state.of_pod(pod)?;
    let kafka = &mut cluster.kafka;
    kafka.tick(Timestamp::now());
    let process = kafka.running.get(pod)?.clone();
    // A broker opens its port for clients when the quorum has let it into service.
    if port == Port::Clients && !kafka.serves(process.node) {
        return None;
    }
    let answer = question(&mut Asked { kafka, process, port });
    // What was changed has its effect before anybody looks.
    cluster.kafka.tick(Timestamp::now());
    Some(answer)
}
