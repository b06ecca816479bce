//! Three nodes of Kafka that hold a topic.

use anyhow::Result;

use super::{NAMESPACE, create, suggestions};
use crate::{environment::Environment, kafka::tools, operator::Operator};

const SAMPLE: &str = include_str!("../../../../deploy/samples/kafka/minimal.yaml");

pub(super) async fn run(environment: &Environment) -> Result<()> {
    let status = create(environment, Operator::Kafka, SAMPLE).await?;
    println!("\n  ID  NAME               CONTROLLER  BROKER");
    for node in status["nodes"].as_array().into_iter().flatten() {
        let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
        println!(
            "  {:<3} {:<18} {:<11} {}",
            node["id"].to_string(),
            text("name"),
            text("controller"),
            text("broker")
        );
    }
    println!("\nA topic with three replicas; a record, written through one node and read through another:\n");
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
    let tools = tools::Tools { client: &environment.client, namespace: NAMESPACE, cluster: "my-kafka" };
    let text = tools.run(&format!("node-{node}"), class, arguments, input).await?;
    let name = class.rsplit('.').next().unwrap_or_default();
    println!("  node {node}$ {name} {}\n  {}", arguments.join(" "), text.replace('\n', "\n  "));
    Ok(())
}
