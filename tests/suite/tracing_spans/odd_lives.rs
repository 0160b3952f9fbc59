//! Promise: spans that are exited out of order, on several threads, never or by another
//! subscriber leave every other number right.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use gpuprof::gpu_profile;
use support::profile_consistency::assert_consistent;
use support::program::Program;
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, node, world};
use tracing::{Dispatch, Span, dispatcher, info_span, trace_span};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_call_ends_when_those_inside_have,
        a_span_on_two_threads_at_once_is_one_call,
        a_span_that_is_never_closed_is_in_progress,
        a_span_of_another_subscriber_is_none,
        a_second_layer_measures_nothing,
        a_span_inside_itself_is_one_call,
        spans_hang_no_forked_child,
    ]],
)
.with_program(program);

fn install() {
    registry().with(gpuprof::tracing::layer()).init();
}

#[gpu_profile]
fn annotated(w: &World) {
    w.sim.advance(1_000);
}

fn stored(name: &str) -> Span {
    match name {
        "one" => trace_span!(target: "candle", "one"),
        _ => trace_span!(target: "candle", "other"),
    }
}

fn a_call_ends_when_those_inside_have() {
    let w = world();
    install();
    let session = w.session();
    for is_per_span in [false, true] {
        let (one, other) = if is_per_span {
            (info_span!("first"), info_span!("second"))
        } else {
            (stored("one"), stored("other"))
        };
        let first = one.enter();
        w.sim.advance(1);
        let second = other.enter();
        w.sim.advance(10);
        drop(first);
        w.sim.advance(100);
        drop(second);
        annotated(&w);
    }
    let profile = w.finish(session);
    let per_enter = ["one", "other"].map(|name| (name, format!("{name}[0]")));
    let per_span = ["first", "second"].map(|name| (name, name.to_owned()));
    for [(first, in_tree), (second, inside)] in [per_enter, per_span] {
        assert_eq!(cpu_times(&profile, first), (1, 111, 1));
        assert_eq!(cpu_times(&profile, second), (1, 110, 110));
        assert_eq!(node(&profile, &[&in_tree, &inside]).calls, 1);
    }
    assert_eq!(node(&profile, &["annotated"]).calls, 2);
    assert_eq!(profile.diagnostics.misnested, 0);
    assert_consistent(&profile);
}

fn a_span_on_two_threads_at_once_is_one_call() {
    let w = world();
    install();
    let session = w.session();
    let span = info_span!("shared");
    let here = span.enter();
    w.sim.advance(10);
    thread::scope(|scope| {
        // What runs here is in no part of the call: one is in progress already.
        scope.spawn(|| span.in_scope(|| annotated(&w)));
    });
    drop(here);
    thread::scope(|scope| {
        scope.spawn(|| span.in_scope(|| w.sim.advance(5)));
    });
    drop(span);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "shared"), (1, 1_015, 1_015));
    assert_eq!(node(&profile, &["annotated"]).calls, 1);
    assert_eq!(profile.diagnostics.misnested, 0);
    assert_consistent(&profile);
}

fn a_span_that_is_never_closed_is_in_progress() {
    let w = world();
    install();
    let session = w.session();
    let span = info_span!("kept");
    span.in_scope(|| w.sim.advance(10));
    std::mem::forget(span.clone());
    let profile = w.finish(session);
    let kept = function(&profile, "kept");
    assert_eq!((kept.calls, kept.open_calls), (0, 1));
    drop(span);
}

fn a_span_of_another_subscriber_is_none() {
    let w = world();
    let session = w.session();
    let other = dispatcher::with_default(&Dispatch::new(registry()), || info_span!("other_one"));
    install();
    other.in_scope(|| info_span!("measured").in_scope(|| annotated(&w)));
    let profile = w.finish(session);
    assert_eq!(node(&profile, &["measured", "annotated"]).calls, 1);
    assert_eq!(profile.tree.len(), 2);
    assert_consistent(&profile);
}

fn a_second_layer_measures_nothing() {
    let w = world();
    let session = w.session();
    let subscriber = registry()
        .with(gpuprof::tracing::layer())
        .with(gpuprof::tracing::layer());
    dispatcher::with_default(&Dispatch::new(subscriber), || {
        info_span!("once").in_scope(|| w.sim.advance(10));
    });
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "once"), (1, 10, 10));
    // Where the first is gone, another measures.
    let subscriber = registry().with(gpuprof::tracing::layer());
    let again = w.session();
    dispatcher::with_default(&Dispatch::new(subscriber), || {
        info_span!("again").in_scope(|| w.sim.advance(10));
    });
    assert_eq!(cpu_times(&w.finish(again), "again"), (1, 10, 10));
    let note = "tracing: a second layer of gpuprof's was built; it measures nothing";
    assert_eq!(profile.diagnostics.notes, [note]);
}

fn a_span_inside_itself_is_one_call() {
    let w = world();
    install();
    let session = w.session();
    let span = info_span!("again");
    span.in_scope(|| {
        w.sim.advance(1);
        span.in_scope(|| w.sim.advance(10));
    });
    drop(span);
    let stored = stored("one");
    stored.in_scope(|| {
        w.sim.advance(1);
        stored.in_scope(|| w.sim.advance(10));
    });
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "again"), (1, 11, 11));
    // Each time is a call, the inner one inside the outer.
    assert_eq!(function(&profile, "one").calls, 2);
    assert_consistent(&profile);
}

fn spans_hang_no_forked_child() {
    let ended = Program::new("forks").run();
    assert!(ended.status.success(), "{ended:#?}");
    assert_eq!(ended.reports(), 1, "{}", ended.stderr);
}

/// Forks inside spans, while another thread makes and enters spans.
fn program(_: &str) -> ExitCode {
    install();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                info_span!("meanwhile").in_scope(|| stored("one").in_scope(|| ()));
            }
        });
        let (once, stored) = (info_span!("once"), stored("other"));
        let _entered = (once.clone().entered(), stored.clone().entered());
        for _ in 0..50 {
            fork_and_use(&once, &stored);
        }
        is_over.store(true, Relaxed);
    });
    ExitCode::SUCCESS
}

fn fork_and_use(once: &Span, stored: &Span) {
    // SAFETY: the child calls nothing that needs a lock but, if it were wrong, gpuprof.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the call takes a number. A child that hangs ends by it.
        unsafe { libc::alarm(10) };
        once.in_scope(|| stored.in_scope(|| ()));
        // SAFETY: the call ends the process.
        unsafe { libc::_exit(7) };
    }
    let mut status = 0;
    // SAFETY: the status is writable.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(waited, child);
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7,
        "{status:#x}"
    );
}
