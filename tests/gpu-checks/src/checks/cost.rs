//! What a GPU span costs the program's own thread, against the same driver calls written by hand.
//!
//! Launches and records wait where a stream's queue is full (about a thousand deep), and whoever
//! waits measures the GPU. So each block of calls fits the queue, and the stream is synchronized
//! between blocks, outside the measured time.

mod barrier;
mod launch_loops;

use std::time::Duration;

use super::statistics::{Spread, figure, off, percent, performance, time};
use crate::check::{Check, Row, World};
use launch_loops::{Measured, Plan, Way};

pub(crate) const CHECKS: &[Check] = &[Check {
    name: "span-cost",
    promise: "A GPU span costs at most 1.15 times the same driver calls written by hand, and the \
        report says what.",
    limit: Duration::from_secs(300),
    run: span_cost,
}];

/// The most that a call with a span may cost, in calls with two records by hand.
const WANTED: f64 = 1.15;
/// How far the report may be off about gpuprof's own cost.
const OWN_COST: f64 = 0.3;

fn span_cost(world: &World) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (threads, shared) in [(1, false), (2, false), (8, false), (8, true)] {
        let plan = Plan::new(threads, shared, world.short);
        rows.extend(found(world, &plan, &plan.measure()?));
    }
    Ok(rows)
}

fn found(world: &World, plan: &Plan, measured: &Measured) -> Vec<Row> {
    let ratio = |of: Way, to: Way| Spread::of(&measured.together(of, to, |of, to| of / to));
    let launch = ratio(Way::Attribute, Way::ByHand);
    let what = format!(
        "{}, a launch with a span against one with two records",
        plan.name()
    );
    let shown = format!("{}: {}", launch.ratio(), times(measured, &LAUNCHES));
    let untimed = measured.profile.diagnostics.calls - measured.profile.diagnostics.timed_calls;
    let mut rows = vec![
        match plan.shared {
            // A stream that eight threads fight for is told alone: who waits for whom is chance.
            true => figure(world, what, shown),
            false => performance(
                world,
                what,
                shown,
                format!("at most {WANTED}"),
                launch.median <= WANTED && untimed == 0,
            ),
        },
        Row::held(
            format!("{}, calls without a GPU time", plan.name()),
            format!("{untimed} of {}", measured.profile.diagnostics.calls),
            "0: what is not timed costs less",
            untimed == 0,
        ),
    ];
    let added = |way| measured.together(way, Way::Bare, |way, bare| way - bare);
    let (ours, hand) = (added(Way::Attribute), added(Way::ByHand));
    let added: Vec<f64> = ours
        .iter()
        .zip(&hand)
        .map(|(ours, hand)| ours / hand)
        .collect();
    rows.push(figure(
        world,
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
        world,
        format!("{}, a span around nothing against two records", plan.name()),
        format!(
            "{}: {}",
            ratio(Way::Empty, Way::EmptyByHand).ratio(),
            times(measured, &[Way::Empty, Way::EmptyByHand])
        ),
    ));
    rows.push(own_cost(world, plan, measured, &ours));
    rows
}

const LAUNCHES: [Way; 3] = [Way::Attribute, Way::ByHand, Way::Bare];

fn times(measured: &Measured, ways: &[Way]) -> String {
    let one = |way: &Way| {
        let spread = Spread::of(measured.of(*way));
        format!("{} {}", way.name(), spread.time())
    };
    ways.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What the report says that gpuprof cost a call, against what calls took longer with it. A report
/// is of all calls: half of them had no launch.
fn own_cost(world: &World, plan: &Plan, measured: &Measured, launches: &[f64]) -> Row {
    let said = measured
        .profile
        .diagnostics
        .overhead_ns_per_call
        .unwrap_or(0) as f64;
    let empty = measured.of(Way::Empty);
    let calls: Vec<f64> = launches
        .iter()
        .zip(empty)
        .map(|(launch, empty)| (launch + empty) / 2.0)
        .collect();
    let seen = Spread::of(&calls);
    let apart = off(said, seen.median);
    let what = format!("{}, own cost in the report", plan.name());
    let shown = format!(
        "{} a call, seen from outside {}: {}",
        time(said),
        seen.time(),
        percent(apart)
    );
    match plan.threads {
        1 => performance(world, what, shown, "within 30 %", apart.abs() <= OWN_COST),
        _ => figure(world, what, shown),
    }
}
