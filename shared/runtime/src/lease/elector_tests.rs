use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use rstest::rstest;

use super::{
    elector::{Answer, Ask, Elector, Outcome, Standing, Step},
    record::{held, holder, released},
    timing::Timing,
};
use crate::clock::Moment;

fn timing() -> Timing {
    Timing::new(Duration::from_secs(15), Duration::from_secs(10), Duration::from_secs(2)).unwrap()
}

/// Seconds of this process' clock.
fn at(seconds: f64) -> Moment {
    Moment::at(Duration::from_secs_f64(seconds))
}

fn elector() -> Elector {
    Elector::new("me".into(), timing(), at(0.0))
}

fn next(elector: &mut Elector, seconds: f64) -> Step {
    elector.next(at(seconds), Timestamp::UNIX_EPOCH)
}

fn asked(elector: &mut Elector, seconds: f64) -> Ask {
    match next(elector, seconds) {
        Step::Ask { ask, .. } => ask,
        other => panic!("{other:?}"),
    }
}

fn versioned(mut lease: Lease, version: &str) -> Lease {
    lease.metadata.resource_version = Some(version.to_owned());
    lease
}

fn of(who: &str, version: &str) -> Lease {
    // What the lease itself says about time is decades off.
    versioned(held(&Lease::default(), who, &timing(), Timestamp::UNIX_EPOCH), version)
}

/// One that leads since a request that was sent at 0 s and answered at 1 s.
fn leader() -> Elector {
    let mut elector = elector();
    assert_eq!(asked(&mut elector, 0.0), Ask::Read);
    elector.answered(at(0.0), Answer::Absent);
    let Ask::Create(lease) = asked(&mut elector, 0.0) else { panic!("not created") };
    assert_eq!(holder(&lease), Some("me"));
    elector.answered(at(1.0), Answer::Written(versioned(*lease, "1")));
    elector
}

#[test]
fn it_leads_from_when_it_sent_and_not_from_when_it_was_answered() {
    let mut elector = leader();
    assert_eq!(elector.leads_until(), Some(at(10.0)));
    assert_eq!(elector.standing(), Standing::Leading);
    assert_eq!(next(&mut elector, 1.0), Step::Wait(at(2.0)));
    let Step::Ask { ask: Ask::Replace(lease), deadline } = next(&mut elector, 2.5) else {
        panic!("no renewal")
    };
    assert_eq!((lease.metadata.resource_version.as_deref(), deadline), (Some("1"), at(7.5)));
    elector.answered(at(3.0), Answer::Written(versioned(*lease, "2")));
    assert_eq!(elector.leads_until(), Some(at(12.5)));
    assert_eq!(next(&mut elector, 3.0), Step::Wait(at(4.5)));
}

#[test]
fn a_leader_whose_renewals_fail_ends_at_the_deadline() {
    let mut elector = leader();
    asked(&mut elector, 2.0);
    elector.answered(at(7.0), Answer::Failed);
    assert_eq!(asked(&mut elector, 7.0), Ask::Read, "whether it was applied is not known");
    elector.answered(at(7.1), Answer::Failed);
    assert_eq!(next(&mut elector, 7.1), Step::Wait(at(9.0)));
    let Step::Ask { deadline, .. } = next(&mut elector, 9.0) else { panic!("no attempt") };
    assert_eq!(deadline, at(10.0), "no longer than it may act");
    elector.answered(at(10.0), Answer::Failed);
    assert_eq!(next(&mut elector, 10.0), Step::Over(Outcome::Expired));
    assert_eq!(elector.leads_until(), None);
    elector.answered(at(10.1), Answer::Written(of("me", "9")));
    assert_eq!(elector.leads_until(), None, "lost is for ever");
}

#[test]
fn who_wakes_up_after_the_deadline_does_not_ask_but_ends() {
    let mut elector = leader();
    assert_eq!(next(&mut elector, 60.0), Step::Over(Outcome::Expired));
}

#[test]
fn an_answer_that_comes_too_late_makes_no_leader() {
    let mut elector = elector();
    asked(&mut elector, 0.0);
    elector.answered(at(0.0), Answer::Absent);
    asked(&mut elector, 0.0);
    elector.answered(at(11.0), Answer::Written(of("me", "1")));
    assert_eq!(elector.leads_until(), None);
    assert_eq!(asked(&mut elector, 11.0), Ask::Read);
    elector.answered(at(11.1), Answer::Found(of("me", "1")));
    assert!(matches!(asked(&mut elector, 11.1), Ask::Replace(_)), "its own lease need not expire");
}

#[test]
fn another_ones_lease_is_left_alone_for_its_whole_duration_after_its_last_change() {
    let mut elector = elector();
    for second in 0..40_u32 {
        let now = f64::from(second) * 2.0;
        assert_eq!(asked(&mut elector, now), Ask::Read);
        // Renewed until 20 s, and never again.
        elector.answered(at(now + 0.5), Answer::Found(of("other", &(second.min(10)).to_string())));
        assert_eq!(elector.standing(), Standing::Standby { holder: Some("other".into()) });
        if now + 0.5 < 20.5 + 15.0 {
            assert_eq!(next(&mut elector, now + 0.5), Step::Wait(at(now + 2.0)));
        } else {
            let Ask::Replace(lease) = asked(&mut elector, now + 0.5) else { panic!("not taken") };
            assert_eq!(
                (holder(&lease), lease.metadata.resource_version.as_deref()),
                (Some("me"), Some("10"))
            );
            return;
        }
    }
    panic!("never taken");
}

