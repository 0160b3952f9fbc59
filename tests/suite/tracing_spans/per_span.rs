//! Promise: a span of a function with `#[instrument]`, async or not, is one call, with the sum of
//! the times in which it was entered.

use std::process::ExitCode;
use std::sync::Arc;

use gpuprof::Profile;
use support::program::Program;
use support::suite::Module;
use support::tests;
use support::{Gpu, World, cpu_times, function, gpu_times, node, world};
use tokio::runtime::Builder;
use tokio::task::yield_now;
use tracing::{Instrument, info_span, instrument};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_function_is_a_call,
        a_future_is_a_call_of_its_polls,
        handlers_of_a_server_are_calls,
        a_span_that_is_entered_again_and_again_is_named,
        a_call_ends_with_its_last_part_if_spans_inside_live_on,
        a_part_that_a_thread_does_not_exit_is_over_when_the_span_is,
    ]],
)
.with_program(program);

fn install() {
    registry().with(gpuprof::tracing::layer()).init();
}

#[instrument(skip_all)]
fn outer(w: &World, gpu: &Gpu) {
    w.sim.advance(10);
    inner(w, gpu);
    inner(w, gpu);
}

#[instrument(skip_all)]
fn inner(w: &World, gpu: &Gpu) {
    gpu.kernel(1_000);
    w.sim.advance(2_000);
}

fn a_function_is_a_call() {
    let w = world();
    let gpu = Gpu::new(w.sim, 0);
    install();
    let session = w.session();
    gpuprof::with_stream(&gpu.stream, || outer(&w, &gpu));
    let profile = w.finish(session);
    let (outer, inner) = ("outer", "inner");
    assert_eq!(cpu_times(&profile, inner), (2, 4_000, 4_000));
    assert_eq!(cpu_times(&profile, outer), (1, 4_010, 10));
    assert_eq!(gpu_times(&profile, inner).0, 2);
    assert_eq!(gpu_times(&profile, outer).0, 1);
    assert_eq!(node(&profile, &[outer, inner]).calls, 2);
    assert!(function(&profile, inner).labels.is_empty());
}

fn a_future_is_a_call_of_its_polls() {
    let w = world();
    install();
    let session = w.session();
    let sim = w.sim;
    let future = async move {
        for _ in 0..3 {
            sim.advance(100);
            yield_now().await;
        }
    };
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    // Four polls, and once more entered when it is dropped.
    runtime.block_on(future.instrument(info_span!("future")));
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "future"), (1, 300, 300));
    let wall = function(&profile, "future").wall.as_ref();
    assert_eq!(wall.map(|wall| wall.total_ns), Some(300));
    let notes = &profile.diagnostics.notes;
    assert!(
        notes.iter().all(|note| !note.contains("tracing")),
        "{notes:?}"
    );
}

/// What handlers share.
struct Server {
    sim: simcuda::Sim,
    gpu: Gpu,
}

#[instrument(skip(server))]
async fn handle(server: Arc<Server>, request: u64) {
    server.sim.advance(10);
    infer(&server).await;
    yield_now().await;
    server.sim.advance(1);
}

#[instrument(skip_all)]
async fn infer(server: &Server) {
    gpuprof::with_stream(&server.gpu.stream, || launch(server));
    yield_now().await;
}

#[instrument(skip_all)]
fn launch(server: &Server) {
    server.gpu.kernel(1_000);
    server.sim.advance(100);
}

