//! Asks every running member, all at once; a failure is data.

use ballast_core::object::Children;
use ballast_etcd_core::{
    observed::{Answers, Probe, addresses, recorded_cluster_id},
    validate::Desired,
};
use futures::future::join_all;

use crate::client::{Connection, Dialer};

/// What etcd says now.
pub async fn ask(desired: &Desired, children: &Children, etcd: &Dialer) -> Answers {
    let recorded = recorded_cluster_id(desired, children);
    let asked = addresses(desired, children).into_iter().map(|(member, address)| async move {
        let mut connection = etcd.connect(&address).await.map_err(|error| error.to_string())?;
        let answer = connection.ask().await.map_err(|error| error.to_string());
        Ok::<_, String>((connection, answer?))
            .map(|(connection, answer)| (member.clone(), connection, answer))
            .map_err(|error: String| format!("{member}: {error}"))
    });
    let names: Vec<String> = addresses(desired, children).into_iter().map(|(member, _)| member).collect();
    let mut answers = Answers::default();
    let mut trusted: Option<Connection> = None;
    for (member, result) in names.into_iter().zip(join_all(asked).await) {
        let probe = match result {
            Ok((_, connection, answer)) => {
                // An address may have passed to a pod of another cluster.
                if let Some(expected) = recorded.filter(|expected| *expected != answer.cluster_id) {
                    Probe::Silent(format!(
                        "it answers for the cluster {:x}, not {expected:x}",
                        answer.cluster_id
                    ))
                } else {
                    if answer.linearizable && trusted.is_none() {
                        trusted = Some(connection);
                    }
                    Probe::Answered(answer)
                }
            }
            Err(error) => Probe::Silent(error),
        };
        answers.probes.insert(member, probe);
    }
    if let Some(mut connection) = trusted {
        answers.list = match connection.read().await {
            Ok(()) => connection.list().await.ok(),
            Err(_) => None,
        };
        answers.alarms = connection.alarms().await.ok();
        answers.cluster_version = connection.cluster_version().await.ok();
    }
    answers
}
