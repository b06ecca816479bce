use std::{
    future::pending,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::time::sleep;

use super::*;

const DEADLINE: Duration = Duration::from_secs(10);

fn key(name: &str) -> ResourceKey {
    ResourceKey { namespace: "n".into(), name: name.into() }
}

/// A pass whose application never answers: its probe gives up after three seconds.
async fn hung(lanes: Arc<Lanes>, key: ResourceKey) {
    let turn = lanes.enter(&key).await;
    let _ = turn
        .within(DEADLINE, async {
            turn.probe(sleep(Duration::from_secs(3)), |()| false).await;
        })
        .await;
}

async fn good(lanes: &Arc<Lanes>, key: &ResourceKey) {
    let turn = lanes.enter(key).await;
    turn.within(DEADLINE, turn.probe(sleep(Duration::from_millis(20)), |()| true)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn fifty_hung_clusters_do_not_delay_the_first_pass_of_a_good_one() {
    let lanes = Arc::new(Lanes::default());
    for number in 0..50 {
        tokio::spawn(hung(lanes.clone(), key(&format!("hung-{number}"))));
    }
    tokio::task::yield_now().await;
    let start = Instant::now();
    good(&lanes, &key("good")).await;
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn hung_clusters_that_are_known_do_not_delay_a_good_one_at_all() {
    let lanes = Arc::new(Lanes::default());
    let hung_keys: Vec<_> = (0..50).map(|number| key(&format!("hung-{number}"))).collect();
    for key in &hung_keys {
        lanes.mark(key, false);
    }
    let working = Arc::new(AtomicUsize::new(0));
    for key in hung_keys {
        let (lanes, working) = (lanes.clone(), working.clone());
        tokio::spawn(async move {
            let turn = lanes.enter(&key).await;
            working.fetch_add(1, Ordering::SeqCst);
            turn.within(DEADLINE, pending::<()>()).await.unwrap_err();
        });
    }
    sleep(Duration::from_millis(1)).await;
    assert_eq!(working.load(Ordering::SeqCst), SLOW);
    assert_eq!(lanes.fast.available_permits(), FAST);
    let start = Instant::now();
    good(&lanes, &key("good")).await;
    assert!(start.elapsed() < Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn a_silent_cluster_never_works_with_a_fast_permit() {
    let lanes = Arc::new(Lanes::default());
    let turn = lanes.enter(&key("a")).await;
    assert_eq!(lanes.fast.available_permits(), FAST - 1);
    turn.probe(async {}, |()| false).await;
    assert_eq!((lanes.fast.available_permits(), lanes.slow.available_permits()), (FAST, SLOW - 1));
    drop(turn);
    let turn = lanes.enter(&key("a")).await;
    assert_eq!((lanes.fast.available_permits(), lanes.slow.available_permits()), (FAST, SLOW - 1));
    turn.probe(async {}, |()| true).await;
    drop(turn);
    let _turn = lanes.enter(&key("a")).await;
    assert_eq!((lanes.fast.available_permits(), lanes.slow.available_permits()), (FAST - 1, SLOW));
}

#[tokio::test(start_paused = true)]
async fn a_pass_that_misses_its_deadline_goes_to_the_slow_lane() {
    let lanes = Arc::new(Lanes::default());
    let turn = lanes.enter(&key("a")).await;
    let start = Instant::now();
    assert_eq!(turn.within(DEADLINE, pending::<()>()).await, Err(DeadlinePassed(DEADLINE)));
    assert_eq!(start.elapsed(), DEADLINE);
    assert!(lanes.is_slow(&key("a")));
    lanes.forget(&key("a"));
    assert!(!lanes.is_slow(&key("a")));
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_permit_does_not_count() {
    let lanes = Arc::new(Lanes::default());
    let others: Vec<_> = (0..SLOW).map(|_| lanes.slow.clone().try_acquire_owned().unwrap()).collect();
    tokio::spawn(async move {
        sleep(Duration::from_mins(1)).await;
        drop(others);
    });
    let turn = lanes.enter(&key("a")).await;
    let pass = async {
        turn.probe(sleep(Duration::from_secs(3)), |()| false).await;
        sleep(Duration::from_secs(6)).await;
    };
    assert_eq!(turn.within(DEADLINE, pass).await, Ok(()));
    let turn = lanes.enter(&key("a")).await;
    let pass = async {
        turn.probe(sleep(Duration::from_secs(3)), |()| false).await;
        sleep(Duration::from_secs(8)).await;
    };
    assert!(turn.within(DEADLINE, pass).await.is_err());
}
