//! Three members of etcd that hold a key.

use anyhow::Result;
use ballast_etcd_core::api::EtcdClusterStatus;

use super::{NAMESPACE, create, suggestions};
use crate::{
    environment::Environment,
    exec::{Place, exec},
    operator::Operator,
};

const SAMPLE: &str = include_str!("../../../../deploy/samples/etcd/minimal.yaml");

pub(super) async fn run(environment: &Environment) -> Result<()> {
    let status = create(environment, Operator::Etcd, SAMPLE).await?;
    let status: EtcdClusterStatus = serde_json::from_value(status)?;
    println!("\n  NAME         ROLE      VERSION  HEALTH");
    for member in status.members {
        println!(
            "  {:<12} {:<9} {:<8} {}",
            member.name,
            member.role,
            member.version.unwrap_or_default(),
            member.health
        );
    }
    println!("\nA key, written through one member and read through another:\n");
    etcdctl(environment, "my-etcd-0", &["put", "hello", "ballast"]).await?;
    etcdctl(environment, "my-etcd-2", &["get", "hello"]).await?;
    suggestions(
        environment,
        &[
            ("kubectl -n demo describe etcdcluster my-etcd", "what it is doing, and what it waits for"),
            ("kubectl -n demo scale etcdcluster my-etcd --replicas 5", "two more, one learner at a time"),
            (
                "kubectl -n demo delete pod,pvc -l ballast.dev/member=my-etcd-1",
                "lose a member: it is replaced",
            ),
        ],
    );
    Ok(())
}

async fn etcdctl(environment: &Environment, member: &str, arguments: &[&str]) -> Result<()> {
    let command = [&["/usr/local/bin/etcdctl"], arguments].concat();
    let place = Place { namespace: NAMESPACE, pod: &format!("{member}-0"), container: "etcd" };
    let text = exec(&environment.client, place, &command, "").await?;
    println!("  {member}$ etcdctl {}\n  {}", arguments.join(" "), text.replace('\n', "\n  "));
    Ok(())
}
