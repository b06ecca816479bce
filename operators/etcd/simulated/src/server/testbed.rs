//! The server as the application of the testbed's kubelet.

use std::collections::BTreeMap;

use ballast_core::guard::Start;
use ballast_testbed::Application;

use super::Server;
use crate::model::{Boot, Process, version_of};

/// Name of etcd's configuration file.
const CONFIG_FILE: &str = "etcd.yaml";

/// What the configuration says of the process, whether or not there is data.
struct Config {
    name: String,
    token: String,
    client_url: String,
}

impl Config {
    fn read(text: &str) -> Result<Self, String> {
        let file: BTreeMap<String, serde_yaml::Value> =
            serde_yaml::from_str(text).map_err(|error| format!("{CONFIG_FILE}: {error}"))?;
        let line = |key: &str| {
            let value = file.get(key).and_then(serde_yaml::Value::as_str);
            value.map(str::to_owned).ok_or_else(|| format!("{CONFIG_FILE} has no {key}"))
        };
        Ok(Self {
            name: line("name")?,
            token: line("initial-cluster-token")?,
            client_url: line("advertise-client-urls")?,
        })
    }
}

/// What a member is called among all namespaces.
pub fn member(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

impl Application for Server {
    fn start(&self, process: &ballast_testbed::Process, how: &Start) -> Result<(), String> {
        let text = process.config.get(CONFIG_FILE).ok_or_else(|| format!("there is no {CONFIG_FILE}"))?;
        let config = Config::read(text)?;
        let boot = match how {
            Start::Ticket(_) => Boot::from_config(text, &config.token)?,
            Start::DataPresent | Start::Adopted { .. } => Boot::Data,
        };
        let process = Process {
            member: member(&process.namespace, &process.member),
            name: config.name,
            pod: process.pod.clone(),
            address: process.address.clone(),
            client_url: config.client_url,
            disk: process.disk.clone(),
            version: version_of(&process.image)?,
        };
        self.boot(&process, &boot)
    }

    fn stop(&self, pod: &str) {
        self.halt(pod);
    }

    fn ready(&self, pod: &str) -> bool {
        self.is_ready(pod)
    }

    fn ended(&self) -> Vec<String> {
        self.take_ended()
    }

    fn disk_removed(&self, disk: &str) {
        self.remove_disk(disk);
    }
}
