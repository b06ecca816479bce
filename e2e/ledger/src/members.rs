//! Watches etcd's member list, and says what no operator of ours may ever let it show.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result};
use etcd_client::{Client, ConnectOptions};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Time between two looks.
const INTERVAL: Duration = Duration::from_millis(150);
/// A member answers within this, or counts as not serving.
const PATIENCE: Duration = Duration::from_secs(2);
/// Looks that are remembered, at most; only changes are.
const CHANGES: usize = 2_000;

/// A member in one look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Seen {
    name: String,
    learner: bool,
}

/// One look: members by id, hexadecimal.
type Look = BTreeMap<String, Seen>;

/// What was seen and what is wrong with it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct History {
    looks: u64,
    max_learners: usize,
    max_members: usize,
    /// Every change, oldest first.
    changes: Vec<Change>,
    violations: Vec<String>,
    /// Who served at the look before.
    #[serde(skip)]
    served: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    at: String,
    members: Look,
}

impl History {
    /// Takes one look into account. `serving` are ids of members that served a linearizable read at that time; `quorum`
    /// says that a linearizable read succeeded after the list had been read, so that a quorum of these voters was there.
    fn record(&mut self, at: Timestamp, look: Look, serving: &[String], quorum: bool) {
        self.looks += 1;
        let learners = look.values().filter(|seen| seen.learner).count();
        self.max_learners = self.max_learners.max(learners);
        self.max_members = self.max_members.max(look.len());
        if learners > 1 {
            self.violations.push(format!("{at}: {learners} learners at once"));
        }
        // A member may have been killed between the removal and the look that first shows it: whoever served just before
        // the removal served when it was decided.
        let mut around = std::mem::replace(&mut self.served, serving.to_vec());
        around.extend_from_slice(serving);
        let previous = self.changes.last().map(|change| &change.members);
        if previous == Some(&look) {
            return;
        }
        if let Some(previous) = previous {
            self.judge(at, &previous.clone(), &look, &around, quorum);
        }
        if self.changes.len() < CHANGES {
            self.changes.push(Change { at: at.to_string(), members: look });
        }
    }

    fn judge(&mut self, at: Timestamp, before: &Look, after: &Look, serving: &[String], quorum: bool) {
        let removed = before.iter().filter(|(id, seen)| !seen.learner && !after.contains_key(*id)).count();
        let new_voters = after.iter().filter(|(id, seen)| !seen.learner && !before.contains_key(*id)).count();
        if removed > 1 {
            self.violations.push(format!("{at}: {removed} voters removed between two looks"));
        }
        if new_voters > 0 {
            self.violations.push(format!("{at}: {new_voters} members appeared as voters, not as learners"));
        }
        let voters = after.values().filter(|seen| !seen.learner).count();
        let up = after.iter().filter(|(id, seen)| !seen.learner && serving.contains(id)).count();
        // Either is proof enough. Only both together are needed: a name server may not know a new pod yet, and a member
        // that served may have been killed since.
        if removed > 0 && !quorum && up < voters / 2 + 1 {
            self.violations.push(format!("{at}: after a removal only {up} of {voters} voters serve"));
        }
    }
}

