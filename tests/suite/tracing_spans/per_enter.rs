//! Promise: each time that a span of a model's layer is entered is a call, with the span's number
//! or its field as the label.

use gpuprof::gpu_profile;
use gpuprof::tracing::{CallRule, Layer};
use support::suite::Module;
use support::tests;
use support::{Gpu, World, cpu_times, function, gpu_times, node, world};
use tracing::{Span, trace_span};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        each_enter_is_a_call_with_the_number_of_its_span,
        a_field_is_the_label,
        other_targets_can_have_the_rule,
        spans_and_annotated_functions_are_one_tree,
        many_live_spans_are_told_apart,
    ]],
);

/// A layer of a model, as candle's are.
struct ModelLayer {
    span: Span,
    mlp: Span,
}

impl ModelLayer {
    fn new(index: usize) -> Self {
        Self {
            span: trace_span!(target: "candle_transformers::models::llama", "block", index),
            mlp: trace_span!(target: "candle_transformers::models::llama", "mlp"),
        }
    }

    fn forward(&self, w: &World, gpu: &Gpu) {
        let _enter = self.span.enter();
        gpu.kernel(1_000);
        w.sim.advance(10);
        let _enter = self.mlp.enter();
        gpu.kernel(500);
        w.sim.advance(1);
    }
}

/// Two layers, and three forward passes on the GPU's stream.
fn run(w: &World, gpu: &Gpu) {
    let layers = [ModelLayer::new(7), ModelLayer::new(10)];
    for _ in 0..3 {
        gpuprof::with_stream(&gpu.stream, || {
            layers.iter().for_each(|layer| layer.forward(w, gpu));
        });
    }
}

fn labels(profile: &gpuprof::Profile, name: &str) -> Vec<(String, u64)> {
    let labels = function(profile, name).labels.iter();
    labels.map(|row| (row.label.clone(), row.calls)).collect()
}

fn each_enter_is_a_call_with_the_number_of_its_span() {
    let w = world();
    let gpu = Gpu::new(w.sim, 0);
    let session = w.session();
    let subscriber = registry().with(gpuprof::tracing::layer());
    tracing::subscriber::with_default(subscriber, || run(&w, &gpu));
    let profile = w.finish(session);
    let (block, mlp) = ("block", "mlp");
    assert_eq!(cpu_times(&profile, block), (6, 6 * 11, 6 * 10));
    assert_eq!(cpu_times(&profile, mlp), (6, 6, 6));
    assert_eq!(gpu_times(&profile, mlp).0, 6);
    assert_eq!(node(&profile, &["block[1]", "mlp[1]"]).calls, 3);
    for name in [block, mlp] {
        assert_eq!(labels(&profile, name), [("0".into(), 3), ("1".into(), 3)]);
    }
    let found = function(&profile, block);
    assert_eq!(found.module, "tracing_spans::per_enter");
    assert_eq!(found.file, file!());
    assert!(found.line > 0);
}

fn a_field_is_the_label() {
    let w = world();
    let gpu = Gpu::new(w.sim, 0);
    let session = w.session();
    let layer = Layer::builder().label_field("index").build();
    tracing::subscriber::with_default(registry().with(layer), || run(&w, &gpu));
    let profile = w.finish(session);
    let blocks = labels(&profile, "block");
    assert_eq!(blocks, [("7".into(), 3), ("10".into(), 3)]);
    // Without the field, the number.
    let mlps = labels(&profile, "mlp");
    assert_eq!(mlps, [("0".into(), 3), ("1".into(), 3)]);
}

fn other_targets_can_have_the_rule() {
    let w = world();
    let session = w.session();
    let layer = Layer::builder()
        .call_rule("own", CallRule::PerEnter)
        .call_rule("own::inside", CallRule::PerSpan)
        .build();
    tracing::subscriber::with_default(registry().with(layer), || {
        let stored = tracing::info_span!(target: "own::outside", "stored");
        let once = tracing::info_span!(target: "own::inside", "once");
        for span in [&stored, &once] {
            (0..3).for_each(|_| span.in_scope(|| w.sim.advance(10)));
        }
    });
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "stored"), (3, 30, 30));
    assert_eq!(cpu_times(&profile, "once"), (1, 30, 30));
}

#[gpu_profile]
fn annotated(w: &World, inside: &Span) {
    w.sim.advance(100);
    inside.in_scope(|| innermost(w));
}

#[gpu_profile]
fn innermost(w: &World) {
    w.sim.advance(5);
}

fn spans_and_annotated_functions_are_one_tree() {
    let w = world();
    let session = w.session();
    let subscriber = registry().with(gpuprof::tracing::layer());
    tracing::subscriber::with_default(subscriber, || {
        let outside = trace_span!(target: "candle", "outside");
        let inside = trace_span!(target: "candle", "inside");
        outside.in_scope(|| annotated(&w, &inside));
    });
    let profile = w.finish(session);
    let path = ["outside[0]", "annotated", "inside[0]", "innermost"];
    assert_eq!(node(&profile, &path).calls, 1);
    assert_eq!(profile.tree.len(), 4);
    assert_eq!(cpu_times(&profile, "outside"), (1, 105, 0));
    assert_eq!(cpu_times(&profile, "annotated"), (1, 105, 100));
}

/// More than a thread keeps at hand, made by two threads and entered by both.
fn many_live_spans_are_told_apart() {
    const SPANS: usize = 1_300;
    let w = world();
    registry().with(gpuprof::tracing::layer()).init();
    let session = w.session();
    let make = || -> Vec<Span> {
        let one = |at: usize| match at % 2 {
            0 => tracing::info_span!("even"),
            _ => tracing::info_span!("odd"),
        };
        (0..SPANS).map(one).collect()
    };
    let enter = |spans: &[Span]| {
        for (at, span) in spans.iter().enumerate() {
            span.in_scope(|| w.sim.advance(if at % 2 == 0 { 10 } else { 1_000 }));
        }
    };
    let here = make();
    let there = std::thread::scope(|scope| scope.spawn(make).join().expect("no panic"));
    for spans in [&here, &there, &here] {
        enter(spans);
    }
    std::thread::scope(|scope| scope.spawn(|| enter(&there)).join().expect("no panic"));
    drop((here, there));
    let profile = w.finish(session);
    let calls = SPANS as u64;
    assert_eq!(cpu_times(&profile, "even"), (calls, 20 * calls, 20 * calls));
    assert_eq!(
        cpu_times(&profile, "odd"),
        (calls, 2_000 * calls, 2_000 * calls)
    );
}
