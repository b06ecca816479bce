//! What the operator relies on, in the life of one cluster.

use std::time::{Duration, Instant};

use etcd_client::{
    AlarmAction, AlarmOptions, AlarmType, Client, Error, GetOptions, Member, MemberAddOptions, StatusResponse,
};
use tonic::Code::{
    DataLoss, DeadlineExceeded, FailedPrecondition, InvalidArgument, NotFound, Unavailable, Unknown,
};

use crate::world::{How, World, client, get, refused, unanswered, until};

const UNHEALTHY: &str = "etcdserver: unhealthy cluster";
const NOT_STARTED: &str = "etcdserver: re-configuration failed due to not enough started members";
const NOT_IN_SYNC: &str = "etcdserver: can only promote a learner member which is in sync with leader";
const NOT_LEARNER: &str = "etcdserver: can only promote a learner member";
const TOO_MANY: &str = "etcdserver: too many learner members in cluster";
const ID_EXISTS: &str = "etcdserver: member ID already exist";
const URL_EXISTS: &str = "etcdserver: Peer URLs already exists";
const NOT_FOUND: &str = "etcdserver: member not found";
const NO_LEADER: &str = "etcdserver: no leader";
const NOT_LEADER: &str = "etcdserver: not leader";
const BAD_TRANSFEREE: &str = "etcdserver: bad leader transferee";
const LEARNER: &str = "etcdserver: rpc not supported for learner";
const TIMED_OUT: &str = "etcdserver: request timed out";
const DEADLINE: &str = "context deadline exceeded";
const CORRUPT: &str = "etcdserver: corrupt cluster";

/// An id that nobody has.
const NOBODY: u64 = 0x1234_5678;
/// Shorter than etcd's health interval by enough for a slow machine.
const TOO_SOON: Duration = Duration::from_secs(3);

/// Longer than etcd's health interval.
const LONG_ENOUGH: Duration = Duration::from_secs(6);

/// All of them, in order: each part goes on from what the one before has left.
pub async fn all(mut world: impl World) {
    let first = create(&mut world).await;
    alone(&world, first).await;
    let second = learner(&mut world, first).await;
    promoted(&mut world, second).await;
    let third = third(&mut world).await;
    leadership(&world, first, second).await;
    one_of_three_down(&mut world, first, third).await;
    without_quorum(&mut world, third).await;
    removed_while_it_runs(&mut world, third).await;
    corrupt(&world, second).await;
}

async fn status(world: &impl World, member: usize) -> Result<StatusResponse, String> {
    client(world, member).await.status().await.map_err(|error| error.to_string())
}

fn id(status: &StatusResponse) -> u64 {
    status.header().unwrap().member_id()
}

async fn add(client: &mut Client, url: &str) -> Result<Vec<Member>, Error> {
    let options = MemberAddOptions::new().with_is_learner();
    client.member_add([url], Some(options)).await.map(|added| added.member_list().to_vec())
}

/// Adds as soon as it is accepted, which must be refused as unhealthy until then.
async fn add_at_last(client: &mut Client, url: &str) -> Vec<Member> {
    until("the member is added", async || match add(client, url).await {
        Ok(list) => Ok(list),
        Err(Error::GRpcStatus(status)) if status.message() == UNHEALTHY => Err(UNHEALTHY.to_owned()),
        Err(other) => panic!("{other}"),
    })
    .await
}

async fn serves(world: &impl World, member: usize) {
    until("a linearizable read succeeds", async || {
        client(world, member).await.get("key", None).await.map_err(|error| error.to_string())
    })
    .await;
}

/// Promotes as soon as it is accepted, which must be refused as behind until then.
async fn promote_at_last(client: &mut Client, id: u64) {
    until("the learner is promoted", async || match client.member_promote(id).await {
        Ok(_) => Ok(()),
        Err(Error::GRpcStatus(status)) if status.message() == NOT_IN_SYNC => Err(NOT_IN_SYNC.to_owned()),
        Err(other) => panic!("{other}"),
    })
    .await;
}

/// Names and URLs for a member that is about to start.
fn with_own_name(list: &[Member], own: &str) -> How {
    let entry = |member: &Member| {
        let name = if member.name().is_empty() { own } else { member.name() };
        (name.to_owned(), member.peer_urls()[0].clone())
    };
    How::Existing(list.iter().map(entry).collect())
}

async fn create(world: &mut impl World) -> u64 {
    assert!(world.start(0, &How::New));
    let status = until("the first member leads", async || {
        let status = status(world, 0).await?;
        if status.leader() == 0 { Err("no leader".to_owned()) } else { Ok(status) }
    })
    .await;
    assert_eq!(status.leader(), id(&status));
    assert_eq!(status.version(), world.version().to_string());
    assert!(!status.is_learner());
    assert!(status.raft_index() > 0 && status.raft_applied_index() > 0 && status.raft_term() > 0);
    assert!(status.db_size() > 0);
    id(&status)
}

