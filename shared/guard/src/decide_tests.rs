//! Every combination of facts against the table: each must be covered by exactly one row.
#![allow(clippy::unwrap_used, clippy::panic)]

use rstest::rstest;

use super::*;
use crate::ticket::TicketKind;

const MARKERS: &[&str] = &[
    "none",
    "ours",
    "ours, other claim",
    "accepted",
    "accepted, other member",
    "other member",
    "other cluster",
    "other both",
    "unreadable",
];
const DATA: &[&str] = &["valid", "none", "unreadable"];
const TICKETS: &[&str] =
    &["absent", "ours", "other member", "other claim", "other cluster", "unknown append", "invalid"];
const NOTES: &[&str] = &["absent", "present", "unreadable"];

/// Marker, data, ticket, note (alternatives separated by `|`, `*` for any) and the outcome.
#[rustfmt::skip]
const TABLE: &[(&str, &str, &str, &str, &str)] = &[
    ("unreadable",                                             "*",          "*",      "*", "VolumeUnreadable"),
    ("other member|other cluster|other both|accepted, other member", "*",    "*",      "*", "ForeignVolume"),
    ("none|ours|ours, other claim|accepted",                   "unreadable", "*",      "*", "VolumeUnreadable"),
    ("ours|ours, other claim",                                 "valid",      "*",      "*", "start: data"),
    ("accepted",                                               "valid",      "*",      "*", "start: adopted"),
    ("none",                                                   "valid",      "*",      "*", "ForeignVolume"),
    ("accepted",                                               "none",       "*",      "*", "DataLost"),
    ("none|ours|ours, other claim", "none", "absent",                                 "*",               "DataLost"),
    ("none|ours|ours, other claim", "none", "other member|other claim|other cluster", "*",               "DataLost"),
    ("none|ours|ours, other claim", "none", "invalid",                                "*",               "TicketInvalid"),
    ("none|ours|ours, other claim", "none", "ours|unknown append",                    "present",         "DataLost"),
    ("none|ours|ours, other claim", "none", "ours|unknown append",                    "unreadable",      "SetupFailed"),
    ("none|ours|ours, other claim", "none", "unknown append",                         "absent",          "TicketInvalid"),
    ("none|ours|ours, other claim", "none", "ours",                                   "absent",          "start: ticket"),
];

fn facts(marker: &str, data: &str, ticket: &str, note: &str) -> Facts {
    let mark = |uid: &str, member: &str, claim: &str| {
        MarkerFact::Present(Marker {
            cluster_uid: uid.into(),
            member: member.into(),
            claim: claim.into(),
            adopted_from: None,
        })
    };
    let issue = |uid: &str, member: &str, claim: &str, file: &str| {
        TicketFact::Present(Ticket {
            kind: TicketKind::Join,
            cluster_uid: uid.into(),
            member: member.into(),
            claim: claim.into(),
            claim_uid: "claim-uid".into(),
            append: [(file.to_owned(), "text\n".to_owned())].into(),
        })
    };
    Facts {
        cluster_uid: "new".into(),
        member: "my-1".into(),
        claim: "claim".into(),
        accepted: vec!["older".into(), "old".into()],
        config_files: vec!["etcd.yaml".into()],
        marker: match marker {
            "none" => MarkerFact::Absent,
            "ours" => mark("new", "my-1", "claim"),
            "ours, other claim" => mark("new", "my-1", "earlier-claim"),
            "accepted" => mark("old", "my-1", "claim"),
            "accepted, other member" => mark("old", "my-2", "claim"),
            "other member" => mark("new", "my-2", "claim"),
            "other cluster" => mark("foreign", "my-1", "claim"),
            "other both" => mark("foreign", "my-2", "claim"),
            "unreadable" => MarkerFact::Unreadable("EIO".into()),
            other => panic!("{other}"),
        },
        data: match data {
            "valid" => DataFact::Valid,
            "none" => DataFact::NotValid,
            "unreadable" => DataFact::Unreadable("EIO".into()),
            other => panic!("{other}"),
        },
        ticket: match ticket {
            "absent" => TicketFact::Absent,
            "ours" => issue("new", "my-1", "claim", "etcd.yaml"),
            "other member" => issue("new", "my-2", "claim", "etcd.yaml"),
            "other claim" => issue("new", "my-1", "claim-2", "etcd.yaml"),
            "other cluster" => issue("old", "my-1", "claim", "etcd.yaml"),
            "unknown append" => issue("new", "my-1", "claim", "etcd.yml"),
            "invalid" => TicketFact::Invalid("not JSON".into()),
            other => panic!("{other}"),
        },
        note: match note {
            "absent" => NoteFact::Absent,
            "present" => NoteFact::Present,
            "unreadable" => NoteFact::Unreadable("EIO".into()),
            other => panic!("{other}"),
        },
    }
}

