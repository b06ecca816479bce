//! Kafka's own tools, which are in its image, with a small Java.

use anyhow::Result;
use kube::Client;

use crate::exec::{self, Place};

const JAVA: [&str; 6] =
    ["java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", "/opt/kafka/libs/*"];

/// The tools in the pods of one cluster.
#[derive(Clone, Copy)]
pub(crate) struct Tools<'a> {
    pub(crate) client: &'a Client,
    pub(crate) namespace: &'a str,
    pub(crate) cluster: &'a str,
}

impl Tools<'_> {
    /// Runs a class of `org.apache.kafka.tools` on a node (`POOL-ID`) with this input; its output.
    pub(crate) async fn run(
        self,
        node: &str,
        class: &str,
        arguments: &[&str],
        input: &str,
    ) -> Result<String> {
        let command = self.command(class, arguments);
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        exec::exec(self.client, self.at(&self.pod(node)), &command, input).await
    }

    /// Makes a topic whose partitions are on these brokers: `3:1,0:3` are two of two replicas.
    pub(crate) async fn create_topic(self, node: &str, name: &str, assignment: &str) -> Result<()> {
        let arguments = ["--create", "--topic", name, "--replica-assignment", assignment];
        self.run(node, "TopicCommand", &arguments, "").await.map(drop)
    }

    /// Where clients of the cluster begin.
    pub(crate) fn bootstrap(self) -> String {
        format!("{}-client:9092", self.cluster)
    }

    /// The command line of a tool.
    fn command(self, class: &str, arguments: &[&str]) -> Vec<String> {
        let server = self.bootstrap();
        let class = format!("org.apache.kafka.tools.{class}");
        let words = JAVA.iter().copied().chain([class.as_str(), "--bootstrap-server", server.as_str()]);
        words.chain(arguments.iter().copied()).map(str::to_owned).collect()
    }

    fn pod(self, node: &str) -> String {
        format!("{}-{node}-0", self.cluster)
    }

    fn at<'a>(&'a self, pod: &'a str) -> Place<'a> {
        Place { namespace: self.namespace, pod, container: "kafka" }
    }
}
