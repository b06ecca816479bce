//! The two things done to etcd: one write, and reading everything back.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Context, Result, bail};
use etcd_client::{Client, ConnectOptions, GetOptions};
use tokio::time::{Instant, timeout};

use crate::record::{Acknowledgement, Stored};

/// A write or a page of reads may take this long.
const REQUEST: Duration = Duration::from_secs(2);
/// A connection must be there after this.
const CONNECT: Duration = Duration::from_secs(1);
/// A page that fails is read again, up to this long in all.
const READ_AGAIN: Duration = Duration::from_secs(30);
/// Keys per page.
const PAGE: usize = 500;

/// A connection that is thrown away after any error, so that the next request may reach another member.
pub(crate) struct Etcd {
    endpoints: Vec<String>,
    client: Option<Client>,
}

impl Etcd {
    /// Connects when it is first used.
    pub(crate) fn new(endpoints: Vec<String>) -> Self {
        Self { endpoints, client: None }
    }

    async fn client(&mut self) -> Result<&mut Client> {
        if self.client.is_none() {
            let options = ConnectOptions::new()
                .with_connect_timeout(CONNECT)
                .with_timeout(REQUEST)
                .with_require_leader(true);
            self.client = Some(Client::connect(&self.endpoints, Some(options)).await?);
        }
        self.client.as_mut().context("not connected")
    }

    /// Writes one key. An error says nothing about whether it was applied.
    pub(crate) async fn put(&mut self, key: String, value: String) -> Result<Acknowledgement> {
        let answer = timeout(REQUEST, async {
            let response = self.client().await?.put(key, value, None).await?;
            let header = response.header().context("an answer without a header")?;
            anyhow::Ok(Acknowledgement { revision: header.revision(), cluster: header.cluster_id() })
        })
        .await
        .unwrap_or_else(|_| bail!("timed out after {REQUEST:?}"));
        if answer.is_err() {
            self.client = None;
        }
        answer
    }

    /// Reads everything under a prefix, page by page, each page linearizable.
    pub(crate) async fn read_all(&mut self, prefix: &str) -> Result<BTreeMap<String, Stored>> {
        let deadline = Instant::now() + READ_AGAIN;
        let end = prefix_end(prefix);
        let mut found = BTreeMap::new();
        let mut start = prefix.as_bytes().to_vec();
        let mut told = false;
        loop {
            let page = match self.read_page(start.clone(), end.clone()).await {
                Ok(page) => page,
                Err(error) if Instant::now() >= deadline => {
                    return Err(error.context(format!("gave up after {} keys", found.len())));
                }
                Err(error) => {
                    if !std::mem::replace(&mut told, true) {
                        tracing::warn!("cannot read, trying again: {error:#}");
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let full = page.len() >= PAGE;
            if let Some((key, _)) = page.last() {
                start = key.as_bytes().to_vec();
                start.push(0);
            }
            found.extend(page);
            if !full {
                return Ok(found);
            }
        }
    }

    async fn read_page(&mut self, start: Vec<u8>, end: Vec<u8>) -> Result<Vec<(String, Stored)>> {
        let options = GetOptions::new().with_range(end).with_limit(i64::try_from(PAGE)?);
        let answer = timeout(REQUEST, async {
            let response = self.client().await?.get(start, Some(options)).await?;
            response
                .kvs()
                .iter()
                .map(|kv| {
                    let stored = Stored {
                        value: kv.value_str()?.to_owned(),
                        revision: kv.mod_revision(),
                        version: kv.version(),
                    };
                    anyhow::Ok((kv.key_str()?.to_owned(), stored))
                })
                .collect()
        })
        .await
        .unwrap_or_else(|_| bail!("timed out after {REQUEST:?}"));
        if answer.is_err() {
            self.client = None;
        }
        answer
    }
}

/// The first key after all that begin with the prefix, which ends with an ASCII character.
fn prefix_end(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_after_its_keys() {
        let end = prefix_end("ledger/run/");
        assert!(b"ledger/run/99999999".as_slice() < end.as_slice());
        assert!(b"ledger/run0".as_slice() >= end.as_slice());
    }
}
