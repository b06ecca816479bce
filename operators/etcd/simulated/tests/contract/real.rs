//! Real processes of etcd.

use std::{
    collections::BTreeMap,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use ballast_testbed::Addresses;
use semver::Version;
use tempfile::TempDir;

use crate::world::{How, World};

/// More members than any expectation needs.
const MEMBERS: usize = 4;

pub struct Real {
    program: PathBuf,
    version: Version,
    folder: TempDir,
    /// Of each member. Ports cannot be chosen as safely: a member that comes back may find its port given to a client.
    addresses: Vec<Ipv4Addr>,
    _block: Addresses,
    running: BTreeMap<usize, Child>,
}

impl Real {
    pub fn new(program: &Path, version: Version) -> Self {
        let mut block = Addresses::new().unwrap();
        Self {
            program: program.to_owned(),
            version,
            folder: TempDir::new().unwrap(),
            addresses: (0..MEMBERS).map(|_| block.take().unwrap()).collect(),
            _block: block,
            running: BTreeMap::new(),
        }
    }

    fn log(&self, member: usize) -> PathBuf {
        self.folder.path().join(format!("m{member}.log"))
    }

    fn client_url(&self, member: usize) -> String {
        format!("http://{}:2379", self.addresses[member])
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        for member in 0..MEMBERS {
            self.stop(member);
            let log = std::fs::read_to_string(self.log(member)).unwrap_or_default();
            if std::thread::panicking() && !log.is_empty() {
                eprintln!("--- m{member} wrote:\n{log}");
            }
        }
    }
}

impl World for Real {
    fn version(&self) -> &Version {
        &self.version
    }

    fn peer_url(&self, member: usize) -> String {
        format!("http://{}:2380", self.addresses[member])
    }

    fn start(&mut self, member: usize, how: &How) -> bool {
        let (list, state) = match how {
            How::New => (vec![(format!("m{member}"), self.peer_url(member))], "new"),
            How::Existing(list) => (list.clone(), "existing"),
            // Not read when there is data.
            How::Data => (vec![(format!("m{member}"), self.peer_url(member))], "existing"),
        };
        let list: Vec<String> = list.iter().map(|(name, url)| format!("{name}={url}")).collect();
        let log = std::fs::File::create(self.log(member)).unwrap();
        let child = Command::new(&self.program)
            .args(["--name", &format!("m{member}")])
            .args(["--listen-peer-urls", &self.peer_url(member)])
            .args(["--initial-advertise-peer-urls", &self.peer_url(member)])
            .args(["--listen-client-urls", &self.client_url(member)])
            .args(["--advertise-client-urls", &self.client_url(member)])
            .args(["--initial-cluster", &list.join(",")])
            .args(["--initial-cluster-state", state])
            .args(["--initial-cluster-token", "contract"])
            .args(["--heartbeat-interval", "50", "--election-timeout", "500"])
            .args(["--log-level", "error"])
            .arg("--data-dir")
            .arg(self.folder.path().join(format!("m{member}")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.running.insert(member, child);
        true
    }

    fn stop(&mut self, member: usize) {
        if let Some(mut child) = self.running.remove(&member) {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn has_ended(&mut self, member: usize) -> bool {
        self.running.get_mut(&member).is_some_and(|child| child.try_wait().unwrap().is_some())
    }

    fn endpoint(&self, member: usize) -> (String, String) {
        (self.client_url(member), self.client_url(member))
    }
}
