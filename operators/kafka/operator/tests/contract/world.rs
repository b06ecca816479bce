//! The cluster, the client that asks it, and how to wait.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use kafka_operator::client::{Addresses, Admin, Client, Directory, Error, Listener, Route, Settings};

use crate::servers::Servers;

/// How long something may take that happens by itself; a slow machine starts three servers in less.
const PATIENCE: Duration = Duration::from_mins(2);

/// Where the nodes are, for now.
#[derive(Default)]
pub struct Network(Mutex<Addresses>);

impl Network {
    /// Sends the clients of a broker somewhere else.
    pub fn redirect(&self, node: i32, address: String) -> String {
        self.0.lock().unwrap().brokers.insert(node, address).unwrap()
    }
}

impl Directory for Network {
    fn nodes(&self, listener: Listener) -> Vec<i32> {
        self.0.lock().unwrap().nodes(listener)
    }

    fn address(&self, node: i32, listener: Listener) -> Option<String> {
        self.0.lock().unwrap().address(node, listener)
    }
}

pub struct World {
    pub servers: Servers,
    pub network: Arc<Network>,
    pub client: Client,
    begun: Instant,
}

impl World {
    pub fn new(servers: Servers) -> Self {
        let network = Arc::new(Network(Mutex::new(servers.addresses())));
        // Small pages, so that there is more than one.
        let settings = Settings { deadline: Duration::from_secs(10), page: 3, ..Settings::default() };
        let client = Client::new(Arc::clone(&network) as Arc<dyn Directory>, settings);
        Self { servers, network, client, begun: Instant::now() }
    }

    pub fn brokers(&self) -> Admin {
        self.client.at(Route::Brokers)
    }

    pub fn controllers(&self) -> Admin {
        self.client.at(Route::Controllers)
    }

    pub fn broker(&self, node: i32) -> Admin {
        self.client.at(Route::Broker(node))
    }

    pub fn controller(&self, node: i32) -> Admin {
        self.client.at(Route::Controller(node))
    }

    /// Tells what is done, when, and how much memory it takes.
    pub fn done(&self, what: &str) {
        eprintln!(
            "Kafka {} {:5.1} s {what}; MiB {:?}",
            self.servers.version,
            self.begun.elapsed().as_secs_f32(),
            self.servers.memory(),
        );
    }
}

/// Asks again until it is so.
pub async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(why) if begun.elapsed() > PATIENCE => panic!("never: {what}; {why}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// Makes a change as soon as it is accepted; until then it must be refused for now, or without an answer.
pub async fn at_last<T>(what: &str, mut change: impl AsyncFnMut() -> Result<T, Error>) -> T {
    until(what, async || match change().await {
        Ok(answer) => Ok(answer),
        Err(Error::Refused(refusal)) => panic!("{what}: {refusal}"),
        Err(other) => Err(other.to_string()),
    })
    .await
}

#[track_caller]
pub fn refused<T>(what: &str, result: Result<T, Error>, code: i16) {
    match result {
        Err(Error::Refused(refusal)) => {
            eprintln!("  {what}: {refusal}");
            assert_eq!(refusal.code, code, "{what}: {refusal}");
        }
        Err(other) => panic!("{what}: {other}"),
        Ok(_) => panic!("{what}: accepted"),
    }
}

#[track_caller]
pub fn waits<T>(what: &str, result: Result<T, Error>, code: i16) {
    match result {
        Err(Error::Waiting(refusal)) => {
            eprintln!("  {what}: {refusal}");
            assert_eq!(refusal.code, code, "{what}: {refusal}");
        }
        Err(other) => panic!("{what}: {other}"),
        Ok(_) => panic!("{what}: accepted"),
    }
}

/// One partition of each of one topic.
pub fn only<T>(topic: &str, one: T) -> kafka_operator::client::ByTopic<T> {
    [(topic.to_owned(), vec![one])].into()
}

/// The one outcome in an answer.
pub fn outcome<T>(
    mut answer: kafka_operator::client::ByTopic<(i32, Result<T, Error>)>,
    topic: &str,
) -> Result<T, Error> {
    let mut partitions = answer.remove(topic).unwrap();
    assert_eq!(partitions.len(), 1, "one partition was asked for");
    partitions.remove(0).1
}