fn outcome(decision: &Decision) -> &'static str {
    match decision {
        Decision::Start(Start::DataPresent) => "start: data",
        Decision::Start(Start::Adopted { .. }) => "start: adopted",
        Decision::Start(Start::Ticket(_)) => "start: ticket",
        Decision::Refuse(refusal) => refusal.reason(),
    }
}

#[test]
fn every_combination_follows_the_table() {
    let covers = |cell: &str, value: &str| cell == "*" || cell.split('|').any(|one| one == value);
    let mut used = vec![false; TABLE.len()];
    let mut count = 0;
    for marker in MARKERS {
        for data in DATA {
            for ticket in TICKETS {
                for note in NOTES {
                    let what = format!("marker {marker}; data {data}; ticket {ticket}; note {note}");
                    let rows: Vec<usize> = (0..TABLE.len())
                        .filter(|&row| {
                            let (m, d, t, n, _) = TABLE[row];
                            covers(m, marker) && covers(d, data) && covers(t, ticket) && covers(n, note)
                        })
                        .collect();
                    let [row] = rows[..] else { panic!("{what}: rows {rows:?}") };
                    let decision = decide(&facts(marker, data, ticket, note));
                    assert_eq!(outcome(&decision), TABLE[row].4, "{what}");
                    used[row] = true;
                    count += 1;
                }
            }
        }
    }
    assert_eq!(count, 9 * 3 * 7 * 3);
    assert!(used.iter().all(|&used| used), "{used:?}");
}

#[rstest]
#[case("none", "none", "absent", "absent", &["my-1", "no ticket"])]
#[case("none", "none", "other member", "absent", &["the ticket is for member my-2, not my-1"])]
#[case("none", "none", "other claim", "absent", &["the ticket is for claim claim-2, not claim"])]
#[case("none", "none", "other cluster", "absent", &["the ticket is for cluster old, not new"])]
#[case("ours", "none", "ours", "present", &["Join ticket was already used in this pod"])]
#[case("none", "none", "unknown append", "absent", &["etcd.yml"])]
#[case("none", "valid", "ours", "absent", &["no marker", "unknown"])]
#[case("other cluster", "valid", "ours", "absent", &["ballast.dev/adopt-volumes: foreign"])]
#[case("other both", "none", "ours", "absent", &["member my-2", "ballast.dev/adopt-volumes: foreign"])]
#[case("other member", "valid", "ours", "absent", &["belongs to member my-2"])]
#[case("unreadable", "valid", "ours", "absent", &["marker", "EIO"])]
#[case("ours", "unreadable", "ours", "absent", &["data", "EIO"])]
fn messages_say_what_is_wrong(
    #[case] marker: &str,
    #[case] data: &str,
    #[case] ticket: &str,
    #[case] note: &str,
    #[case] expected: &[&str],
) {
    let Decision::Refuse(refusal) = decide(&facts(marker, data, ticket, note)) else { panic!("started") };
    for part in expected {
        assert!(refusal.message().contains(part), "{refusal}");
    }
}

#[test]
fn adoption_is_not_advised_where_it_would_not_help() {
    for marker in ["other member", "accepted, other member"] {
        let Decision::Refuse(refusal) = decide(&facts(marker, "valid", "absent", "absent")) else {
            panic!("started")
        };
        assert!(!refusal.message().contains(ADOPT_ANNOTATION), "{refusal}");
    }
}

#[test]
fn adoption_names_the_cluster_that_was_found() {
    let decision = decide(&facts("accepted", "valid", "absent", "absent"));
    assert_eq!(decision, Decision::Start(Start::Adopted { from: "old".into() }));
}
