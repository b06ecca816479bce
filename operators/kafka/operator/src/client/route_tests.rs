#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI32, AtomicUsize},
    },
    time::Instant,
};

use kafka_protocol::messages::{ApiKey, BrokerId, DescribeClusterResponse, UnregisterBrokerResponse};

use super::{
    super::{
        Addresses, Client, Settings,
        fake::{Fake, Question, Reply, answer, versions},
    },
    *,
};

/// A node that has two requests.
fn node(question: &Question, other: impl FnOnce(&Question) -> Reply) -> Reply {
    match question.key {
        ApiKey::ApiVersions => {
            answer(question, &versions(&[(ApiKey::DescribeCluster, 0, 2), (ApiKey::UnregisterBroker, 0, 0)]))
        }
        _ => other(question),
    }
}

fn described(question: &Question, controller: i32) -> Reply {
    answer(question, &DescribeClusterResponse::default().with_controller_id(BrokerId(controller)))
}

fn unregistered(question: &Question, code: i16) -> Reply {
    answer(question, &UnregisterBrokerResponse::default().with_error_code(code))
}

fn nodes(fakes: &[&Fake]) -> BTreeMap<i32, String> {
    (1..).zip(fakes.iter().map(|fake| fake.address.to_string())).collect()
}

fn client(brokers: &[&Fake], controllers: &[&Fake]) -> Client {
    let addresses = Addresses { brokers: nodes(brokers), controllers: nodes(controllers) };
    let settings = Settings { deadline: Duration::from_secs(10), ..Settings::default() };
    Client::new(Arc::new(addresses), settings)
}

/// A node that says nothing but its versions.
async fn silent() -> Fake {
    Fake::start(|question| node(question, |_| Reply::Silence)).await
}

async fn good() -> Fake {
    Fake::start(|question| {
        node(question, |question| match question.key {
            ApiKey::DescribeCluster => described(question, 1),
            _ => unregistered(question, 0),
        })
    })
    .await
}

/// A controller that is not active; whom it takes for active.
async fn follower(active: Arc<AtomicI32>) -> Fake {
    Fake::start(move |question| {
        node(question, |question| match question.key {
            ApiKey::DescribeCluster => described(question, active.load(Ordering::SeqCst)),
            _ => unregistered(question, code::NOT_CONTROLLER),
        })
    })
    .await
}

#[tokio::test]
async fn a_broker_that_says_nothing_does_not_take_all_the_time() {
    let (bad, fine) = (silent().await, good().await);
    let client = client(&[&bad, &fine], &[]);
    let begun = Instant::now();
    client.at(Route::Brokers).within(Duration::from_secs(2)).describe_cluster().await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1), "the first one had half of it");
    // The next time the one that answered is asked first.
    let begun = Instant::now();
    client.at(Route::Brokers).within(Duration::from_mins(1)).describe_cluster().await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_change_is_not_sent_to_another_broker_when_it_may_have_been_applied() {
    let (bad, fine) = (silent().await, good().await);
    let admin = client(&[&bad, &fine], &[]).at(Route::Brokers).within(Duration::from_millis(300));
    let error = admin.unregister_broker(1).await.unwrap_err();
    assert!(error.may_have_been_applied(), "{error}");
    assert_eq!(error.to_string(), "no answer within 300 ms; the request may have been applied");
    assert_eq!(fine.connections(), 0);
}

#[tokio::test]
async fn a_change_is_not_sent_to_another_broker_when_the_connection_ends_before_the_answer() {
    let bad = Fake::start(|question| node(question, |_| Reply::Last(bytes::Bytes::new()))).await;
    let fine = good().await;
    let error = client(&[&bad, &fine], &[]).at(Route::Brokers).unregister_broker(1).await.unwrap_err();
    assert!(error.may_have_been_applied(), "{error}");
    assert_eq!((bad.connections(), fine.connections()), (1, 0), "nor to the same one again");
}

#[tokio::test]
async fn a_change_is_not_sent_over_a_connection_that_has_ended() {
    let fake = Fake::start(|question| {
        node(question, |question| match question.key {
            ApiKey::DescribeCluster => match described(question, 1) {
                Reply::Bytes(bytes) => Reply::Last(bytes),
                other => other,
            },
            _ => unregistered(question, 0),
        })
    })
    .await;
    let admin = client(&[&fake], &[]).at(Route::Broker(1));
    admin.describe_cluster().await.unwrap();
    // Until the end of the connection has come through.
    tokio::time::sleep(Duration::from_millis(200)).await;
    admin.unregister_broker(1).await.unwrap();
}

#[tokio::test]
async fn a_change_goes_to_another_broker_when_it_has_not_left() {
    let gone = good().await.address.to_string();
    let fine = good().await;
    let brokers = BTreeMap::from([(1, gone), (2, fine.address.to_string())]);
    let client = Client::new(Arc::new(Addresses { brokers, ..Addresses::default() }), Settings::default());
    client.at(Route::Brokers).unregister_broker(1).await.unwrap();
}

