//! Promise: under rayon each call counts once and no time counts twice. A span is nested in the one
//! that its thread was in, even if that one only waits and the call belongs to another task.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use support::suite::Module;
use support::tests;
use support::{World, cpu_times, function, gpu, gpu_times, node, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_parallel_iterators_items_are_inside_where_their_thread_was,
        what_a_scope_runs_on_its_own_thread_is_inside_the_span_around_it,
        a_task_that_a_waiting_thread_runs_is_inside_the_span_that_waits,
        such_a_task_inherits_the_waiting_spans_stream,
        a_recursion_over_all_threads_counts_every_call_once,
    ]],
);

fn pool(threads: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("threads are to be had")
}

#[gpu_profile(cpu)]
fn spread(inside: impl FnOnce()) {
    inside();
}

#[gpu_profile(cpu)]
fn item(w: &World, meet: &Barrier) {
    meet.wait();
    w.cpu(1);
}

fn a_parallel_iterators_items_are_inside_where_their_thread_was() {
    const ITEMS: u32 = 64;
    let w = world();
    let (w, pool) = (&w, pool(2));
    let session = w.session();
    // The threads meet at a barrier for each item, so that each of them takes half.
    let meet = Barrier::new(2);
    spread(|| {
        pool.install(|| {
            spread(|| {
                let items = (0..ITEMS).into_par_iter().with_max_len(1);
                items.for_each(|_| item(w, &meet));
            });
        });
    });
    let profile = w.finish(session);
    // The caller's thread only waits; spans of the pool are not nested in its span.
    assert_eq!(node(&profile, &["spread"]).calls, 2);
    assert_eq!(
        node(&profile, &["spread", "item"]).calls,
        u64::from(ITEMS / 2)
    );
    assert_eq!(node(&profile, &["item"]).calls, u64::from(ITEMS / 2));
    assert_eq!(profile.tree.len(), 3);
    let item = function(&profile, "item");
    assert_eq!((item.calls, item.threads), (ITEMS.into(), 2));
    assert_eq!(profile.diagnostics.misnested, 0);
}

#[gpu_profile]
fn fan(w: &World, stream: &Arc<CudaStream>, items: u64) {
    w.cpu(10);
    rayon::scope(|scope| {
        (0..items).for_each(|_| scope.spawn(|_| scoped(w, stream)));
    });
    w.cpu(1);
}

#[gpu_profile]
fn scoped(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(100);
    w.gpu.kernel_on(stream, 1_000);
}

fn what_a_scope_runs_on_its_own_thread_is_inside_the_span_around_it() {
    let w = world();
    let (w, pool) = (&w, pool(1));
    let session = w.session();
    pool.install(|| fan(w, &w.gpu.stream, 3));
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "fan"), (1, 311, 11));
    assert_eq!(cpu_times(&profile, "scoped"), (3, 300, 300));
    // The first kernel starts 100 after its start event, because the stream is idle.
    assert_eq!(gpu_times(&profile, "scoped"), (3, 3_100, 3_100));
    assert_eq!(gpu_times(&profile, "fan"), (1, 3_110, 10));
    assert_eq!(node(&profile, &["fan", "scoped"]).calls, 3);
    assert_eq!(profile.tree.len(), 2);
}

#[gpu_profile(cpu)]
fn left(w: &World, started: &Receiver<()>) {
    started.recv().expect("the right half begins");
    w.cpu(10);
}

#[gpu_profile(cpu)]
fn right(w: &World, inside: impl FnOnce()) {
    inside();
    w.cpu(5);
}

/// A task that is unrelated to the thread that waits meanwhile and runs it.
#[gpu_profile]
fn other(w: &World, stream: &Arc<CudaStream>) {
    w.cpu(100);
    w.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile]
fn without_stream(w: &World) {
    w.cpu(7);
}

#[gpu_profile]
fn waiting(_stream: &Arc<CudaStream>, inside: impl FnOnce()) {
    inside();
}

