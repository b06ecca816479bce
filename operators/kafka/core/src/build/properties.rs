//! The configuration files.

use ballast_core::config::properties::Document;

use crate::{
    CLIENT_PORT, CONTROLLER_PORT,
    build::{DATA_DIR, controllers_host},
    validate::{Desired, Pool},
};

/// Name of the listener for clients and between brokers.
const CLIENT: &str = "CLIENT";
/// Name of the listener of the controllers.
const CONTROLLER: &str = "CONTROLLER";

/// There are at most so many controllers.
const CONTROLLERS: i32 = 5;

/// A heap below this cannot hold the log cleaner's buffer of 128 MiB, which Kafka asks for by default.
const SMALL_HEAP: u64 = 1 << 30;

/// `server.properties` of a pool's nodes.
pub(super) fn server(desired: &Desired, pool: &Pool) -> Document {
    let roles = [(pool.controller, "controller"), (pool.broker, "broker")];
    let listeners = [(pool.broker, CLIENT, CLIENT_PORT), (pool.controller, CONTROLLER, CONTROLLER_PORT)];
    let listeners = |host: &str| {
        let mine = listeners.iter().filter(|(has, ..)| *has);
        mine.map(|(_, name, port)| format!("{name}://{host}:{port}")).collect::<Vec<_>>().join(",")
    };
    let roles: Vec<&str> = roles.into_iter().filter(|(has, _)| *has).map(|(_, role)| role).collect();
    let mut file = Document::new();
    defaults(desired, pool, &mut file);
    for (key, value) in &desired.settings {
        file.set(key, value);
    }
    file.set("node.id", "${BALLAST_ORDINAL}")
        .set("process.roles", roles.join(","))
        .set("controller.quorum.bootstrap.servers", bootstrap_controllers(desired, pool))
        .set("controller.listener.names", CONTROLLER)
        .set("listeners", listeners(""))
        .set("advertised.listeners", listeners("${BALLAST_HOST}"))
        .set("listener.security.protocol.map", format!("{CLIENT}:PLAINTEXT,{CONTROLLER}:PLAINTEXT"))
        .set("log.dirs", format!("/data/{DATA_DIR}"));
    if pool.broker {
        file.set("inter.broker.listener.name", CLIENT);
    }
    if !desired.zones.is_empty() {
        file.set("broker.rack", "${BALLAST_ZONE}");
    }
    file
}

/// Whom a node asks for the quorum while it knows no voter. A controller is behind the name of the Service as well, and keeps a
/// connection to itself, since it works; Kafka picks another name for each request, so with several it soon asks somebody else.
/// The names are those of the ids that its pool has first, whether such nodes are there or not: nobody is restarted when some come or go.
fn bootstrap_controllers(desired: &Desired, pool: &Pool) -> String {
    let first = pool.start..pool.start + if pool.controller { CONTROLLERS } else { 0 };
    let names = first.map(|id| desired.cluster.host(&desired.member(pool, id)));
    let hosts = std::iter::once(controllers_host(desired)).chain(names);
    hosts.map(|host| format!("{host}:{CONTROLLER_PORT}")).collect::<Vec<_>>().join(",")
}

/// What is better than Kafka's own default here; users may set it otherwise.
fn defaults(desired: &Desired, pool: &Pool, file: &mut Document) {
    match desired.brokers() {
        // A topic survives the loss of a node, and takes no record that only one node has.
        3.. => {
            file.set("default.replication.factor", "3").set("min.insync.replicas", "2");
        }
        // Kafka's own topics want three replicas, and would never be made.
        few => {
            let few = few.to_string();
            file.set("offsets.topic.replication.factor", &few)
                .set("transaction.state.log.replication.factor", &few)
                .set("transaction.state.log.min.isr", "1")
                .set("share.coordinator.state.topic.replication.factor", &few)
                .set("share.coordinator.state.topic.min.isr", "1");
        }
    }
    if pool.heap < SMALL_HEAP {
        file.set("log.cleaner.dedupe.buffer.size", (pool.heap / 16).max(4 << 20).to_string());
    }
}

/// `log4j2.properties`: everything to standard output, from level INFO on.
pub(super) fn log() -> Document {
    let mut file = Document::new();
    file.set("status", "error")
        .set("name", "Ballast")
        .set("appender.console.type", "Console")
        .set("appender.console.name", "STDOUT")
        .set("appender.console.layout.type", "PatternLayout")
        .set("appender.console.layout.pattern", "%d{yyyy-MM-dd'T'HH:mm:ss.SSSXXX} %p %m (%c)%n")
        .set("rootLogger.level", "INFO")
        .set("rootLogger.appenderRefs", "stdout")
        .set("rootLogger.appenderRef.stdout.ref", "STDOUT")
        .set("logger.controller.name", "org.apache.kafka.controller")
        .set("logger.controller.level", "INFO");
    file
}
