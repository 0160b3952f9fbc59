//! Promise: the layer measures the spans that it is asked for, and no other layer sees more or
//! less.

use std::io::Write;
use std::sync::{Arc, Mutex};

use gpuprof::gpu_profile;
use support::program::Program;
use support::suite::Module;
use support::tests;
use support::{cpu_times, world};
use tracing::dispatcher::{Dispatch, with_default};
use tracing::{
    Level, Subscriber, debug, debug_span, event_enabled, info, info_span, span_enabled, trace,
    trace_span,
};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, registry};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        the_log_is_the_same,
        events_and_other_spans_stay_off,
        every_session_has_its_own_settings,
        a_filter_of_the_whole_subscriber_is_named,
        a_named_target_without_a_span_is_told,
        the_environment_and_the_builder_choose,
        a_wrong_value_is_one_line,
    ]],
)
.with_program(program);

/// What a layer has printed.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// Spans and events of several levels and targets.
fn work() {
    for (at, request) in [(0, "first"), (1, "second")] {
        let _request = info_span!("request", request).entered();
        info!("begins");
        let _block = trace_span!(target: "candle_nn", "block", at).entered();
        debug!(target: "candle_nn", "computes");
        trace!("not seen by most");
        let _detail = debug_span!("detail").entered();
        info!(target: "other", at, "ends");
    }
}

/// How a subscriber is built of the layer and one that prints.
#[derive(Clone, Copy, Debug)]
enum Stack {
    /// The layer that prints has a filter.
    PrinterFiltered,
    /// The same, and gpuprof's layer comes last.
    GpuprofLast,
    /// What is not to be printed is not to be made.
    AllFiltered,
    Unfiltered,
}

fn printed<S>(log: &Log) -> impl Layer<S> + use<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let log = log.clone();
    fmt::layer()
        .without_time()
        .with_span_events(fmt::format::FmtSpan::FULL)
        .with_writer(move || log.clone())
        .with_ansi(false)
}

