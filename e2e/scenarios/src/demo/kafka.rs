//! Three nodes of Kafka that hold a topic.

use anyhow::Result;

use super::{Operator, create, exec, suggestions};
use crate::environment::Environment;

const SAMPLE: &str = include_str!("../../../../deploy/samples/kafka/minimal.yaml");
/// Kafka's own tools, which are in its image, with a small Java.
const TOOL: [&str; 6] =
    ["java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", "/opt/kafka/libs/*"];
const SERVER: [&str; 2] = ["--bootstrap-server", "my-kafka-client:9092"];

pub(super) async fn run(environment: &Environment) -> Result<()> {
    let status = create(environment, Operator::Kafka, SAMPLE).await?;
    println!("\n  ID  NAME               CONTROLLER  BROKER   ZONE");
    for node in status["nodes"].as_array().into_iter().flatten() {
        let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
        println!(
            "  {:<3} {:<18} {:<11} {:<8} {}",
            node["id"].to_string(),
            text("name"),
            text("controller"),
            text("broker"),
            text("zone")
        );
    }
    println!(
        "\nA topic with a replica in every zone; a record, written through one node and read through another:\n"
    );
    let topic = ["--create", "--topic", "hello", "--partitions", "3", "--replication-factor", "3"];
    tool(environment, 0, "TopicCommand", &topic, "").await?;
    tool(environment, 0, "ConsoleProducer", &["--topic", "hello"], "ballast\n").await?;
    let read = ["--topic", "hello", "--from-beginning", "--max-messages", "1", "--timeout-ms", "20000"];
    tool(environment, 2, "consumer.ConsoleConsumer", &read, "").await?;
    suggestions(
        environment,
        &[
            ("kubectl -n demo describe kafkacluster my-kafka", "what it is doing, and what it waits for"),
            ("kubectl -n demo delete pod my-kafka-node-1-0", "it comes back with its data"),
        ],
    );
    Ok(())
}

async fn tool(
    environment: &Environment,
    node: i32,
    class: &str,
    arguments: &[&str],
    input: &str,
) -> Result<()> {
    let class = format!("org.apache.kafka.tools.{class}");
    let command = [&TOOL[..], &[class.as_str()], &SERVER, arguments].concat();
    let text = exec(environment, &format!("my-kafka-node-{node}-0"), "kafka", &command, input).await?;
    let name = class.rsplit('.').next().unwrap_or_default();
    println!("  node {node}$ {name} {}\n  {}", arguments.join(" "), text.replace('\n', "\n  "));
    Ok(())
}
