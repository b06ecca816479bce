//! The shell around the elector: asks the API server, moves the gate, tells people. Decides nothing.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::PostParams};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::{
    ElectionSettings,
    elector::{Answer, Ask, Elector, Outcome, Standing, Step},
    record::version,
};
use crate::{
    clock::{Clock, Moment},
    gate::Gate,
    metrics::Metrics,
    write_error::message,
};

/// This process, as a candidate for a lease.
pub(crate) struct Candidate {
    api: Api<Lease>,
    settings: ElectionSettings,
    field_manager: String,
    elector: Elector,
    clock: Clock,
    gate: Arc<Gate>,
    metrics: Arc<Metrics>,
    standing: watch::Sender<Standing>,
    last_error: Option<String>,
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Candidate {
    /// A candidate that opens and closes `gate`, by the gate's clock.
    pub(crate) fn new(
        client: Client,
        settings: ElectionSettings,
        field_manager: String,
        gate: Arc<Gate>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let clock = gate.clock();
        metrics.set_leader(&settings.name, false);
        Self {
            api: Api::namespaced(client, &settings.namespace),
            elector: Elector::new(settings.identity.clone(), settings.timing, clock.now()),
            settings,
            field_manager,
            clock,
            gate,
            metrics,
            standing: watch::Sender::new(Standing::Unknown),
            last_error: None,
        }
    }

    /// Where this process stands, now and later.
    pub(crate) fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    /// Stands for election until the lease is lost, or is given up after `release`.
    ///
    /// Nothing may act any more when `release` is cancelled: another replica may lead at once.
    pub(crate) async fn run(mut self, release: CancellationToken) -> Outcome {
        let mut releasing = false;
        let outcome = loop {
            if release.is_cancelled() && !releasing {
                releasing = true;
                self.gate.close();
                self.elector.release(self.clock.now());
            }
            match self.elector.next(self.clock.now(), Timestamp::now()) {
                Step::Over(outcome) => break outcome,
                Step::Wait(until) => tokio::select! {
                    () = self.clock.sleep_until(until) => {}
                    () = release.cancelled(), if !releasing => {}
                },
                Step::Ask { ask, deadline } => {
                    let answer = self.ask(ask, deadline).await;
                    self.elector.answered(self.clock.now(), answer);
                    self.tell();
                }
            }
        };
        self.gate.close();
        self.metrics.set_leader(&self.settings.name, false);
        outcome
    }

    async fn ask(&mut self, ask: Ask, deadline: Moment) -> Answer {
        let Some(answer) = self.clock.before(deadline, self.send(ask)).await else {
            self.failed("the API server did not answer in time".to_owned());
            return Answer::Failed;
        };
        match answer {
            Ok(answer) => {
                if self.last_error.take().is_some() {
                    info!(lease = self.settings.name, "the lease can be reached again");
                }
                answer
            }
            Err(error) => {
                self.failed(error);
                Answer::Failed
            }
        }
    }

    async fn send(&self, ask: Ask) -> Result<Answer, String> {
        let params = PostParams { field_manager: Some(self.field_manager.clone()), ..PostParams::default() };
        let name = self.settings.name.as_str();
        let written = match ask {
            Ask::Read => {
                return match self.api.get_opt(name).await {
                    Ok(found) => Ok(found.map_or(Answer::Absent, Answer::Found)),
                    Err(error) => Err(message(&error)),
                };
            }
            Ask::Create(mut lease) => {
                lease.metadata.name = Some(name.to_owned());
                self.api.create(&params, &lease).await
            }
            Ask::Replace(lease) if version(&lease).is_none() => {
                return Err("the API server sent a lease without a resourceVersion".to_owned());
            }
            Ask::Replace(lease) => self.api.replace(name, &params, &lease).await,
        };
        match written {
            Ok(lease) => Ok(Answer::Written(lease)),
            // Also of what was deleted meanwhile: like a version that is no longer the current one.
            Err(kube::Error::Api(status))
                if status.is_conflict() || status.is_already_exists() || status.is_not_found() =>
            {
                debug!(lease = name, "somebody was quicker: {}", status.message);
                Ok(Answer::Conflict)
            }
            Err(error) => Err(message(&error)),
        }
    }

    fn failed(&mut self, error: String) {
        let ElectionSettings { name, namespace, .. } = &self.settings;
        if self.last_error.as_ref() == Some(&error) {
            debug!(lease = name, namespace, error, "a request for the lease failed again");
        } else {
            warn!(lease = name, namespace, error, "a request for the lease failed");
            self.last_error = Some(error);
        }
    }

    /// Moves the gate, and tells what has changed.
    fn tell(&self) {
        if let Some(until) = self.elector.leads_until() {
            self.gate.extend(until);
        }
        let standing = self.elector.standing();
        let changed = self.standing.send_if_modified(|before| {
            let changed = *before != standing;
            before.clone_from(&standing);
            changed
        });
        if !changed {
            return;
        }
        self.metrics.set_leader(&self.settings.name, standing == Standing::Leading);
        let ElectionSettings { name, namespace, identity, .. } = &self.settings;
        match &standing {
            Standing::Leading => info!(lease = name, namespace, identity, "this replica leads"),
            Standing::Standby { holder: Some(holder) } if holder != identity => {
                info!(lease = name, namespace, identity, holder, "another replica leads, this one stands by");
            }
            Standing::Standby { .. } | Standing::Unknown => {}
        }
    }
}

#[cfg(test)]
#[path = "candidate_tests.rs"]
mod tests;
