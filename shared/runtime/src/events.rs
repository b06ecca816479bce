//! Events on resources (events.k8s.io): only on transitions, and never in the way of a pass.
//!
//! A background task publishes them; when the API server is slow they are dropped, not awaited.

use std::{sync::Arc, time::Duration};

use ballast_core::{label, plan::Severity};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{
    Client,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use tokio::sync::mpsc;
use tracing::debug;

use crate::gate::Gate;

/// Events that wait to be published.
const WAITING: usize = 1000;
/// The API server's limit for a message.
const LONGEST_NOTE: usize = 1024;
const TIMEOUT: Duration = Duration::from_secs(5);

/// Where events go.
#[derive(Clone, Debug)]
pub struct Events(mpsc::Sender<(Note, ObjectReference)>);

#[derive(Debug)]
struct Note {
    severity: Severity,
    reason: String,
    message: String,
}

impl Events {
    /// Publishes events of the operator of `application` in the background, until the last sender is dropped.
    pub fn spawn(client: Client, application: &str, gate: Arc<Gate>) -> Self {
        let (sender, mut receiver) = mpsc::channel::<(Note, ObjectReference)>(WAITING);
        let reporter = Reporter::from(label::manager(application).as_str());
        let recorder = Recorder::new(client, reporter);
        tokio::spawn(async move {
            while let Some((event, reference)) = receiver.recv().await {
                if gate.permit().is_err() {
                    continue;
                }
                match tokio::time::timeout(TIMEOUT, recorder.publish(&event.into(), &reference)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => {
                        debug!(error = crate::write_error::message(&error), "event not published");
                    }
                    Err(_elapsed) => debug!("event not published in time"),
                }
            }
        });
        Self(sender)
    }

    /// Publishes one event about `reference`.
    pub fn publish(&self, severity: Severity, reason: &str, message: &str, reference: &ObjectReference) {
        let event = Note { severity, reason: reason.to_owned(), message: shortened(message) };
        if self.0.try_send((event, reference.clone())).is_err() {
            debug!(reason, "event dropped: {message}");
        }
    }
}

impl From<Note> for Event {
    fn from(event: Note) -> Self {
        let type_ = match event.severity {
            Severity::Normal => EventType::Normal,
            Severity::Warning => EventType::Warning,
        };
        // The recorder folds events of the same action and reason into a series and keeps the first note, so that
        // "AddMember: member 2" would hide "AddMember: member 3": the action tells notes apart.
        let action = format!("{}-{:08x}", event.reason, fnv(&event.message));
        Self { type_, reason: event.reason, note: Some(event.message), action, secondary: None }
    }
}

fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn shortened(note: &str) -> String {
    if note.len() <= LONGEST_NOTE {
        return note.to_owned();
    }
    let end = note.floor_char_boundary(LONGEST_NOTE - '…'.len_utf8());
    format!("{}…", &note[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_fit() {
        let note = shortened(&"ä".repeat(600));
        assert!(note.len() <= LONGEST_NOTE && note.ends_with('…'));
        assert_eq!(shortened("short"), "short");
    }

    #[test]
    fn two_messages_of_one_reason_are_two_events() {
        let action = |message: &str| {
            let event =
                Note { severity: Severity::Normal, reason: "AddMember".into(), message: message.into() };
            Event::from(event).action
        };
        assert_ne!(action("adds member 2"), action("adds member 3"));
        assert_eq!(action("adds member 2"), action("adds member 2"));
    }
}
