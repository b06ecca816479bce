//! The simulated etcd.

use ballast_etcd_simulated::{
    model::{Boot, Process},
    server::{Server, Settings},
};
use semver::Version;

use crate::world::{How, World};

pub struct Simulated {
    server: Server,
    version: Version,
    ended: Vec<String>,
}

impl Simulated {
    pub async fn new(version: Version) -> Self {
        let settings = Settings { request_timeout: std::time::Duration::from_secs(1), ..Settings::default() };
        Self { server: Server::listen(settings).await.unwrap(), version, ended: vec![] }
    }
}

impl World for Simulated {
    fn version(&self) -> &Version {
        &self.version
    }

    fn peer_url(&self, member: usize) -> String {
        format!("http://10.0.0.{member}:2380")
    }

    fn start(&mut self, member: usize, how: &How) -> bool {
        let process = Process {
            member: format!("m{member}"),
            name: format!("m{member}"),
            pod: format!("pod-{member}"),
            address: format!("10.0.0.{member}"),
            client_url: format!("http://10.0.0.{member}:2379"),
            disk: format!("disk-{member}"),
            version: self.version.clone(),
        };
        let boot = match how {
            How::New => Boot::New {
                token: "contract".to_owned(),
                list: [(format!("m{member}"), self.peer_url(member))].into(),
            },
            How::Existing(list) => Boot::Existing { list: list.iter().cloned().collect() },
            How::Data => Boot::Data,
        };
        self.server.boot(&process, &boot).is_ok()
    }

    fn stop(&mut self, member: usize) {
        self.server.halt(&format!("pod-{member}"));
    }

    fn has_ended(&mut self, member: usize) -> bool {
        self.ended.extend(self.server.take_ended());
        self.ended.contains(&format!("pod-{member}"))
    }

    fn endpoint(&self, member: usize) -> (String, String) {
        (format!("http://{}", self.server.address()), format!("http://10.0.0.{member}:2379"))
    }
}
