//! The ledger against a real Kafka of one node: the sum of it, as a scenario uses it.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rdkafka::{
    ClientConfig,
    admin::{AdminClient, AdminOptions, NewTopic, TopicReplication},
    client::DefaultClientContext,
    producer::{FutureProducer, FutureRecord},
};
use serde_json::Value;
use tempfile::TempDir;

/// How long something may take that happens by itself.
const PATIENCE: Duration = Duration::from_mins(2);

/// Ends with the test.
struct Process(Child);

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

/// A node of the newest Kafka at this host; its logs are in the folder.
fn kafka(host: &str, folder: &Path) -> Process {
    let jars: PathBuf = ballast_lab::image::kafka_jars("4.4.0").unwrap();
    let settings = folder.join("server.properties");
    let listeners = format!("PLAINTEXT://{host}:9092,CONTROLLER://{host}:9093");
    let text = format!(
        "node.id=1\nprocess.roles=broker,controller\ncontroller.quorum.bootstrap.servers={host}:9093\n\
         listeners={listeners}\nadvertised.listeners={listeners}\ncontroller.listener.names=CONTROLLER\n\
         listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\nlog.dirs={}\n\
         auto.create.topics.enable=false\noffsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\n\
         log.cleaner.dedupe.buffer.size=16777216\n",
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

async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(why) if begun.elapsed() > PATIENCE => panic!("never: {what}; {why}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn create_topic(config: &ClientConfig) {
    let admin: AdminClient<DefaultClientContext> = config.create().unwrap();
    until("a topic", async || {
        let topic = NewTopic::new("numbers", 3, TopicReplication::Fixed(1));
        let options = AdminOptions::new().request_timeout(Some(Duration::from_secs(5)));
        let made = admin.create_topics([&topic], &options).await.map_err(|error| error.to_string())?;
        match &made[0] {
            Ok(_) => Ok(()),
            Err((_, code)) => Err(code.to_string()),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_real_kafka_acknowledges_is_there_and_what_somebody_adds_is_seen() {
    let folder = TempDir::new().unwrap();
    let mut block = ballast_testbed::Addresses::new().unwrap();
    let host = block.take().unwrap().to_string();
    let _kafka = kafka(&host, folder.path());
    let bootstrap = format!("{host}:9092");
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &bootstrap);
    create_topic(&config).await;

    let listen = format!("{host}:8080");
    let ledger = Command::new(env!("CARGO_BIN_EXE_ledger"))
        .args(["kafka", "--bootstrap", &bootstrap, "--topic", "numbers", "--listen", &listen])
        .args(["--interval", "2ms", "--keys", "7", "--run", "one", "--size", "200"])
        .spawn();
    let _ledger = Process(ledger.unwrap());
    let client = reqwest::Client::builder().timeout(Duration::from_mins(1)).build().unwrap();
    let get = async |what: &str| -> Result<Value, String> {
        let answer = client.get(format!("http://{listen}/{what}")).send().await;
        answer.map_err(|error| error.to_string())?.json().await.map_err(|error| error.to_string())
    };
    let post = async |what: &str| -> Value {
        client.post(format!("http://{listen}/{what}")).send().await.unwrap().json().await.unwrap()
    };
    until("acknowledged records, read beside", async || {
        let stats = get("stats").await?;
        let enough = |value: &Value| value.as_u64().is_some_and(|count| count >= 300);
        if enough(&stats["acknowledged"]) && enough(&stats["live"]["read"]) {
            Ok(())
        } else {
            Err(stats.to_string())
        }
    })
    .await;
    post("stop").await;
    let stats = until("nothing unknown", async || {
        let stats = get("stats").await?;
        if stats["unknown"] == 0 { Ok(stats) } else { Err(stats.to_string()) }
    })
    .await;
    let verdict = post("verify").await;
    eprintln!("{verdict}");
    assert_eq!(
        (&verdict["ok"], &verdict["failures"]),
        (&Value::Bool(true), &serde_json::json!({})),
        "{verdict}"
    );
    assert_eq!(
        (&verdict["checked"], &stats["failed"]),
        (&stats["acknowledged"], &Value::from(0)),
        "{verdict}"
    );
    assert_eq!(
        (&verdict["live"]["readAgain"], &verdict["live"]["wentBack"]),
        (&Value::from(0), &Value::from(0))
    );

    // Somebody writes a record a second time.
    let producer: FutureProducer = config.create().unwrap();
    let again = FutureRecord::to("numbers").partition(0).key("00000000").payload("one/0/");
    producer.send(again, Duration::from_secs(5)).await.unwrap();
    let verdict = post("verify").await;
    let twice = verdict["wrong"].to_string().contains("there 2 times");
    assert!(verdict["ok"] == false && twice, "{verdict}");
    let read = until("the consumer to see it", async || {
        let stats = get("stats").await?;
        if stats["live"]["readAgain"] == 1 { Ok(stats) } else { Err(stats.to_string()) }
    });
    read.await;
}
