//! Figures at the size of real clusters, one test each so that memory is measured alone:
//! `cargo test --release -p ballast-kafka-core --test rebalance figures::NAME -- --ignored --exact --nocapture`.

use std::time::Instant;

use ballast_kafka_core::rebalance::{
    outcome::Plan,
    plan,
    request::{Goal, Request},
    schedule::{self, Limits},
    snapshot::Snapshot,
};

use crate::generator::Shape;

/// Without optimisation everything is smaller: the figures are then only tried out.
fn scaled(shape: Shape) -> Shape {
    if cfg!(debug_assertions) { Shape { partitions: shape.partitions / 50, ..shape } } else { shape }
}

/// Largest memory of this process so far.
#[expect(clippy::disallowed_methods, reason = "a test reads what Linux says of it")]
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")
}

#[expect(clippy::disallowed_methods, reason = "a test measures time")]
fn timed<T>(name: &str, work: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let result = work();
    println!("{name}: {:.3} s, peak memory {}", begin.elapsed().as_secs_f64(), peak());
    result
}

fn show(plan: &Plan) {
    let report = &plan.report;
    println!(
        "  bytes {} of {} ({:.2} %), lower bound {}, ratio {:.4}",
        report.bytes,
        report.total_bytes,
        report.bytes as f64 / report.total_bytes as f64 * 100.0,
        report.lower_bound_bytes,
        report.bytes as f64 / report.lower_bound_bytes as f64,
    );
    println!(
        "  transfers {}, reorders {}, leader changes {}, racks {} -> {}, blocked {}, infeasible {}, unresolved {}, unfixable {}",
        report.transfers,
        report.reorders,
        report.leader_changes,
        report.rack_violations_before,
        report.rack_violations_after,
        plan.blocked.len(),
        plan.infeasible.len(),
        plan.unresolved.len(),
        plan.unfixable.len(),
    );
    for (before, after) in report.before.iter().zip(&report.after) {
        println!("  {:?}: max/avg {:.3} -> {:.3}", before.resource, before.ratio, after.ratio);
    }
}

fn drain(shape: Shape) {
    let snapshot = timed("snapshot", || scaled(shape).build());
    let request = Request::drain(&[]);
    let plan = timed("plan", || plan(&snapshot, &request).unwrap());
    show(&plan);
    assert_eq!(plan.report.bytes, plan.report.lower_bound_bytes);
    assert!(plan.report.rack_violations_after <= plan.report.rack_violations_before);
    let batch = timed("first batch", || schedule::next(&snapshot, &plan, &Limits::default()));
    println!("  {} moves begin", batch.moves.len());
}

#[test]
#[ignore = "figures: run in release"]
fn drain_10_of_100_brokers_with_100_000_partitions() {
    drain(Shape { brokers: 100, racks: 5, partitions: 100_000, draining: 10, ..Shape::default() });
}

#[test]
#[ignore = "figures: run in release"]
fn drain_20_of_200_brokers_with_900_000_partitions() {
    drain(Shape { brokers: 200, racks: 5, partitions: 900_000, draining: 20, ..Shape::default() });
}

#[test]
#[ignore = "figures: run in release"]
fn drain_of_a_mixed_cluster() {
    let shape = Shape {
        brokers: 32,
        racks: 3,
        skewed: true,
        partitions: 50_000,
        factor: 0,
        draining: 5,
        new: 3,
        dead: 1,
        cordoned: 1,
        disk: 1.8,
        everywhere: true,
        ..Shape::default()
    };
    let snapshot = scaled(shape).build();
    let plan = timed("plan", || plan(&snapshot, &Request::drain(&[])).unwrap());
    show(&plan);
    assert_eq!(plan.report.bytes + plan.report.blocked_bytes, plan.report.lower_bound_bytes);
    assert_eq!(plan.infeasible.len(), 1);
}

#[test]
#[ignore = "figures: run in release"]
fn relief_of_100_brokers_with_100_000_partitions() {
    for seed in 1..=7 {
        let shape =
            Shape { seed, brokers: 100, racks: 5, partitions: 100_000, draining: 0, ..Shape::default() };
        let snapshot = scaled(shape).build();
        for stop in [1.10, 1.02] {
            let request = Request { stop, trigger: stop, ..Request::new(Goal::HotPartitions) };
            let plan = timed(&format!("seed {seed}, stop {stop}"), || plan(&snapshot, &request).unwrap());
            show(&plan);
        }
    }
}

#[test]
#[ignore = "figures: run in release"]
fn everything_even_on_100_brokers_with_100_000_partitions() {
    let shape = Shape { brokers: 100, racks: 5, partitions: 100_000, draining: 0, ..Shape::default() };
    let snapshot = scaled(shape).build();
    for stop in [1.10, 1.02] {
        let request = Request { stop, trigger: stop, ..Request::new(Goal::Full) };
        let plan = timed(&format!("stop {stop}"), || plan(&snapshot, &request).unwrap());
        show(&plan);
    }
}

#[test]
#[ignore = "figures: run in release"]
fn spread_onto_10_new_brokers_of_110() {
    let shape =
        Shape { brokers: 110, racks: 5, partitions: 100_000, draining: 0, new: 10, ..Shape::default() };
    let snapshot = scaled(shape).build();
    let plan = timed("plan", || plan(&snapshot, &Request::spread(&shape.new_ids())).unwrap());
    show(&plan);
}

#[test]
#[ignore = "figures: run in release"]
fn file_of_100_000_partitions() {
    let shape = Shape { brokers: 100, racks: 5, partitions: 100_000, draining: 10, ..Shape::default() };
    let text = serde_json::to_string(&scaled(shape).build()).unwrap();
    println!("{} bytes", text.len());
    let snapshot = timed("read", || Snapshot::from_json(&text).unwrap());
    assert_eq!(snapshot.len(), scaled(shape).partitions);
}
