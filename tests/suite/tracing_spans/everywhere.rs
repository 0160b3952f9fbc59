//! Promise: a span of `tracing` is where a call of an annotated function is: on the time line with
//! its fields, with its kernels, their launch lines and its memory, in metrics, and as an NVTX
//! range. Viewers of a running program see it too; the tests of the live view say so.

use std::process::ExitCode;

use gpuprof::{Output, Session};
use support::cupti_world::{builder, kernels, tier, work as work_of};
use support::function;
use support::program::Program;
use support::suite::Module;
use support::tests;
use support::{Gpu, world};
use tracing::{Span, field, info_span, trace_span};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        fields_are_arguments_on_the_time_line,
        kernels_are_those_of_the_span,
        kernels_of_a_span_have_launch_lines,
        memory_is_that_of_the_span,
        metrics_count_spans,
        spans_are_ranges_of_nvtx,
    ]],
)
.with_program(program);

fn install() {
    registry().with(gpuprof::tracing::layer()).init();
}

/// A stored span and one of a function, which learns a value while it runs.
fn work(stored: &Span) {
    let request = info_span!("request", user = "ann", rows = field::Empty);
    request.in_scope(|| {
        Span::current().record("rows", 7);
        stored.in_scope(|| ());
    });
}

fn fields_are_arguments_on_the_time_line() {
    let w = world();
    install();
    // Made before there is a time line.
    let stored = trace_span!(target: "candle", "block", index = 3);
    let session = Session::builder()
        .outputs([Output::Trace("/dev/null".into())])
        .start();
    let session = session.expect("no other session is open");
    work(&stored);
    let trace = gpuprof::collect_trace().expect("a time line");
    drop(w.finish(session));
    let spans = trace.cpu_spans.iter();
    let mut found: Vec<_> = spans
        .map(|span| {
            (
                &*trace.names[span.name as usize],
                format!("{:?}", span.args),
            )
        })
        .collect();
    found.sort_unstable();
    let expected = [
        ("everywhere::block[0]", r#"[("index", "3")]"#),
        (
            "everywhere::request",
            r#"[("user", "\"ann\""), ("rows", "7")]"#,
        ),
    ];
    assert_eq!(found, expected.map(|(name, args)| (name, args.to_owned())));
}

fn kernels_are_those_of_the_span() {
    let t = tier();
    install();
    let session = t.session();
    let stored = trace_span!(target: "candle", "block");
    // No stream is named: CUPTI tells what was launched.
    stored.in_scope(|| t.gpu.kernel(1_000));
    info_span!("request").in_scope(|| t.gpu.kernel(3_000));
    let profile = t.finish(session);
    assert_eq!(kernels(&profile, "block"), [("saxpy", 1, 1_000)]);
    assert_eq!(kernels(&profile, "request"), [("saxpy", 1, 3_000)]);
}

fn kernels_of_a_span_have_launch_lines() {
    let t = tier();
    install();
    t.cpu(1_000);
    let session = builder().stacks(true).start();
    let session = session.expect("no other session is open");
    info_span!("request").in_scope(|| t.gpu.kernel(3_000));
    let profile = t.finish(session);
    let [kernel] = &work_of(&profile, "request").kernels[..] else {
        panic!("one kernel in {profile:#?}");
    };
    let [line] = &kernel.launch_lines[..] else {
        panic!("one line in {kernel:#?}");
    };
    assert_eq!((line.calls, line.total_ns), (1, 3_000));
    assert!(line.function.ends_with("kernel_on"), "{line:?}");
}

fn memory_is_that_of_the_span() {
    let t = tier();
    install();
    t.cpu(1_000);
    let session = builder().memory(true).start();
    let session = session.expect("no other session is open");
    let kept = info_span!("request").in_scope(|| {
        // SAFETY: nothing reads the memory.
        let alloc = |bytes| unsafe { t.gpu.stream.alloc::<u8>(bytes) }.expect("memory");
        drop(trace_span!(target: "candle", "block").in_scope(|| alloc(300)));
        alloc(1_000)
    });
    let profile = t.finish(session);
    let bytes = |name| {
        let memory = &function(&profile, name).memory;
        let [memory] = memory[..] else {
            panic!("{name} has {memory:?}");
        };
        let of = memory.inclusive;
        (of.allocated_bytes, of.freed_bytes, memory.live_bytes)
    };
    assert_eq!(bytes("request"), (1_300, 300, 1_000));
    assert_eq!(bytes("block"), (300, 0, 0));
    drop(kept);
}

fn metrics_count_spans() {
    let w = world();
    install();
    let session = w.session();
    let stored = trace_span!(target: "candle", "block");
    for ns in [2_000, 3_000] {
        stored.in_scope(|| w.cpu(ns));
        info_span!("request").in_scope(|| w.cpu(10 * ns));
    }
    let text = gpuprof::metrics::prometheus_text();
    let value = |name: &str, function: &str| {
        let begins = format!("{name}{{function=\"everywhere::{function}\"");
        let mut lines = text.lines().filter(|line| line.starts_with(&begins));
        let (line, None) = (lines.next().expect("a series"), lines.next()) else {
            panic!("several series in {text}");
        };
        let (_, value) = line.rsplit_once(' ').expect("a value");
        value.parse::<f64>().expect("a number")
    };
    for (function, seconds) in [("block", 5e-6), ("request", 5e-5)] {
        assert_eq!(value("gpuprof_function_calls_total", function), 2.0);
        assert_eq!(value("gpuprof_function_cpu_seconds_sum", function), seconds);
    }
    drop(w.finish(session));
}

fn program(_: &str) -> ExitCode {
    let sim = simcuda::install().expect("the simulated driver is built");
    let _gpu = Gpu::new(sim, 0);
    install();
    work(&trace_span!(target: "candle", "block"));
    ExitCode::SUCCESS
}

fn spans_are_ranges_of_nvtx() {
    let (ended, calls) = Program::new("ranges").recorded();
    assert!(ended.status.success(), "{ended:#?}");
    let text = format!("{calls:?}");
    for name in ["everywhere::request", "everywhere::block[0]"] {
        let is_range = text.contains(name);
        assert_eq!(is_range, cfg!(feature = "nvtx"), "{name} in {text}");
    }
}
