//! The server as the application of the testbed's kubelet.

use ballast_core::guard::{Start, TicketKind};
use ballast_testbed::Application;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use uuid::Uuid;

use super::{Server, properties};
use crate::model::{Boot, Process, levels};

/// Name of a node's file.
const CONFIG_FILE: &str = "server.properties";

/// The node that a container runs.
fn node(process: &ballast_testbed::Process) -> Result<Process, String> {
    let text = process.config.get(CONFIG_FILE).ok_or_else(|| format!("there is no {CONFIG_FILE}"))?;
    let settings = properties::read(text);
    let get = |key: &str| settings.get(key).ok_or_else(|| format!("{CONFIG_FILE} has no {key}"));
    let roles = get("process.roles")?;
    let has = |role: &str| roles.split(',').any(|one| one == role);
    let (broker, controller) = (has("broker"), has("controller"));
    if !broker && !controller {
        return Err(format!("{roles} are no roles"));
    }
    let number = get("node.id")?;
    let listeners = get("advertised.listeners")?;
    let place = listeners.split(',').find_map(|one| one.split_once("://"));
    let host = place.and_then(|(_, place)| place.rsplit_once(':')).map(|(host, _)| host.to_owned());
    let version = process.image.rsplit(':').next().unwrap_or_default();
    Ok(Process {
        node: number.parse().map_err(|_| format!("{number} is no node id"))?,
        pod: process.pod.clone(),
        disk: process.disk.clone(),
        host: host.filter(|host| !host.is_empty()).ok_or_else(|| format!("no host in {listeners}"))?,
        rack: settings.get("broker.rack").cloned(),
        broker,
        controller,
        newest_level: levels::newest(version)?,
        loggers: std::collections::BTreeMap::new(),
        since: Timestamp::now(),
        settings,
    })
}

/// How it was formatted: what the init container does with each kind of ticket.
fn boot(how: &Start) -> Result<Boot, String> {
    match how {
        Start::DataPresent | Start::Adopted { .. } => Ok(Boot::Data),
        Start::Ticket(ticket) => match ticket.kind {
            TicketKind::Bootstrap => Ok(Boot::Standalone),
            TicketKind::Join => Ok(Boot::Joining),
            other @ TicketKind::Restore => Err(format!("a {other} ticket is for no Kafka")),
        },
    }
}

impl Application for Server {
    fn start(&self, process: &ballast_testbed::Process, how: &Start) -> Result<(), String> {
        let uid = &process.cluster_uid;
        let id = Uuid::parse_str(uid).map_err(|error| format!("{uid}: {error}"))?;
        let id = URL_SAFE_NO_PAD.encode(id.as_bytes());
        self.boot((&process.namespace, uid, &id), &process.address, node(process)?, boot(how)?)
    }

    fn stop(&self, pod: &str) {
        self.halt(pod);
    }

    fn ready(&self, pod: &str) -> bool {
        self.is_ready(pod)
    }

    fn ended(&self) -> Vec<String> {
        vec![]
    }

    fn disk_removed(&self, disk: &str) {
        self.remove_disk(disk);
    }
}