#[tokio::test]
async fn a_broker_that_does_not_tell_its_versions_is_given_up_soon() {
    let (mute, fine) = (Fake::start(|_| Reply::Silence).await, good().await);
    let addresses = Addresses { brokers: nodes(&[&mute, &fine]), ..Addresses::default() };
    let settings = Settings {
        deadline: Duration::from_mins(1),
        connect: Duration::from_millis(200),
        ..Settings::default()
    };
    let client = Client::new(Arc::new(addresses), settings);
    let begun = Instant::now();
    client.at(Route::Brokers).unregister_broker(1).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!((mute.connections(), fine.connections()), (1, 1));
}

#[tokio::test]
async fn one_node_and_no_other() {
    let (bad, fine) = (silent().await, good().await);
    let client = client(&[&bad, &fine], &[]);
    let error =
        client.at(Route::Broker(1)).within(Duration::from_millis(300)).describe_cluster().await.unwrap_err();
    assert_eq!(error.to_string(), "no answer within 300 ms");
    assert!(!error.may_have_been_applied(), "a question changes nothing");
    client.at(Route::Broker(2)).describe_cluster().await.unwrap();
    let nobody = client.at(Route::Broker(3)).describe_cluster().await.unwrap_err();
    assert_eq!(nobody.to_string(), "no address to connect to");
    let nobody = client.at(Route::Controllers).unregister_broker(1).await.unwrap_err();
    assert_eq!(nobody.to_string(), "no address to connect to");
}

#[tokio::test]
async fn the_active_controller_is_found_and_remembered() {
    let active = Arc::new(AtomicI32::new(2));
    let (first, second) = (follower(Arc::clone(&active)).await, good().await);
    let client = client(&[], &[&first, &second]);
    for _ in 0..3 {
        client.at(Route::Controllers).unregister_broker(1).await.unwrap();
    }
    assert_eq!((first.connections(), second.connections()), (1, 1));
}

#[tokio::test]
async fn an_election_is_waited_for() {
    // At first nobody is known, then the wrong one, then the right one.
    let active = Arc::new(AtomicI32::new(NOBODY));
    let (first, second) = (follower(Arc::clone(&active)).await, follower(Arc::clone(&active)).await);
    let third = good().await;
    let client = client(&[], &[&first, &second, &third]);
    let admin = client.at(Route::Controllers);
    let elections = async {
        // The third knows of the first only: what it says must not be followed for ever.
        for node in [2, 3] {
            tokio::time::sleep(Duration::from_millis(300)).await;
            active.store(node, Ordering::SeqCst);
        }
    };
    let (outcome, ()) = tokio::join!(admin.unregister_broker(1), elections);
    outcome.unwrap();
}

#[tokio::test]
async fn no_election_in_time_is_to_wait() {
    let first = follower(Arc::new(AtomicI32::new(NOBODY))).await;
    let admin = client(&[], &[&first]).at(Route::Controllers).within(Duration::from_millis(500));
    let error = admin.unregister_broker(1).await.unwrap_err();
    assert_eq!(error, no_controller());
    let itself = follower(Arc::new(AtomicI32::new(1))).await;
    let admin = client(&[], &[&itself]).at(Route::Controllers).within(Duration::from_millis(500));
    assert_eq!(admin.unregister_broker(1).await.unwrap_err(), no_controller());
}

#[tokio::test]
async fn a_connection_that_ends_between_requests_is_replaced() {
    let fake = Fake::start(|question| {
        node(question, |question| match described(question, 1) {
            Reply::Bytes(bytes) => Reply::Last(bytes),
            other => other,
        })
    })
    .await;
    let admin = client(&[&fake], &[]).at(Route::Broker(1));
    for _ in 0..5 {
        admin.describe_cluster().await.unwrap();
    }
    assert_eq!(fake.connections(), 5);
}

#[tokio::test]
async fn a_request_that_is_given_up_takes_its_connection_with_it() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let fake = Fake::start(move |question| {
        node(question, |question| match count.fetch_add(1, Ordering::SeqCst) {
            0 => Reply::Silence,
            _ => described(question, 1),
        })
    })
    .await;
    let admin = client(&[&fake], &[]).at(Route::Broker(1));
    let given_up = tokio::time::timeout(Duration::from_millis(300), admin.describe_cluster()).await;
    assert!(given_up.is_err());
    admin.describe_cluster().await.unwrap();
    assert_eq!((asked.load(Ordering::SeqCst), fake.connections()), (2, 2));
}

#[tokio::test]
async fn the_next_request_waits_for_its_turn_within_its_own_time() {
    let fake = silent().await;
    let client = client(&[&fake], &[]);
    let (long, short) = (client.at(Route::Broker(1)), client.at(Route::Broker(1)));
    let (long, short) = (long.within(Duration::from_millis(900)), short.within(Duration::from_millis(200)));
    let begun = Instant::now();
    let both = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let outcome = short.unregister_broker(1).await.unwrap_err();
        (outcome, begun.elapsed())
    };
    let (_, (outcome, after)) = tokio::join!(long.describe_cluster(), both);
    assert!(!outcome.may_have_been_applied(), "it has not left");
    assert!(after < Duration::from_millis(800), "{after:?}");
}

#[tokio::test]
async fn a_request_that_the_node_lacks_is_refused() {
    let fake = Fake::start(|question| answer(question, &versions(&[]))).await;
    let error = client(&[&fake], &[]).at(Route::Brokers).unregister_broker(1).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "Kafka refuses: UNSUPPORTED_VERSION (35): the node does not have UnregisterBroker"
    );
}