fn log_of(stack: Stack, level: LevelFilter, with_gpuprof: bool) -> String {
    let log = Log::default();
    let targets = Targets::new()
        .with_default(level)
        .with_target("other", LevelFilter::OFF);
    let measured = with_gpuprof.then(gpuprof::tracing::layer);
    let subscriber: Dispatch = match stack {
        Stack::PrinterFiltered => registry()
            .with(measured)
            .with(printed(&log).with_filter(targets))
            .into(),
        Stack::GpuprofLast => registry()
            .with(printed(&log).with_filter(targets))
            .with(with_gpuprof.then(gpuprof::tracing::layer))
            .into(),
        Stack::AllFiltered => registry()
            .with(measured)
            .with(printed(&log))
            .with(targets)
            .into(),
        Stack::Unfiltered => registry().with(measured).with(printed(&log)).into(),
    };
    with_default(&subscriber, work);
    // Times that a span was busy, which differ.
    let lines = log.text();
    let lines = lines
        .lines()
        .map(|line| line.split(" time.busy").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

fn the_log_is_the_same() {
    let w = world();
    let session = w.session();
    for stack in [
        Stack::PrinterFiltered,
        Stack::GpuprofLast,
        Stack::AllFiltered,
        Stack::Unfiltered,
    ] {
        for level in [LevelFilter::INFO, LevelFilter::DEBUG, LevelFilter::TRACE] {
            let without = log_of(stack, level, false);
            assert!(without.contains("begins"), "{without}");
            assert_eq!(log_of(stack, level, true), without, "{stack:?} {level}");
        }
    }
    drop(w.finish(session));
}

fn events_and_other_spans_stay_off() {
    let subscriber = registry().with(gpuprof::tracing::layer());
    tracing::subscriber::with_default(subscriber, || {
        // What is off costs a program what it costs without the layer.
        assert!(!event_enabled!(target: "candle", Level::ERROR));
        assert!(span_enabled!(target: "candle", Level::TRACE));
        assert!(span_enabled!(Level::INFO));
        assert!(!span_enabled!(Level::DEBUG));
    });
}

fn every_session_has_its_own_settings() {
    let w = world();
    registry().with(gpuprof::tracing::layer()).init();
    for filter in ["block", "request"] {
        let session = gpuprof::Session::builder().filter(filter).start();
        let session = session.expect("no other session is open");
        work();
        let profile = w.finish(session);
        assert_eq!(measured(&profile), [format!("filters::{filter}")]);
    }
}

fn a_filter_of_the_whole_subscriber_is_named() {
    let w = world();
    let session = w.session();
    let subscriber = registry()
        .with(gpuprof::tracing::layer())
        .with(LevelFilter::OFF);
    let _subscriber = tracing::subscriber::set_default(subscriber);
    work();
    let profile = w.finish(session);
    assert_eq!(measured(&profile), [""; 0]);
    let notes = &profile.diagnostics.notes;
    assert_eq!(
        notes,
        &[format!("tracing: no span came to gpuprof's layer{MISSING}")]
    );
}

const MISSING: &str = ". Either there is none, or a filter of the whole subscriber keeps it from \
                       being made: give that filter to the layer that prints, \
                       fmt::layer().with_filter(filter)";

fn a_named_target_without_a_span_is_told() {
    let w = world();
    let session = w.session();
    let targets = Targets::new()
        .with_default(LevelFilter::INFO)
        .with_target("candle", LevelFilter::TRACE)
        .with_target("canlde", LevelFilter::TRACE)
        .with_target("other", LevelFilter::OFF);
    let layer = gpuprof::tracing::Layer::builder().targets(targets).build();
    tracing::subscriber::with_default(registry().with(layer), || {
        work();
        let profile = gpuprof::snapshot();
        let told =
            format!("tracing: no span of the target \"canlde\" came to gpuprof's layer{MISSING}");
        assert_eq!(profile.diagnostics.notes, [told]);
    });
    drop(w.finish(session));
}

/// The names of the functions of [`work`] that are measured.
fn measured(profile: &gpuprof::Profile) -> Vec<&str> {
    let is_span = |name: &str| !name.ends_with("annotated");
    let called = profile.functions.iter();
    let called = called.filter(|one| one.calls > 0 && is_span(&one.name));
    let mut names: Vec<_> = called.map(|one| one.name.as_str()).collect();
    names.sort_unstable();
    names
}

/// So that there is a report.
#[gpu_profile]
fn annotated() {}

fn program(_: &str) -> std::process::ExitCode {
    let layer = gpuprof::tracing::Layer::builder()
        .targets(Targets::new().with_default(LevelFilter::DEBUG))
        .build();
    registry().with(layer).init();
    annotated();
    work();
    std::process::ExitCode::SUCCESS
}

fn the_environment_and_the_builder_choose() {
    for (value, expected) in [
        ("", &["filters::detail", "filters::request"][..]),
        ("candle=trace", &["filters::block"]),
        ("off", &[]),
        ("info,candle=trace", &["filters::block", "filters::request"]),
    ] {
        let program = Program::new("program").env("GPUPROF_TRACING", value);
        let (_, profile) = program.profiled();
        assert_eq!(measured(&profile), expected, "{value}");
    }
    // The default, in this process.
    let w = world();
    let session = w.session();
    let subscriber = registry().with(gpuprof::tracing::layer());
    tracing::subscriber::with_default(subscriber, work);
    let profile = w.finish(session);
    assert_eq!(measured(&profile), ["filters::block", "filters::request"]);
    assert_eq!(cpu_times(&profile, "request").0, 2);
}

fn a_wrong_value_is_one_line() {
    let program = Program::new("program").env("GPUPROF_TRACING", "candle=loud");
    let ended = program.env("GPUPROF_REPORT", "none").run();
    assert_eq!(
        ended.stderr,
        "gpuprof: GPUPROF_TRACING=\"candle=loud\" is not understood: it takes \
         TARGET=LEVEL,TARGET=LEVEL, and LEVEL for all other targets; using the default\n"
    );
}
