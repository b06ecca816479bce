#![allow(clippy::unwrap_used, clippy::panic)]

use kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, DescribeClusterRequest, DescribeClusterResponse, UnregisterBrokerRequest,
    api_versions_response::ApiVersion,
};

use super::{
    super::fake::{Fake, Question, Reply, answer, framed, versions},
    *,
};

fn range(min: i16, max: i16) -> VersionRange {
    VersionRange { min, max }
}

#[test]
fn the_newest_common_version_is_spoken() {
    assert_eq!(common::<DescribeClusterRequest>(Some(&range(0, 9))), Ok(2));
    assert_eq!(common::<DescribeClusterRequest>(Some(&range(2, 2))), Ok(2));
    assert_eq!(common::<UnregisterBrokerRequest>(Some(&range(0, 0))), Ok(0));
}

#[test]
fn no_common_version_is_told_with_both_sides() {
    let old = common::<DescribeClusterRequest>(Some(&range(0, 1))).unwrap_err();
    assert_eq!(old, "the node has DescribeCluster in versions 0..1, the client in 2..2");
    let new = common::<DescribeClusterRequest>(Some(&range(7, 9))).unwrap_err();
    assert_eq!(new, "the node has DescribeCluster in versions 7..9, the client in 2..2");
    assert_eq!(common::<DescribeClusterRequest>(None).unwrap_err(), "the node does not have DescribeCluster");
}

fn ordinary(question: &Question) -> Reply {
    match question.key {
        ApiKey::ApiVersions => answer(question, &versions(&[(ApiKey::DescribeCluster, 0, 2)])),
        _ => answer(question, &DescribeClusterResponse::default().with_cluster_id("abc".to_owned().into())),
    }
}

async fn open(fake: &Fake) -> Result<Connection, Failure> {
    Connection::open(&fake.address.to_string(), &Settings::default()).await
}

/// Whoever waits for ever fails.
async fn exchange(connection: &mut Connection, progress: &mut Progress) -> Result<String, Failure> {
    let (request, settings) = (DescribeClusterRequest::default(), Settings::default());
    let exchange = connection.exchange(&request, &settings, progress);
    let answer = tokio::time::timeout(Duration::from_secs(20), exchange).await.expect("no end of it")?;
    Ok(answer.cluster_id.to_string())
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let fake = Fake::start(ordinary).await;
    let mut connection = open(&fake).await.unwrap();
    for _ in 0..3 {
        assert_eq!(exchange(&mut connection, &mut Progress::default()).await.unwrap(), "abc");
    }
    assert_eq!(fake.connections(), 1);
    assert!(connection.is_usable(&fake.address.to_string()));
    assert!(!connection.is_usable("127.0.0.1:1"), "the node has moved");
}

/// What a server does that is older than the question (KIP-511).
fn old(question: &Question) -> Reply {
    if question.key == ApiKey::ApiVersions && question.version > 3 {
        let own = ApiVersion::default().with_api_key(18).with_min_version(0).with_max_version(3);
        let refusal = ApiVersionsResponse::default().with_error_code(35).with_api_keys(vec![own]);
        return Reply::Bytes(framed(&refusal, 0, question.id));
    }
    ordinary(question)
}

#[tokio::test]
async fn an_older_server_is_asked_again_in_its_version() {
    let fake = Fake::start(old).await;
    let mut connection = open(&fake).await.unwrap();
    assert_eq!(exchange(&mut connection, &mut Progress::default()).await.unwrap(), "abc");
    assert_eq!(fake.connections(), 1);
}

#[tokio::test]
async fn what_the_node_does_not_have_is_not_sent() {
    let fake = Fake::start(ordinary).await;
    let mut connection = open(&fake).await.unwrap();
    let mut progress = Progress::default();
    let failure = connection
        .exchange(&UnregisterBrokerRequest::default(), &Settings::default(), &mut progress)
        .await
        .unwrap_err();
    assert!(matches!(failure, Failure::Unsupported(_)), "{failure:?}");
    assert!(!progress.sent);
    // And the connection is as good as before.
    assert_eq!(exchange(&mut connection, &mut progress).await.unwrap(), "abc");
}

#[tokio::test]
async fn an_answer_that_is_cut_off_is_no_answer() {
    let fake = Fake::start(|question| match ordinary(question) {
        Reply::Bytes(bytes) if question.key != ApiKey::ApiVersions => {
            Reply::Last(bytes.slice(..bytes.len() / 2))
        }
        other => other,
    })
    .await;
    let mut progress = Progress::default();
    let failure = exchange(&mut open(&fake).await.unwrap(), &mut progress).await.unwrap_err();
    assert!(matches!(failure, Failure::Broken(Cause::Disconnected(_))), "{failure:?}");
    assert!(progress.sent);
}

#[tokio::test]
async fn a_frame_that_is_too_large_is_not_read() {
    let fake = Fake::start(|question| match question.key {
        ApiKey::ApiVersions => ordinary(question),
        _ => Reply::Bytes((100 * 1024 * 1024 + 1_u32).to_be_bytes().to_vec().into()),
    })
    .await;
    let failure = exchange(&mut open(&fake).await.unwrap(), &mut Progress::default()).await.unwrap_err();
    assert!(matches!(failure, Failure::Broken(Cause::Frame(104_857_601))), "{failure:?}");
}

#[tokio::test]
async fn another_protocol_is_not_taken_for_an_answer() {
    let fake = Fake::start(|_| Reply::Last("HTTP/1.1 400 Bad Request\r\n\r\n".into())).await;
    // "HTTP" as a length.
    assert!(matches!(open(&fake).await, Err(Failure::Broken(Cause::Frame(0x4854_5450)))));
}

#[tokio::test]
async fn a_node_that_refuses_to_tell_its_versions_is_not_used() {
    let fake = Fake::start(|question| answer(question, &versions(&[]).with_error_code(29))).await;
    assert!(matches!(open(&fake).await, Err(Failure::Broken(Cause::Unparsable(_)))));
}

#[tokio::test]
async fn a_connection_that_the_node_has_closed_is_not_usable() {
    let fake = Fake::start(|question| match ordinary(question) {
        Reply::Bytes(bytes) => Reply::Last(bytes),
        other => other,
    })
    .await;
    let mut connection = open(&fake).await.unwrap();
    for _ in 0..500 {
        if !connection.is_usable(&fake.address.to_string()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never noticed");
}

#[tokio::test]
async fn nobody_listens() {
    let address = Fake::start(|_| Reply::Silence).await.address.to_string();
    // The fake is gone when its task has ended.
    for _ in 0..500 {
        match Connection::open(
            &address,
            &Settings { connect: Duration::from_millis(200), ..Settings::default() },
        )
        .await
        {
            Err(Failure::Broken(Cause::Connect(why))) => {
                assert!(why.starts_with(&address), "{why}");
                return;
            }
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("always connected");
}