/// Both halves of a join, on two threads; the right half does not end before the left half's
/// thread, which waits for it, has run `task`.
fn joined<'scope>(
    w: &'scope World,
    scope: &rayon::Scope<'scope>,
    task: impl FnOnce() + Send + 'scope,
) {
    let ((started, has_started), (left_done, left_is_done)) = (channel(), channel());
    let (task_done, task_is_done): (Sender<()>, _) = channel();
    waiting(&w.gpu.stream, || {
        rayon::join(
            move || {
                left(w, &has_started);
                left_done.send(()).expect("the right half waits");
            },
            move || {
                right(w, || {
                    started.send(()).expect("the left half waits");
                    left_is_done.recv().expect("the left half sends");
                    scope.spawn(move |_| {
                        task();
                        task_done.send(()).expect("the right half waits");
                    });
                    task_is_done.recv().expect("the task sends");
                });
            },
        );
    });
}

fn a_task_that_a_waiting_thread_runs_is_inside_the_span_that_waits() {
    let w = world();
    let (w, pool) = (&w, pool(2));
    let session = w.session();
    pool.scope(|scope| joined(w, scope, || other(w, &w.gpu.stream)));
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "left"), (1, 10, 10));
    assert_eq!(cpu_times(&profile, "other"), (1, 100, 100));
    // The right half lasts as long as the left half and the task together, which ran on the other
    // thread meanwhile.
    assert_eq!(cpu_times(&profile, "right"), (1, 115, 115));
    // The task is nested in `waiting`: the self time of `waiting` is only the last part of the
    // right half.
    assert_eq!(cpu_times(&profile, "waiting"), (1, 115, 5));
    assert_eq!(node(&profile, &["waiting", "left"]).calls, 1);
    assert_eq!(node(&profile, &["waiting", "other"]).calls, 1);
    assert_eq!(node(&profile, &["right"]).calls, 1);
    assert_eq!(profile.tree.len(), 4);
    // Both GPU times are on one stream; the task's time is not part of the self time of `waiting`.
    assert_eq!(gpu_times(&profile, "other"), (1, 1_100, 1_100));
    assert_eq!(gpu_times(&profile, "waiting"), (1, 1_110, 10));
    assert_eq!(profile.diagnostics.misnested, 0);
}

fn such_a_task_inherits_the_waiting_spans_stream() {
    let w = world();
    let (w, pool) = (&w, pool(2));
    let session = w.session();
    pool.install(|| without_stream(w));
    pool.scope(|scope| joined(w, scope, || without_stream(w)));
    let profile = w.finish(session);
    let function = function(&profile, "without_stream");
    assert_eq!((function.calls, function.untimed.no_stream), (2, 1));
    assert_eq!(gpu(&profile, "without_stream").timed_calls, 1);
    assert_eq!(node(&profile, &["without_stream"]).gpu_total_ns, None);
    let inside = node(&profile, &["waiting", "without_stream"]);
    assert_eq!(inside.gpu_total_ns, Some(7));
}

/// Halves its range, as a parallel sort does.
#[gpu_profile(cpu)]
fn halves(w: &World, len: u64) -> u64 {
    w.cpu(1);
    if len == 1 {
        return 1;
    }
    let (a, b) = rayon::join(|| halves(w, len / 2), || halves(w, len - len / 2));
    a + b
}

fn a_recursion_over_all_threads_counts_every_call_once() {
    const LEN: u64 = 1_000;
    let w = world();
    let (w, pool) = (&w, pool(4));
    let session = w.session();
    assert_eq!(pool.install(|| halves(w, LEN)), LEN);
    let profile = w.finish(session);
    let halves = function(&profile, "halves");
    assert_eq!(halves.calls, 2 * LEN - 1);
    assert!((1..=4).contains(&halves.threads));
    assert_eq!(
        (profile.diagnostics.misnested, profile.diagnostics.dropped),
        (0, 0)
    );
    // It is one function: one root and nested calls, however the threads divided the halves.
    let top: Vec<_> = (profile.tree.iter())
        .filter(|node| node.parent.is_none())
        .collect();
    assert_eq!(top.len(), 1);
    // All CPU time is in these nodes, however many there are.
    assert_eq!(top[0].cpu_total_ns, halves.cpu.total_ns);
}
