//! What the expectations need of an etcd, whoever it is.

use std::time::{Duration, Instant};

use etcd_client::{Channel, Client, Error};
use semver::Version;
use tonic::{Code, transport::Endpoint};

/// How a member starts.
#[derive(Clone, Debug)]
pub enum How {
    /// The first of a new cluster.
    New,
    /// After it was added: name and peer URL of all.
    Existing(Vec<(String, String)>),
    /// On the data that it has.
    Data,
}

/// Members by number.
pub trait World {
    fn version(&self) -> &Version;
    /// Where the others reach the member.
    fn peer_url(&self, member: usize) -> String;
    /// Starts the member; false if it ends at once.
    fn start(&mut self, member: usize, how: &How) -> bool;
    /// Kills the member.
    fn stop(&mut self, member: usize);
    /// Whether the member has ended by itself.
    fn has_ended(&mut self, member: usize) -> bool;
    /// Where the member's clients connect, and what they call it.
    fn endpoint(&self, member: usize) -> (String, String);
}

/// A client of one member.
pub async fn client(world: &impl World, member: usize) -> Client {
    let (address, origin) = world.endpoint(member);
    let endpoint = Endpoint::from_shared(address)
        .unwrap()
        .origin(origin.parse().unwrap())
        .connect_timeout(Duration::from_secs(2))
        .timeout(Duration::from_secs(15));
    Client::from_channel(Channel::Tonic(endpoint.connect_lazy()), None).await.unwrap()
}

/// Asks the member over plain HTTP: the status, and the text.
pub async fn get(world: &impl World, member: usize, path: &str) -> (u16, String) {
    let (address, origin) = world.endpoint(member);
    let host = origin.rsplit("//").next().unwrap().to_owned();
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
    let request = client.get(format!("{address}{path}")).header(reqwest::header::HOST, host);
    match request.send().await {
        Ok(response) => (response.status().as_u16(), response.text().await.unwrap()),
        Err(error) => (0, error.to_string()),
    }
}

/// Code and message of a refusal.
#[track_caller]
pub fn refused<T>(what: &str, result: Result<T, Error>, code: Code, message: &str) {
    match result {
        Err(Error::GRpcStatus(status)) => {
            assert_eq!((status.code(), status.message()), (code, message), "{what}");
        }
        Err(other) => panic!("{what}: {other}"),
        Ok(_) => panic!("{what}: accepted"),
    }
}

/// That a request stays without an answer for longer than etcd's own limit.
pub async fn unanswered<T>(what: &str, request: impl Future<Output = Result<T, Error>>) {
    let patience = Duration::from_secs(8);
    assert!(tokio::time::timeout(patience, request).await.is_err(), "{what}: there is an answer");
}

/// How long something may take that happens by itself.
const PATIENCE: Duration = Duration::from_mins(1);

/// Asks again until it is so.
pub async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Result<T, String>) -> T {
    let begun = Instant::now();
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(why) if begun.elapsed() > PATIENCE => panic!("never: {what}; {why}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
