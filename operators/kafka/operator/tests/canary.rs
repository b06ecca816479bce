//! The canary against a real Kafka of one node: a record passes, and who does not answer is named.
#![allow(clippy::unwrap_used, missing_docs)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use ballast_kafka_core::canary::{Outcome, condition};
use ballast_runtime::{gate::Gate, metrics::Metrics, writer::Writer};
use kafka_operator::{
    canary::{Found, Round, Wanted},
    client::{Addresses, Client, Settings},
};
use tempfile::TempDir;

/// How long something may take that happens by itself.
const PATIENCE: Duration = Duration::from_mins(3);

/// Ends with the test.
struct Process(Child);

impl Process {
    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.0.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn java(jars: &Path, class: &str, log: &Path) -> Command {
    let log = File::options().create(true).append(true).open(log).unwrap();
    let mut command = Command::new("setpriv");
    command
        .args([
            "--pdeathsig",
            "KILL",
            "java",
            "-Xmx192m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-cp",
        ])
        .arg(jars.join("*"))
        .arg(class)
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log);
    command
}

/// A node of the newest Kafka at this host, with the id 1.
fn kafka(host: &str, folder: &Path) -> Process {
    let jars = ballast_lab::image::kafka_jars("4.4.0").unwrap();
    let settings = folder.join("server.properties");
    let listeners = format!("PLAINTEXT://{host}:9092,CONTROLLER://{host}:9093");
    let text = format!(
        "node.id=1\nprocess.roles=broker,controller\ncontroller.quorum.bootstrap.servers={host}:9093\n\
         listeners={listeners}\nadvertised.listeners={listeners}\ncontroller.listener.names=CONTROLLER\n\
         listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\nlog.dirs={}\n\
         auto.create.topics.enable=false\nlog.cleaner.dedupe.buffer.size=16777216\n",
        folder.join("data").display()
    );
    fs::write(&settings, text).unwrap();
    let log = folder.join("kafka.log");
    let format = java(&jars, "kafka.tools.StorageTool", &log)
        .args(["format", "--cluster-id", "4L6g3nShT-eMCtK--X86sw", "--standalone", "--config"])
        .arg(&settings)
        .status();
    assert!(format.unwrap().success(), "{}", fs::read_to_string(&log).unwrap());
    Process(java(&jars, "kafka.Kafka", &log).arg(&settings).spawn().unwrap())
}

/// Threads of this process, and its memory in KiB.
fn cost() -> (usize, u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let number = |key: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    (usize::try_from(number("Threads:")).unwrap(), number("VmRSS:"))
}

/// Threads of librdkafka's, by their names, and those that poll for it.
fn threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).filter(|name| name.starts_with("rdk:")).collect()
}

async fn until(round: &mut Round, wanted: &Wanted, passes: impl Fn(&Found) -> bool) -> BTreeMap<i32, Found> {
    let begun = Instant::now();
    loop {
        let found = round.run(wanted).await;
        if found.values().all(&passes) {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "never: {found:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_pass_and_a_broker_that_does_not_answer_is_named() {
    let folder = TempDir::new().unwrap();
    let mut block = ballast_testbed::Addresses::new().unwrap();
    let host = block.take().unwrap().to_string();
    let kafka = kafka(&host, folder.path());
    let bootstrap = format!("{host}:9092");
    let addresses = Addresses { brokers: BTreeMap::from([(1, bootstrap.clone())]), ..Addresses::default() };
    let api = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let writer = Writer::new(
        kube::Client::try_from(api).unwrap(),
        "kafka",
        "n",
        Arc::new(Gate::open()),
        Arc::new(Metrics::new("kafka", "1")),
    );
    let wanted = Wanted {
        client: Client::new(Arc::new(addresses), Settings::default()),
        bootstrap,
        brokers: BTreeSet::from([1]),
        settled: true,
        interval: Duration::from_secs(10),
        writer,
    };
    let outcomes = |found: &BTreeMap<i32, Found>| {
        found.iter().map(|(id, found)| (*id, found.outcome.clone())).collect::<BTreeMap<_, _>>()
    };
    let before = cost();
    let mut round = Round::default();
    let found = until(&mut round, &wanted, |found| found.outcome == Outcome::Passed).await;
    assert!(found[&1].took.is_some(), "{found:?}");
    let (status, _, message) = condition(&wanted.brokers, Some(&outcomes(&found)));
    assert_eq!(status.as_str(), "True", "{message}");
    let after = cost();
    eprintln!(
        "threads and KiB before {before:?}, after {after:?}; {:?}; took {:?}",
        threads(),
        found[&1].took
    );
    assert!(!threads().is_empty());

    kafka.signal("-STOP");
    let begun = Instant::now();
    let found = round.run(&wanted).await;
    eprintln!("a round without an answer took {:?}", begun.elapsed());
    let (status, reason, message) = condition(&wanted.brokers, Some(&outcomes(&found)));
    assert_eq!((status.as_str(), reason), ("False", "RecordsDoNotPass"), "{message}");
    assert!(message.contains("broker 1"), "{message}");

    kafka.signal("-CONT");
    until(&mut round, &wanted, |found| found.outcome == Outcome::Passed).await;
    round.end().await;
    assert_eq!(threads(), Vec::<String>::new(), "all threads end with the canary");
}
