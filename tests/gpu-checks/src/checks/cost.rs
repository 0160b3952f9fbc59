//! The cost of a GPU span on the program's own thread, compared with the same driver calls written
//! by hand.
//!
//! Launches and records wait if a stream's queue is full (about 1,000 entries), and a caller that
//! waits measures the GPU. So each block of calls fits in the queue, and the stream is synchronized
//! between blocks, outside the measured time.

mod barrier;
mod launch_loops;

use std::time::Duration;

use crate::check::{Check, Row, RunMode};
use crate::statistics::{Spread, figure, off, percent, performance, time};
use launch_loops::{Measured, Method, Plan};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "span-cost",
    promise: "A timed launch costs at most 1.10 × its driver calls; the report states it.",
    limit: Duration::from_secs(300),
    run: span_cost,
}];

/// Accepted cost of a call with a span, relative to a call with two records by hand.
const WANTED: f64 = 1.10;
/// The same for threads that share a stream, and wait for each other in the driver.
const WANTED_SHARED: f64 = 1.15;
/// Accepted relative error of the reported overhead.
const OVERHEAD: f64 = 0.3;

fn span_cost(run_mode: &RunMode) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (threads, shared) in [(1, false), (2, false), (8, false), (8, true)] {
        let plan = Plan::new(threads, shared, run_mode.short);
        rows.extend(found(run_mode, &plan, &plan.measure()?));
    }
    Ok(rows)
}

fn found(run_mode: &RunMode, plan: &Plan, measured: &Measured) -> Vec<Row> {
    let ratio = |of: Method, to: Method| Spread::of(&measured.together(of, to, |of, to| of / to));
    let launch = ratio(Method::Attribute, Method::ByHand);
    let what = format!(
        "{}, a launch with a span against one with two records",
        plan.name()
    );
    let shown = format!("{}: {}", launch.ratio(), times(measured, &LAUNCHES));
    let untimed = measured.profile.diagnostics.calls - measured.profile.diagnostics.timed_calls;
    let wanted = if plan.shared { WANTED_SHARED } else { WANTED };
    let mut rows = vec![
        performance(
            run_mode,
            what,
            shown,
            format!("at most {wanted:.2}"),
            launch.median <= wanted && untimed == 0,
        ),
        Row::judged(
            format!("{}, calls without a GPU time", plan.name()),
            format!("{untimed} of {}", measured.profile.diagnostics.calls),
            "0: untimed calls cost less",
            untimed == 0,
        ),
    ];
    let added = |method| measured.together(method, Method::Bare, |method, bare| method - bare);
    let (ours, hand) = (added(Method::Attribute), added(Method::ByHand));
    let added: Vec<f64> = ours
        .iter()
        .zip(&hand)
        .map(|(ours, hand)| ours / hand)
        .collect();
    rows.push(figure(
        run_mode,
        format!(
            "{}, the span alone against the two records alone",
            plan.name()
        ),
        format!(
            "{}: {} and {} more than the launch",
            Spread::of(&added).ratio(),
            time(Spread::of(&ours).median),
            time(Spread::of(&hand).median)
        ),
    ));
    rows.push(figure(
        run_mode,
        format!("{}, a span around nothing against two records", plan.name()),
        format!(
            "{}: {}",
            ratio(Method::Empty, Method::EmptyByHand).ratio(),
            times(measured, &[Method::Empty, Method::EmptyByHand])
        ),
    ));
    rows.push(reported_overhead(run_mode, plan, measured, &ours));
    rows
}

const LAUNCHES: [Method; 3] = [Method::Attribute, Method::ByHand, Method::Bare];

fn times(measured: &Measured, methods: &[Method]) -> String {
    let median = |method: &Method| {
        let spread = Spread::of(measured.of(*method));
        format!("{} {}", method.name(), spread.time())
    };
    methods.iter().map(median).collect::<Vec<_>>().join(", ")
}

/// The reported overhead per call, compared with the measured difference. The report averages over
/// all calls, and half of them launch nothing.
fn reported_overhead(
    run_mode: &RunMode,
    plan: &Plan,
    measured: &Measured,
    launches: &[f64],
) -> Row {
    let said = measured
        .profile
        .diagnostics
        .overhead_ns_per_call
        .unwrap_or(0) as f64;
    let empty = measured.of(Method::Empty);
    let calls: Vec<f64> = launches
        .iter()
        .zip(empty)
        .map(|(launch, empty)| (launch + empty) / 2.0)
        .collect();
    let seen = Spread::of(&calls);
    let apart = off(said, seen.median);
    let what = format!("{}, overhead in the report", plan.name());
    let diagnostics = &measured.profile.diagnostics;
    let stalled = diagnostics.stalled_ns as f64 / diagnostics.calls.max(1) as f64;
    let shown = format!(
        "{} per call, and {} for places in the queue; measured from outside {}: {}",
        time(said),
        time(stalled),
        seen.time(),
        percent(apart)
    );
    performance(
        run_mode,
        what,
        shown,
        "within 30 %",
        apart.abs() <= OVERHEAD,
    )
}