fn handlers_of_a_server_are_calls() {
    let w = world();
    let gpu = Gpu::new(w.sim, 0);
    install();
    let session = w.session();
    let server = Arc::new(Server { sim: w.sim, gpu });
    // One worker: the clock is everybody's.
    let runtime = Builder::new_multi_thread().worker_threads(1).build();
    runtime.expect("a runtime").block_on(async {
        let requests = (0..20).map(|at| tokio::spawn(handle(Arc::clone(&server), at)));
        for request in requests.collect::<Vec<_>>() {
            request.await.expect("no panic");
        }
    });
    let profile = w.finish(session);
    let [handle, infer, launch] = ["handle", "infer", "launch"];
    assert_eq!(cpu_times(&profile, handle), (20, 20 * 111, 20 * 11));
    assert_eq!(cpu_times(&profile, infer), (20, 20 * 100, 0));
    assert_eq!(cpu_times(&profile, launch), (20, 20 * 100, 20 * 100));
    assert_eq!(gpu_times(&profile, launch).0, 20);
    assert_eq!(node(&profile, &[handle, infer, launch]).calls, 20);
    assert_eq!(profile.tree.len(), 3);
    assert_eq!(profile.diagnostics.misnested, 0);
}

fn a_span_that_is_entered_again_and_again_is_named() {
    let (_, profile) = Program::new("stored").profiled();
    let expected = "tracing: per_span::stored was entered again and again in one span, which is \
                    one call; unless that is a future, .call_rule(\"tracing_spans::per_span\", \
                    CallRule::PerEnter) makes each time a call";
    let notes: Vec<_> = tracing_notes(&profile).collect();
    assert_eq!(notes, [expected]);
    assert_eq!(function(&profile, "stored").calls, 0);
}

fn tracing_notes(profile: &Profile) -> impl Iterator<Item = &str> {
    let notes = profile.diagnostics.notes.iter();
    let notes = notes.map(String::as_str);
    notes.filter(|note| note.starts_with("tracing:"))
}

fn program(_: &str) -> ExitCode {
    install();
    let (stored, twice) = (info_span!("stored"), info_span!("twice"));
    (0..3).for_each(|_| stored.in_scope(|| ()));
    (0..2).for_each(|_| twice.in_scope(|| ()));
    // A request in flight is most likely none: only the report at exit names it.
    let meanwhile = gpuprof::snapshot();
    assert_eq!(tracing_notes(&meanwhile).count(), 0);
    std::mem::forget((stored, twice));
    ExitCode::SUCCESS
}

/// The spans of a model's layers are made inside a function that has one, too.
#[instrument(skip_all)]
fn load(w: &World, gpu: &Gpu) -> tracing::Span {
    gpu.kernel(1_000);
    w.sim.advance(2_000);
    info_span!("of_the_model")
}

fn a_call_ends_with_its_last_part_if_spans_inside_live_on() {
    let w = world();
    let gpu = Gpu::new(w.sim, 0);
    install();
    let session = w.session();
    let kept = gpuprof::with_stream(&gpu.stream, || load(&w, &gpu));
    w.sim.advance(10_000_000);
    // Only now does `tracing` close the span of `load`.
    drop(kept);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "load"), (1, 2_000, 2_000));
    let load = function(&profile, "load");
    assert_eq!(load.wall.as_ref().map(|wall| wall.total_ns), Some(2_000));
    // An end event that was recorded now would have measured what came since.
    assert!(load.gpu.is_none());
    assert_eq!(load.untimed.stream_unsafe, 1);
}

fn a_part_that_a_thread_does_not_exit_is_over_when_the_span_is() {
    let w = world();
    install();
    let session = w.session();
    let span = info_span!("left_over");
    // As a guard that is held across an await on another thread.
    tracing::dispatcher::get_default(|subscriber| subscriber.enter(&span.id().expect("an id")));
    w.sim.advance(10);
    let id = span.id().expect("an id");
    std::thread::scope(|scope| {
        let exits = || tracing::dispatcher::get_default(|subscriber| subscriber.exit(&id));
        scope.spawn(exits).join().expect("no panic");
    });
    drop(span);
    info_span!("after").in_scope(|| w.sim.advance(5));
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "after"), (1, 5, 5));
    assert_eq!(node(&profile, &["after"]).calls, 1);
    assert_eq!(cpu_times(&profile, "left_over").0, 1);
}
