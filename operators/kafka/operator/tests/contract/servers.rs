//! Real processes of Kafka.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use kafka_operator::client::Addresses;
use tempfile::TempDir;

/// The id of every cluster here.
pub const CLUSTER: &str = "4L6g3nShT-eMCtK--X86sw";
pub const NODES: [i32; 3] = [1, 2, 3];
/// How long a command of Kafka's may take.
const COMMAND: Duration = Duration::from_mins(2);
/// How much of each log is shown after a failure.
const LINES: usize = 40;

/// How a volume is formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The first node of a new cluster, alone in its quorum.
    Standalone,
    /// A node that joins one.
    Joining,
}

pub struct Servers {
    pub version: &'static str,
    /// As which release the volumes are formatted.
    release: Option<&'static str>,
    jars: PathBuf,
    folder: TempDir,
    /// Of each node, which has the same ports as in a pod. A free port of one address might be given to a client
    /// while a node is down.
    hosts: BTreeMap<i32, Ipv4Addr>,
    _block: ballast_testbed::Addresses,
    running: BTreeMap<i32, Child>,
}

const BROKER: u16 = 9091;
const CONTROLLER: u16 = 9090;

impl Servers {
    pub fn new(version: &'static str, release: Option<&'static str>) -> Self {
        let mut block = ballast_testbed::Addresses::new().unwrap();
        let servers = Self {
            version,
            release,
            jars: ballast_lab::image::kafka_jars(version).unwrap(),
            folder: TempDir::new().unwrap(),
            hosts: NODES.iter().map(|node| (*node, block.take().unwrap())).collect(),
            _block: block,
            running: BTreeMap::new(),
        };
        fs::write(servers.file("log4j2.properties"), include_str!("log4j2.properties")).unwrap();
        for node in NODES {
            fs::write(servers.file(&format!("{node}.properties")), servers.settings(node)).unwrap();
        }
        servers
    }

    /// Whether this is 4.3 or newer.
    pub fn cordons(&self) -> bool {
        !self.version.starts_with("4.1.")
    }

    pub fn addresses(&self) -> Addresses {
        let at =
            |port: u16| self.hosts.iter().map(|(node, host)| (*node, format!("{host}:{port}"))).collect();
        Addresses { brokers: at(BROKER), controllers: at(CONTROLLER) }
    }

    /// Host and port of the node's listener for controllers.
    pub fn controller(&self, node: i32) -> (String, u16) {
        (self.hosts[&node].to_string(), CONTROLLER)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self, node: i32) -> PathBuf {
        self.file(&format!("data-{node}"))
    }

    fn log(&self, node: i32) -> File {
        OpenOptions::new().create(true).append(true).open(self.file(&format!("{node}.log"))).unwrap()
    }

    /// Small, quick to notice what is gone, and without topics that nobody has made.
    fn settings(&self, node: i32) -> String {
        let host = self.hosts[&node];
        let quorum: Vec<_> = self.addresses().controllers.into_values().collect();
        let listeners = format!("PLAINTEXT://{host}:{BROKER},CONTROLLER://{host}:{CONTROLLER}");
        format!(
            "node.id={node}\n\
             process.roles=broker,controller\n\
             controller.quorum.bootstrap.servers={}\n\
             controller.quorum.fetch.timeout.ms=2000\n\
             controller.quorum.election.timeout.ms=1000\n\
             listeners={listeners}\n\
             advertised.listeners={listeners}\n\
             controller.listener.names=CONTROLLER\n\
             listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n\
             log.dirs={}\n\
             broker.rack=zone-{node}\n\
             broker.session.timeout.ms=6000\n\
             initial.broker.registration.timeout.ms=300000\n\
             broker.heartbeat.interval.ms=500\n\
             auto.create.topics.enable=false\n\
             auto.leader.rebalance.enable=false\n\
             log.cleaner.dedupe.buffer.size=16777216\n\
             num.network.threads=2\n\
             num.io.threads=2\n",
            quorum.join(","),
            self.data(node).display(),
        )
    }

    fn java(&self, memory: &str, class: &str) -> Command {
        // Ends with this process, should it be killed.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "java"])
            .args(["-Xms32m", memory, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            .arg(format!("-Dlog4j2.configurationFile={}", self.file("log4j2.properties").display()))
            .arg("-cp")
            .arg(self.jars.join("*"))
            .arg(class)
            .stdin(Stdio::null());
        command
    }

    /// Formats the volumes, all at once.
    pub fn format(&self, volumes: &[(i32, Format)]) {
        let start = |(node, how): &(i32, Format)| {
            let log = self.log(*node);
            let how = match how {
                Format::Standalone => "--standalone",
                Format::Joining => "--no-initial-controllers",
            };
            let mut command = self.java("-Xmx128m", "kafka.tools.StorageTool");
            command.args(["format", "--cluster-id", CLUSTER, how, "--config"]);
            command.arg(self.file(&format!("{node}.properties")));
            command.args(self.release.iter().flat_map(|release| ["--release-version", release]));
            (*node, command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap())
        };
        let mut begun: Vec<_> = volumes.iter().map(start).collect();
        for (node, child) in &mut begun {
            let status = wait(child);
            assert!(
                status.is_some_and(|status| status.success()),
                "format of {node}: {status:?}\n{}",
                self.tail(*node)
            );
        }
    }

    pub fn start(&mut self, node: i32) {
        let log = self.log(node);
        let mut command = self.java("-Xmx192m", "kafka.Kafka");
        command.arg(self.file(&format!("{node}.properties")));
        let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        assert!(self.running.insert(node, child).is_none(), "{node} runs");
    }

    /// Kills the node.
    pub fn kill(&mut self, node: i32) {
        if let Some(mut child) = self.running.remove(&node) {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// The node stays, and does nothing any more, until it is killed.
    pub fn freeze(&self, node: i32) {
        let pid = self.running[&node].id().to_string();
        assert!(Command::new("kill").args(["-STOP", &pid]).status().unwrap().success());
    }

    /// Takes everything from the disk of a node that does not run.
    pub fn wipe(&self, node: i32) {
        assert!(!self.running.contains_key(&node), "{node} runs");
        fs::remove_dir_all(self.data(node)).unwrap();
    }

    /// Fails if a server has ended by itself.
    pub fn check(&self) {
        // What has ended and was not waited for has no memory any more, not even the line.
        let runs = |child: &Child| {
            fs::read_to_string(format!("/proc/{}/status", child.id()))
                .is_ok_and(|status| status.contains("VmRSS:"))
        };
        let ended: Vec<_> =
            self.running.iter().filter(|(_, child)| !runs(child)).map(|(node, _)| node).collect();
        assert!(ended.is_empty(), "these nodes have ended by themselves: {ended:?}");
    }

    /// The resident memory of each node in MiB.
    pub fn memory(&self) -> Vec<(i32, u64)> {
        let of = |child: &Child| {
            let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
        };
        self.running.iter().map(|(node, child)| (*node, of(child))).collect()
    }

    fn tail(&self, node: i32) -> String {
        last_lines(&self.file(&format!("{node}.log")))
    }
}

fn last_lines(file: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

/// Waits for a command, not for ever.
fn wait(child: &mut Child) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < COMMAND {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

impl Drop for Servers {
    fn drop(&mut self) {
        for node in NODES {
            self.kill(node);
            if std::thread::panicking() {
                eprintln!("==> the log of node {node} of Kafka {}\n{}", self.version, self.tail(node));
            }
        }
    }
}
