//! Promise: whatever spans a program enters and exits, counts and times agree.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use support::profile_consistency::assert_consistent;
use support::profile_lookups::functions;
use support::suite::Module;
use support::tests;
use support::{World, world};
use tracing::{Span, info_span, trace_span};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        counts_and_times_agree,
        threads_that_share_spans_and_a_gpu_agree,
    ]],
);

/// Spans that a program has at once.
const SPANS: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A new span in this place, the former one is dropped.
    Make(usize),
    Enter(usize),
    /// Exits the span that was entered so many before the last.
    Exit(usize),
    Pass(u64),
    /// Launches a kernel of so many ns, where there is a GPU.
    Launch(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..SPANS).prop_map(Step::Make),
        (0..SPANS).prop_map(Step::Enter),
        (0..3_usize).prop_map(Step::Exit),
        (1..1_000_u64).prop_map(Step::Pass),
        (1..1_000_u64).prop_map(Step::Launch),
    ]
}

fn new_span(place: usize) -> Span {
    match place {
        0 => info_span!("first"),
        1 => info_span!("second"),
        2 => trace_span!(target: "candle", "third"),
        _ => trace_span!(target: "candle", "fourth"),
    }
}

/// Counts what the layer must count: each time that a span of candle is entered, and each other
/// span that was entered.
fn run(w: &World, steps: &[Step]) -> u64 {
    let mut spans: Vec<(Span, bool)> = (0..SPANS).map(|place| (new_span(place), false)).collect();
    let mut entered = Vec::new();
    let mut calls = 0;
    for step in steps {
        match *step {
            Step::Make(place) => spans[place] = (new_span(place), false),
            Step::Enter(place) => {
                let (span, was_entered) = &mut spans[place];
                calls += u64::from(place >= 2 || !*was_entered);
                *was_entered = true;
                entered.push(span.clone().entered());
            }
            Step::Exit(before) if before < entered.len() => {
                drop(entered.remove(entered.len() - 1 - before));
            }
            Step::Exit(_) => {}
            Step::Pass(ns) => w.sim.advance(ns),
            Step::Launch(_) => {}
        }
    }
    while let Some(last) = entered.pop() {
        drop(last);
    }
    calls
}

fn counts_and_times_agree() {
    let w = world();
    registry().with(gpuprof::tracing::layer()).init();
    let mut runner = TestRunner::new(Config::with_cases(200));
    let programs = proptest::collection::vec(step(), 0..60);
    let outcome = runner.run(&programs, |steps| {
        let session = w.session();
        let calls = run(&w, &steps);
        let profile = w.finish(session);
        let counted: u64 = functions(&profile).map(|one| one.calls).sum();
        prop_assert_eq!(counted, calls);
        prop_assert_eq!(profile.diagnostics.misnested, 0);
        prop_assert_eq!(profile.diagnostics.dropped, 0);
        let of_tree: u64 = profile.tree.iter().map(|node| node.calls).sum();
        prop_assert_eq!(of_tree, calls);
        let exclusive: u64 = functions(&profile).map(|one| one.cpu.self_ns).sum();
        prop_assert!(exclusive <= profile.wall_ns);
        assert_consistent(&profile);
        Ok(())
    });
    outcome.expect("every program");
}

/// A thread enters and exits spans that it shares with others, and launches on their one stream.
/// Counts what the layer must count of the spans that are calls each time; notes the others.
fn run_beside_others(
    w: &World,
    spans: &[Span],
    entered_once: &[AtomicBool],
    steps: &[Step],
) -> u64 {
    let mut entered = Vec::new();
    let mut calls = 0;
    for step in steps {
        match *step {
            // These spans stay.
            Step::Make(place) | Step::Enter(place) => {
                calls += u64::from(place >= 2);
                entered_once[place].store(true, Relaxed);
                entered.push(spans[place].clone().entered());
            }
            Step::Exit(before) if before < entered.len() => {
                drop(entered.remove(entered.len() - 1 - before));
            }
            Step::Exit(_) => {}
            Step::Pass(ns) => w.sim.advance(ns),
            Step::Launch(ns) => w.gpu.kernel(ns),
        }
    }
    while let Some(last) = entered.pop() {
        drop(last);
    }
    calls
}

fn threads_that_share_spans_and_a_gpu_agree() {
    let w = world();
    let layer = gpuprof::tracing::Layer::builder().stream(&w.gpu.stream);
    registry().with(layer.build()).init();
    let mut runner = TestRunner::new(Config::with_cases(100));
    let program = || proptest::collection::vec(step(), 0..30);
    let threads = (program(), program(), program());
    let outcome = runner.run(&threads, |threads| {
        let session = w.session();
        let spans: Vec<Span> = (0..SPANS).map(new_span).collect();
        let once: [AtomicBool; SPANS] = Default::default();
        let each = thread::scope(|scope| {
            let (w, spans, once) = (&w, &spans, &once);
            let run = |steps| scope.spawn(move || run_beside_others(w, spans, once, steps));
            let running = [run(&threads.0), run(&threads.1), run(&threads.2)];
            let counted = running.map(|thread| thread.join().expect("no panic"));
            counted.iter().sum::<u64>()
        });
        drop(spans);
        w.gpu.context.synchronize().expect("synchronize");
        let profile = w.finish(session);
        let of_spans = once[..2].iter().filter(|once| once.load(Relaxed)).count();
        let calls = each + of_spans as u64;
        let counted: u64 = functions(&profile).map(|one| one.calls).sum();
        prop_assert_eq!(counted, calls);
        let timed = functions(&profile).filter_map(|one| one.gpu.as_ref());
        let timed: u64 = timed.map(|gpu| gpu.timed_calls).sum();
        let diagnostics = &profile.diagnostics;
        // Of spans that were closed long after their last part.
        let late = diagnostics.untimed.stream_unsafe;
        prop_assert_eq!(timed + late, calls, "{:?}", diagnostics);
        prop_assert_eq!((diagnostics.misnested, diagnostics.dropped), (0, 0));
        assert_consistent(&profile);
        Ok(())
    });
    outcome.expect("every program");
}