#[test]
fn a_lease_that_was_given_up_is_taken_at_once() {
    let mut elector = elector();
    asked(&mut elector, 0.0);
    elector.answered(at(0.1), Answer::Found(released(&of("other", "5"), Timestamp::UNIX_EPOCH)));
    let Ask::Replace(lease) = asked(&mut elector, 0.1) else { panic!("not taken") };
    assert_eq!(lease.spec.unwrap().lease_transitions, Some(1));
}

#[rstest]
#[case::taken(Answer::Found(of("other", "9")), Some(Outcome::Taken("other".into())))]
#[case::emptied(Answer::Found(released(&of("me", "9"), Timestamp::UNIX_EPOCH)), Some(Outcome::Gone))]
#[case::deleted(Answer::Absent, Some(Outcome::Gone))]
#[case::only_labelled(Answer::Found(of("me", "9")), None)]
fn a_conflict_makes_a_leader_look_at_once(#[case] answer: Answer, #[case] outcome: Option<Outcome>) {
    let mut elector = leader();
    asked(&mut elector, 2.0);
    elector.answered(at(2.1), Answer::Conflict);
    assert_eq!(asked(&mut elector, 2.1), Ask::Read);
    elector.answered(at(2.2), answer);
    match (next(&mut elector, 2.2), outcome) {
        (Step::Over(ended), Some(expected)) => assert_eq!(ended, expected),
        (Step::Ask { ask: Ask::Replace(lease), .. }, None) => {
            assert_eq!(lease.metadata.resource_version.as_deref(), Some("9"));
            elector.answered(at(2.3), Answer::Conflict);
            assert_eq!(next(&mut elector, 2.3), Step::Wait(at(4.0)), "not as fast as it can");
        }
        (step, outcome) => panic!("{step:?} {outcome:?}"),
    }
}

#[test]
fn a_deleted_lease_is_made_again_only_when_its_holder_must_have_noticed() {
    let mut elector = elector();
    asked(&mut elector, 0.0);
    elector.answered(at(0.0), Answer::Found(of("other", "5")));
    let mut now = 2.0;
    loop {
        assert_eq!(asked(&mut elector, now), Ask::Read);
        elector.answered(at(now), Answer::Absent);
        match next(&mut elector, now) {
            Step::Wait(_) => assert!(now < 17.0, "not made again at {now} s"),
            Step::Ask { ask: Ask::Create(_), .. } => break assert!(now >= 17.0, "made again at {now} s"),
            other => panic!("{other:?}"),
        }
        now += 2.0;
    }
}

#[test]
fn giving_up_empties_the_lease() {
    let mut elector = leader();
    elector.release(at(3.0));
    assert_eq!(elector.leads_until(), None);
    let Step::Ask { ask: Ask::Replace(lease), deadline } = next(&mut elector, 3.0) else {
        panic!("not released")
    };
    let spec = lease.spec.clone().unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_duration_seconds), (Some(""), Some(1)));
    assert_eq!((lease.metadata.resource_version.as_deref(), deadline), (Some("1"), at(8.0)));
    elector.answered(at(3.1), Answer::Written(versioned(*lease, "2")));
    assert_eq!(next(&mut elector, 3.1), Step::Over(Outcome::Released));
}

#[test]
fn what_may_have_been_written_last_is_looked_at_before_giving_up() {
    let mut elector = leader();
    asked(&mut elector, 2.0);
    elector.release(at(3.0));
    elector.answered(at(4.0), Answer::Failed);
    assert_eq!(next(&mut elector, 4.0), Step::Ask { ask: Ask::Read, deadline: at(8.0) });
    elector.answered(at(4.1), Answer::Found(of("me", "7")));
    let Ask::Replace(lease) = asked(&mut elector, 4.1) else { panic!("not released") };
    assert_eq!((holder(&lease), lease.metadata.resource_version.as_deref()), (None, Some("7")));
    elector.answered(at(8.0), Answer::Failed);
    assert_eq!(next(&mut elector, 8.0), Step::Over(Outcome::NotReleased));
}

/// It no longer matters then until when it led: only when to ask again, and when to stop.
#[test]
fn giving_up_waits_between_two_attempts() {
    let mut elector = leader();
    elector.release(at(9.0));
    asked(&mut elector, 9.0);
    elector.answered(at(10.5), Answer::Failed);
    assert_eq!(next(&mut elector, 10.5), Step::Ask { ask: Ask::Read, deadline: at(14.0) });
    elector.answered(at(10.6), Answer::Failed);
    assert_eq!(next(&mut elector, 10.6), Step::Wait(at(12.5)));
    assert_eq!(asked(&mut elector, 12.5), Ask::Read);
    elector.answered(at(12.6), Answer::Failed);
    assert_eq!(next(&mut elector, 12.6), Step::Wait(at(14.0)));
    assert_eq!(next(&mut elector, 14.0), Step::Over(Outcome::NotReleased));
}

#[test]
fn a_standby_has_nothing_to_give_up() {
    let mut elector = elector();
    asked(&mut elector, 0.0);
    elector.answered(at(0.1), Answer::Found(of("other", "5")));
    elector.release(at(1.0));
    assert_eq!(next(&mut elector, 1.0), Step::Over(Outcome::Released));
}