/// Looks for as long as the process lives.
pub(crate) async fn watch(endpoints: Vec<String>, history: Arc<Mutex<History>>) {
    loop {
        match Box::pin(look(&endpoints)).await {
            Ok((members, serving, quorum)) => {
                history.lock().unwrap_or_else(PoisonError::into_inner).record(
                    Timestamp::now(),
                    members,
                    &serving,
                    quorum,
                );
            }
            Err(error) => tracing::debug!("cannot look at the members: {error:#}"),
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn connect(endpoint: &str) -> Result<Client> {
    let options = ConnectOptions::new().with_connect_timeout(Duration::from_secs(1)).with_timeout(PATIENCE);
    Ok(Client::connect([endpoint], Some(options)).await?)
}

async fn look(endpoints: &[String]) -> Result<(Look, Vec<String>, bool)> {
    let mut client = connect(endpoints.first().context("no endpoint")?).await?;
    // The list itself is not linearizable: the read before it, through the same connection, makes it fresh.
    client.get("ballast.dev/probe", None).await?;
    let list = client.member_list().await?;
    let members = list.members();
    let quorum = client.get("ballast.dev/probe", None).await.is_ok();
    let asked = members.iter().filter(|member| !member.is_learner()).map(|member| async move {
        let mut client = connect(member.client_urls().first()?).await.ok()?;
        client.get("ballast.dev/probe", None).await.ok()?;
        Some(format!("{:x}", member.id()))
    });
    // All at once: one that does not answer must not make the others' answers late.
    let serving = futures::future::join_all(asked).await.into_iter().flatten().collect();
    let look = members
        .iter()
        .map(|member| {
            (
                format!("{:x}", member.id()),
                Seen { name: member.name().to_owned(), learner: member.is_learner() },
            )
        })
        .collect();
    Ok((look, serving, quorum))
}

/// Which members to look into.
#[derive(Debug, Deserialize)]
pub(crate) struct Question {
    /// Client URLs.
    endpoints: Vec<String>,
}

/// What one member holds.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Inspection {
    endpoint: String,
    id: String,
    version: String,
    leader: bool,
    revision: i64,
    /// Hash of all keys at the lowest revision that all members have.
    hash: u32,
    compact_revision: i64,
}

/// Status and `HashKV` of every member, all at one revision.
pub(crate) async fn inspect(question: Question) -> Result<Vec<Inspection>> {
    let mut clients = vec![];
    for endpoint in question.endpoints {
        let mut client = connect(&endpoint).await?;
        client
            .get("ballast.dev/probe", None)
            .await
            .with_context(|| format!("{endpoint} serves no linearizable read"))?;
        let status = client.status().await?;
        let header = status.header().context("an answer without a header")?;
        clients.push((
            endpoint,
            client,
            header.member_id(),
            header.revision(),
            status.version().to_owned(),
            status.leader(),
        ));
    }
    let revision = clients.iter().map(|(_, _, _, revision, ..)| *revision).min().context("no endpoint")?;
    let mut inspections = vec![];
    for (endpoint, mut client, id, own, version, leader) in clients {
        let answer = client.hash_kv(revision).await?;
        inspections.push(Inspection {
            endpoint,
            id: format!("{id:x}"),
            version,
            leader: leader == id,
            revision: own,
            hash: answer.hash(),
            compact_revision: answer.compact_version(),
        });
    }
    Ok(inspections)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(members: &[(&str, bool)]) -> Look {
        members
            .iter()
            .map(|(id, learner)| ((*id).to_owned(), Seen { name: String::new(), learner: *learner }))
            .collect()
    }

    /// Members (id, learner) and who of them serves.
    type Given<'a> = (&'a [(&'a str, bool)], &'a [&'a str]);

    fn history(looks: &[Given<'_>]) -> Vec<String> {
        history_with(looks, false)
    }

    fn history_with(looks: &[Given<'_>], quorum: bool) -> Vec<String> {
        let mut history = History::default();
        for (members, serving) in looks {
            let serving: Vec<String> = serving.iter().map(|id| (*id).to_owned()).collect();
            history.record(Timestamp::UNIX_EPOCH, look(members), &serving, quorum);
        }
        history.violations
    }

    #[test]
    fn growing_by_learners_is_fine() {
        let violations = history(&[
            (&[("a", false)], &["a"]),
            (&[("a", false), ("b", true)], &["a"]),
            (&[("a", false), ("b", false)], &["a", "b"]),
            (&[("a", false)], &["a"]),
        ]);
        assert!(violations.is_empty(), "{violations:?}");
    }

    #[test]
    fn who_is_killed_right_after_a_removal_served_when_it_was_decided() {
        let three = [("a", false), ("b", false), ("c", false)];
        let violations = history(&[(&three, &["a", "b"]), (&three[..2], &["a"])]);
        assert!(violations.is_empty(), "{violations:?}");
    }

    #[test]
    fn what_is_wrong_is_seen() {
        let two_learners = history(&[(&[("a", false), ("b", true), ("c", true)], &["a"])]);
        assert_eq!(two_learners.len(), 1);
        let sudden_voter =
            history(&[(&[("a", false)], &["a"]), (&[("a", false), ("b", false)], &["a", "b"])]);
        assert_eq!(sudden_voter.len(), 1);
        let three = [("a", false), ("b", false), ("c", false)];
        let quorum_broken = history(&[(&three, &["a", "c"]), (&three[..2], &["a"])]);
        assert_eq!(quorum_broken.len(), 1);
        let unreachable_but_there = history_with(&[(&three, &["a", "c"]), (&three[..2], &["a"])], true);
        assert!(unreachable_but_there.is_empty(), "{unreachable_but_there:?}");
        let two_removed = history(&[(&three, &["a", "b", "c"]), (&three[..1], &["a"])]);
        assert_eq!(two_removed.len(), 1);
    }
}