async fn alone(world: &impl World, first: u64) {
    serves(world, 0).await;
    let mut etcd = client(world, 0).await;
    etcd.put("key", "value", None).await.unwrap();
    let read = etcd.get("key", None).await.unwrap();
    assert_eq!((read.count(), read.kvs()[0].value_str().unwrap()), (1, "value"));
    assert_eq!(etcd.get("no such key", None).await.unwrap().count(), 0);
    let list = etcd.member_list().await.unwrap();
    let [own] = list.members() else { panic!("{list:?}") };
    assert_eq!((own.id(), own.name(), own.is_learner()), (first, "m0", false));
    assert_eq!(own.peer_urls(), [world.peer_url(0)]);
    assert_eq!(own.client_urls().len(), 1);
    for path in ["/livez", "/readyz"] {
        assert_eq!(get(world, 0, path).await.0, 200, "{path}");
    }
    let minor = format!("{}.{}.0", world.version().major, world.version().minor);
    until("the cluster has a version", async || {
        let (status, text) = get(world, 0, "/version").await;
        let server = text.contains(&format!(r#""etcdserver":"{}""#, world.version()));
        let cluster = text.contains(&format!(r#""etcdcluster":"{minor}""#));
        if (status, server, cluster) == (200, true, true) { Ok(()) } else { Err(text) }
    })
    .await;
    assert_eq!(get(world, 0, "/no-such-path").await.0, 404);
    assert!(etcd.alarm(AlarmAction::Get, AlarmType::None, None).await.unwrap().alarms().is_empty());
    assert_eq!(etcd.hash_kv(0).await.unwrap().hash(), etcd.hash_kv(0).await.unwrap().hash());

    refused(
        "no URL",
        add(&mut etcd, "http://m1").await,
        InvalidArgument,
        "etcdserver: given member URLs are invalid",
    );
    refused("remove nobody", etcd.member_remove(NOBODY).await, NotFound, NOT_FOUND);
    refused("remove the only voter", etcd.member_remove(first).await, Unknown, NOT_STARTED);
    refused("promote nobody", etcd.member_promote(NOBODY).await, NotFound, NOT_FOUND);
    refused("promote a voter", etcd.member_promote(first).await, FailedPrecondition, NOT_LEARNER);
    refused("nobody leads", etcd.move_leader(NOBODY).await, FailedPrecondition, BAD_TRANSFEREE);
}

async fn learner(world: &mut impl World, first: u64) -> u64 {
    let mut etcd = client(world, 0).await;
    // A single voter is not asked to wait.
    let list = add(&mut etcd, &world.peer_url(1)).await.unwrap();
    let added = list.iter().find(|member| member.id() != first).unwrap();
    let second = added.id();
    assert_eq!((added.name(), added.is_learner()), ("", true));
    assert_eq!(added.peer_urls(), [world.peer_url(1)]);
    assert!(added.client_urls().is_empty());
    assert_eq!(etcd.member_list().await.unwrap().members().len(), 2);
    assert_eq!(get(world, 0, "/readyz").await.0, 200, "a learner takes nothing away");
    // The id is made of the URL and the second.
    until("the same URL is refused for that", async || match add(&mut etcd, &world.peer_url(1)).await {
        Err(Error::GRpcStatus(status)) if status.message() == ID_EXISTS => Err(ID_EXISTS.to_owned()),
        other => {
            refused("the same URL", other, FailedPrecondition, URL_EXISTS);
            Ok(())
        }
    })
    .await;
    refused("a second learner", add(&mut etcd, &world.peer_url(2)).await, FailedPrecondition, TOO_MANY);
    refused("promote before it starts", etcd.member_promote(second).await, FailedPrecondition, NOT_IN_SYNC);
    refused("a learner leads", etcd.move_leader(second).await, FailedPrecondition, BAD_TRANSFEREE);

    assert!(world.start(1, &with_own_name(&list, "m1")));
    let status = until("the learner knows the leader", async || {
        let status = status(world, 1).await?;
        if status.leader() == first && status.is_learner() { Ok(status) } else { Err(format!("{status:?}")) }
    })
    .await;
    assert_eq!(id(&status), second);
    let mut learner = client(world, 1).await;
    let code = if world.version().minor < 6 { Unavailable } else { FailedPrecondition };
    refused("a linearizable read", learner.get("key", None).await, code, LEARNER);
    until("a serializable read sees the key", async || {
        let read = learner.get("key", Some(GetOptions::new().with_serializable())).await;
        let read = read.map_err(|error| error.to_string())?;
        if read.count() == 1 { Ok(()) } else { Err("no key yet".to_owned()) }
    })
    .await;
    refused("a learner's list", learner.member_list().await, code, LEARNER);
    let alarms = learner.alarm(AlarmAction::Get, AlarmType::None, None).await;
    refused("a learner's alarms", alarms, code, LEARNER);
    refused("a learner adds", add(&mut learner, &world.peer_url(2)).await, code, LEARNER);
    refused("a learner's hash", learner.hash_kv(0).await, code, LEARNER);
    assert_eq!(get(world, 1, "/livez").await.0, 200);
    assert_eq!(get(world, 1, "/readyz").await.0, 503);
    until("the learner has a name", async || {
        let list = etcd.member_list().await.map_err(|error| error.to_string())?;
        let name = list.members().iter().find(|member| member.id() == second).unwrap().name().to_owned();
        if name == "m1" { Ok(()) } else { Err(name) }
    })
    .await;
    second
}

async fn promoted(world: &mut impl World, second: u64) {
    let mut etcd = client(world, 0).await;
    promote_at_last(&mut etcd, second).await;
    refused("promote it again", etcd.member_promote(second).await, FailedPrecondition, NOT_LEARNER);
    serves(world, 1).await;
    assert!(!status(world, 1).await.unwrap().is_learner());
    assert_eq!(etcd.member_list().await.unwrap().members().len(), 2);
    until("the second member is ready", async || match get(world, 1, "/readyz").await {
        (200, _) => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}

async fn third(world: &mut impl World) -> u64 {
    // The second member comes back on its data, and so is connected for less than the health interval.
    let started = Instant::now();
    world.stop(1);
    assert!(world.start(1, &How::Data));
    serves(world, 1).await;
    let mut etcd = client(world, 0).await;
    until("the first member serves too", async || {
        etcd.get("key", None).await.map_err(|error| error.to_string())
    })
    .await;
    let early = add(&mut etcd, &world.peer_url(2)).await;
    if started.elapsed() < TOO_SOON {
        refused("too soon", early, Unavailable, UNHEALTHY);
    } else {
        drop(early);
    }
    let list = add_at_last(&mut etcd, &world.peer_url(2)).await;
    let third = list.iter().find(|member| member.peer_urls()[0] == world.peer_url(2)).unwrap().id();
    assert!(world.start(2, &with_own_name(&list, "m2")));
    // Through a member that does not lead, if it is one: it asks the leader.
    let mut other = client(world, 1).await;
    promote_at_last(&mut other, third).await;
    serves(world, 2).await;
    third
}

async fn leadership(world: &impl World, first: u64, second: u64) {
    let leader = status(world, 0).await.unwrap().leader();
    let follower = usize::from(leader == first);
    let refused_by = client(world, follower).await.move_leader(leader).await;
    refused("asked of a follower", refused_by, FailedPrecondition, NOT_LEADER);
    // Leadership may have moved by itself before; in the end the second member leads.
    until("the second member leads", async || {
        let leader = status(world, 0).await?.leader();
        if leader == second {
            return Ok(());
        }
        let at = if leader == first { 0 } else { 2 };
        client(world, at).await.move_leader(second).await.map_err(|error| error.to_string())?;
        Err("moved just now".to_owned())
    })
    .await;
    for member in 0..3 {
        until("all know the leader", async || {
            let leader = status(world, member).await?.leader();
            if leader == second { Ok(()) } else { Err(format!("{leader:x}")) }
        })
        .await;
    }
}

async fn one_of_three_down(world: &mut impl World, first: u64, third: u64) {
    let mut etcd = client(world, 1).await;
    // Until all are connected for long enough, nobody who runs may go; to ask for somebody else is harmless.
    until("all are connected", async || match add(&mut etcd, &world.peer_url(3)).await {
        Ok(list) => {
            let added = list.iter().find(|member| member.is_learner()).unwrap().id();
            etcd.member_remove(added).await.map(drop).map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    })
    .await;
    world.stop(0);
    until("the voter that is down is noticed", async || match add(&mut etcd, &world.peer_url(3)).await {
        Err(Error::GRpcStatus(status)) if status.message() == UNHEALTHY => Ok(()),
        Ok(list) => {
            let added = list.iter().find(|member| member.is_learner()).unwrap().id();
            etcd.member_remove(added).await.map_err(|error| error.to_string())?;
            Err("added".to_owned())
        }
        Err(other) => Err(other.to_string()),
    })
    .await;
    // And it stays so when those who run have been connected for long enough.
    let noticed = Instant::now();
    while noticed.elapsed() < LONG_ENOUGH {
        refused("a fourth", add(&mut etcd, &world.peer_url(3)).await, Unavailable, UNHEALTHY);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    refused("remove one of the two that run", etcd.member_remove(third).await, Unavailable, UNHEALTHY);
    serves(world, 1).await;
    assert_eq!(get(world, 1, "/readyz").await.0, 200);
    let left = etcd.member_remove(first).await.unwrap();
    assert!(left.members().iter().all(|member| member.id() != first));
    assert_eq!(left.members().len(), 2);
    refused("remove it again", etcd.member_remove(first).await, NotFound, NOT_FOUND);
    if world.start(0, &How::Data) {
        until("the removed member ends by itself", async || {
            if world.has_ended(0) { Ok(()) } else { Err("it runs".to_owned()) }
        })
        .await;
    }
}

async fn without_quorum(world: &mut impl World, third: u64) {
    world.stop(2);
    let status = until("nobody leads", async || {
        let status = status(world, 1).await?;
        if status.leader() == 0 { Ok(status) } else { Err("somebody leads".to_owned()) }
    })
    .await;
    assert!(status.errors().contains(&NO_LEADER.to_owned()), "{status:?}");
    let mut etcd = client(world, 1).await;
    let (mut one, mut two, mut three, mut four, mut five) =
        (etcd.clone(), etcd.clone(), etcd.clone(), etcd.clone(), etcd.clone());
    // All at once: each of them waits for as long as etcd waits for a majority.
    let (read, write, alarms, promoted, ready, ()) = tokio::join!(
        one.get("key", None),
        two.put("key", "no", None),
        three.alarm(AlarmAction::Get, AlarmType::None, None),
        four.member_promote(third),
        get(world, 1, "/readyz"),
        unanswered("remove", five.member_remove(third)),
    );
    refused("a linearizable read", read, Unavailable, TIMED_OUT);
    refused("a write", write, DeadlineExceeded, DEADLINE);
    refused("alarms", alarms, DeadlineExceeded, DEADLINE);
    refused("promote", promoted, Unavailable, NO_LEADER);
    assert_eq!(ready.0, 503);
    let local = etcd.get("key", Some(GetOptions::new().with_serializable())).await.unwrap();
    assert_eq!(local.count(), 1);
    assert_eq!(etcd.member_list().await.unwrap().members().len(), 2, "the list is what the member knows");
    refused("add", add(&mut etcd, &world.peer_url(3)).await, Unavailable, UNHEALTHY);
    refused("lead", etcd.move_leader(third).await, FailedPrecondition, NOT_LEADER);
    assert_eq!(get(world, 1, "/livez").await.0, 200);
    assert!(client(world, 2).await.status().await.is_err(), "nobody is there");

    assert!(world.start(2, &How::Data));
    for member in [1, 2] {
        serves(world, member).await;
    }
    assert_eq!(etcd.member_list().await.unwrap().members().len(), 2);
}

async fn removed_while_it_runs(world: &mut impl World, third: u64) {
    let mut etcd = client(world, 1).await;
    until("a member that runs is removed", async || match etcd.member_remove(third).await {
        Ok(_) => Ok(()),
        Err(Error::GRpcStatus(status)) if status.message() == UNHEALTHY => Err(UNHEALTHY.to_owned()),
        Err(other) => panic!("{other}"),
    })
    .await;
    until("it ends by itself", async || if world.has_ended(2) { Ok(()) } else { Err("it runs".to_owned()) })
        .await;
    serves(world, 1).await;
    assert_eq!(etcd.member_list().await.unwrap().members().len(), 1);
}

async fn corrupt(world: &impl World, second: u64) {
    let mut etcd = client(world, 1).await;
    let of = |id: u64| {
        let mut options = AlarmOptions::new();
        options.with_member(id);
        Some(options)
    };
    etcd.alarm(AlarmAction::Activate, AlarmType::Corrupt, of(second)).await.unwrap();
    let raised = etcd.alarm(AlarmAction::Get, AlarmType::None, None).await.unwrap();
    let [alarm] = raised.alarms() else { panic!("{raised:?}") };
    assert_eq!((alarm.member_id(), alarm.alarm()), (second, AlarmType::Corrupt));
    refused("a write", etcd.put("key", "no", None).await, DataLoss, CORRUPT);
    etcd.get("key", None).await.unwrap();
    assert_eq!(get(world, 1, "/livez").await.0, 200);
    assert_eq!(get(world, 1, "/readyz").await.0, 503);
    assert!(status(world, 1).await.unwrap().errors().iter().any(|error| error.contains("CORRUPT")));
    etcd.alarm(AlarmAction::Deactivate, AlarmType::Corrupt, of(second)).await.unwrap();
    assert!(etcd.alarm(AlarmAction::Get, AlarmType::None, None).await.unwrap().alarms().is_empty());
    etcd.put("key", "value", None).await.unwrap();
    assert_eq!(get(world, 1, "/readyz").await.0, 200);
}
