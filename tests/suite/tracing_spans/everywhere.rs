//! Promise: a span of `tracing` is where a call of an annotated function is: on the time line with
//! its fields, with its kernels, and as an NVTX range.

use std::process::ExitCode;

use gpuprof::{Output, Session};
use support::cupti_world::{kernels, tier};
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
