//! Promise: on tokio's worker threads an async call is one call with its own times and its own call
//! path, even if it is joined, loses a `select!`, times out, or moves to another worker.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use cudarc::driver::CudaStream;
use gpuprof::{Profile, gpu_profile};
use simcuda::Sim;
use support::suite::Module;
use support::tests;
use support::{Gpu, World, cpu_times, function, gpu, gpu_times, node, world};
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        nested_calls_in_a_task,
        joined_calls_do_not_mix,
        who_loses_a_select_is_one_call_of_the_time_it_had,
        a_call_that_runs_out_of_time_ends_then,
        a_task_that_goes_on_on_another_worker_stays_one_call,
        a_task_is_inside_no_span_of_who_spawned_it,
        tasks_at_once_leave_one_tree_and_exact_counts,
    ]],
);

/// What each task owns.
#[derive(Clone)]
struct Place {
    sim: Sim,
    gpu: Arc<Gpu>,
}

impl Place {
    fn new(w: &World) -> Self {
        Self {
            sim: w.sim,
            gpu: Arc::new(Gpu::new(w.sim, 0)),
        }
    }
}

fn runtime(workers: usize) -> Runtime {
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(workers).enable_time().build();
    runtime.expect("threads are to be had")
}

/// Spawns `future` as a task and waits for it.
fn run(runtime: &Runtime, future: impl Future<Output = ()> + Send + 'static) {
    let task = runtime.spawn(future);
    runtime.block_on(task).expect("no panic");
}

/// Advances the clock by `ns` after each poll of `future` except the last: wall time that is no
/// call's CPU time.
async fn apart<F: Future>(p: Place, ns: u64, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|cx| {
        let polled = future.as_mut().poll(cx);
        if polled.is_pending() {
            p.sim.advance(ns);
        }
        polled
    })
    .await
}

/// The wall time of all calls of the function of this name.
fn wall(profile: &Profile, name: &str) -> u64 {
    let wall = function(profile, name).wall.as_ref();
    wall.expect("an async function has a wall time").total_ns
}

/// The number of nodes of the call tree, of which none was entered out of order.
fn places(profile: &Profile) -> usize {
    assert_eq!(profile.diagnostics.misnested, 0);
    profile.tree.len()
}

#[gpu_profile]
async fn request(p: Place, stream: Arc<CudaStream>) {
    p.sim.advance(10);
    stage(&p, &stream).await;
    p.sim.advance(1);
}

#[gpu_profile]
async fn stage(p: &Place, stream: &Arc<CudaStream>) {
    for _ in 0..3 {
        p.sim.advance(100);
        p.gpu.kernel_on(stream, 1_000);
        yield_now().await;
    }
    p.sim.advance(50);
}

fn nested_calls_in_a_task() {
    let w = world();
    let (p, runtime) = (Place::new(&w), runtime(2));
    let session = w.session();
    let request = request(p.clone(), Arc::clone(&p.gpu.stream));
    run(&runtime, apart(p.clone(), 5_000, request));
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "stage"), (1, 350, 350));
    assert_eq!(cpu_times(&profile, "request"), (1, 361, 11));
    assert_eq!(wall(&profile, "stage"), 350 + 3 * 5_000);
    assert_eq!(wall(&profile, "request"), 361 + 3 * 5_000);
    // From the start of the first poll to the end of the last.
    assert_eq!(gpu_times(&profile, "stage"), (1, 15_350, 15_350));
    assert_eq!(gpu_times(&profile, "request"), (1, 15_361, 11));
    assert_eq!(node(&profile, &["request", "stage"]).calls, 1);
    assert_eq!(places(&profile), 2);
}

#[gpu_profile(cpu)]
async fn ticks(p: &Place) {
    for _ in 0..3 {
        p.sim.advance(10);
        yield_now().await;
    }
}

#[gpu_profile(cpu)]
async fn tocks(p: &Place) {
    for _ in 0..5 {
        p.sim.advance(1_000);
        yield_now().await;
    }
}

#[gpu_profile(cpu)]
async fn both(p: Place) {
    tokio::join!(biased; ticks(&p), tocks(&p));
}

fn joined_calls_do_not_mix() {
    let w = world();
    let (p, runtime) = (Place::new(&w), runtime(2));
    let session = w.session();
    run(&runtime, apart(p.clone(), 7, both(p.clone())));
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "ticks"), (1, 30, 30));
    assert_eq!(cpu_times(&profile, "tocks"), (1, 5_000, 5_000));
    assert_eq!(cpu_times(&profile, "both"), (1, 5_030, 0));
    // Both take part in three rounds, the second alone in two more; it started 10 later.
    assert_eq!(wall(&profile, "ticks"), 3 * 1_017);
    assert_eq!(wall(&profile, "tocks"), 3 * 1_017 + 2 * 1_007 - 10);
    assert_eq!(wall(&profile, "both"), 3 * 1_017 + 2 * 1_007);
    assert_eq!(node(&profile, &["both", "ticks"]).calls, 1);
    assert_eq!(node(&profile, &["both", "tocks"]).calls, 1);
    assert_eq!(places(&profile), 3);
}

#[gpu_profile(cpu)]
async fn either(p: Place) {
    tokio::select! {
        biased;
        () = ticks(&p) => {}
        () = tocks(&p) => panic!("it takes longer"),
    }
    p.sim.advance(500);
}

fn who_loses_a_select_is_one_call_of_the_time_it_had() {
    let w = world();
    let (p, runtime) = (Place::new(&w), runtime(2));
    let session = w.session();
    run(&runtime, apart(p.clone(), 7, either(p.clone())));
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "ticks"), (1, 30, 30));
    assert_eq!(cpu_times(&profile, "tocks"), (1, 3_000, 3_000));
    assert_eq!(cpu_times(&profile, "either"), (1, 3_530, 500));
    assert_eq!(wall(&profile, "ticks"), 3 * 1_017);
    // It started 10 later and was dropped when the other was ready.
    assert_eq!(wall(&profile, "tocks"), 3 * 1_017 - 10);
    assert_eq!(wall(&profile, "either"), 3 * 1_017 + 500);
    assert_eq!(node(&profile, &["either", "tocks"]).calls, 1);
    assert_eq!(places(&profile), 3);
}

#[gpu_profile]
async fn never(p: &Place, stream: &Arc<CudaStream>) {
    p.sim.advance(100);
    p.gpu.kernel_on(stream, 40);
    pending::<()>().await;
}

#[gpu_profile(cpu)]
async fn impatient(p: Place) {
    // Longer than a busy machine takes until the first poll.
    let limit = Duration::from_millis(500);
    let ended = tokio::time::timeout(limit, never(&p, &p.gpu.stream)).await;
    assert!(ended.is_err());
    p.sim.advance(5);
}

fn a_call_that_runs_out_of_time_ends_then() {
    let w = world();
    let (p, runtime) = (Place::new(&w), runtime(2));
    let session = w.session();
    run(&runtime, apart(p.clone(), 700, impatient(p.clone())));
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "never"), (1, 100, 100));
    assert_eq!(cpu_times(&profile, "impatient"), (1, 105, 5));
    assert_eq!(wall(&profile, "never"), 800);
    assert_eq!(wall(&profile, "impatient"), 805);
    assert_eq!(gpu_times(&profile, "never"), (1, 800, 800));
    assert_eq!(node(&profile, &["impatient", "never"]).calls, 1);
    assert_eq!(places(&profile), 2);
}

/// Ends on another worker than the one it began on, which is kept busy meanwhile.
async fn elsewhere() {
    let first = thread::current().id();
    let arrived = Arc::new(AtomicBool::new(false));
    let is_here = || thread::current().id() == first;
    while is_here() {
        let arrived = Arc::clone(&arrived);
        drop(tokio::spawn(async move {
            while thread::current().id() == first && !arrived.load(SeqCst) {
                thread::yield_now();
            }
        }));
        // Wakes at once, queued behind the task above. (tokio's own `yield_now` waits until its
        // worker has nothing to do.)
        let mut yielded = false;
        poll_fn(|cx| {
            if std::mem::replace(&mut yielded, true) {
                Poll::Ready(())
            } else {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        })
        .await;
    }
    arrived.store(true, SeqCst);
}

#[gpu_profile(cpu)]
fn leaf(p: &Place) {
    p.sim.advance(5);
}

#[gpu_profile]
async fn moves(p: Place, stream: Arc<CudaStream>) {
    p.sim.advance(30);
    leaf(&p);
    elsewhere().await;
    p.sim.advance(40);
    leaf(&p);
    p.gpu.kernel_on(&stream, 2_000);
}

fn a_task_that_goes_on_on_another_worker_stays_one_call() {
    let w = world();
    let (p, runtime) = (Place::new(&w), runtime(2));
    let session = w.session();
    run(&runtime, moves(p.clone(), Arc::clone(&p.gpu.stream)));
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "moves"), (1, 80, 70));
    assert_eq!(cpu_times(&profile, "leaf"), (2, 10, 10));
    assert_eq!(wall(&profile, "moves"), 80);
    // The call began on one thread and ended on another; its kernel starts after 80.
    assert_eq!(gpu_times(&profile, "moves"), (1, 2_080, 2_080));
    assert_eq!(function(&profile, "moves").threads, 1);
    assert_eq!(function(&profile, "leaf").threads, 2);
    assert_eq!(node(&profile, &["moves", "leaf"]).calls, 2);
    assert_eq!(places(&profile), 2);
}

#[gpu_profile(cpu)]
async fn job(p: Place, go: Arc<AtomicBool>) {
    while !go.load(SeqCst) {
        thread::yield_now();
    }
    p.sim.advance(200);
}

#[gpu_profile(cpu)]
async fn orders(p: &Place, go: &Arc<AtomicBool>) {
    p.sim.advance(10);
    let job = tokio::spawn(job(p.clone(), Arc::clone(go)));
    job.await.expect("no panic");
    p.sim.advance(3);
}

#[gpu_profile(cpu)]
fn waits(p: &Place, runtime: &Runtime) {
    p.sim.advance(1);
    let go = Arc::new(AtomicBool::new(false));
    let mut orders = pin!(orders(p, &go));
    runtime.block_on(poll_fn(|cx| {
        let polled = orders.as_mut().poll(cx);
        go.store(true, SeqCst);
        polled
    }));
}

fn a_task_is_inside_no_span_of_who_spawned_it() {
    let w = world();
    let (p, runtime) = (Place::new(&w), runtime(2));
    let session = w.session();
    waits(&p, &runtime);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "job"), (1, 200, 200));
    assert_eq!(cpu_times(&profile, "orders"), (1, 13, 13));
    assert_eq!(wall(&profile, "orders"), 213);
    // The thread waited in `block_on` for 200, outside every poll.
    assert_eq!(cpu_times(&profile, "waits"), (1, 214, 201));
    assert_eq!(node(&profile, &["waits", "orders"]).calls, 1);
    assert_eq!(node(&profile, &["job"]).calls, 1);
    assert_eq!(places(&profile), 3);
}

fn tasks_at_once_leave_one_tree_and_exact_counts() {
    const TASKS: u64 = 200;
    let w = world();
    let (p, runtime) = (Place::new(&w), runtime(4));
    let streams = [(); 4].map(|()| p.gpu.another_stream());
    let session = w.session();
    let tasks: Vec<_> = (streams.iter().cycle().take(TASKS as usize))
        .map(|stream| {
            let (p, stream) = (p.clone(), Arc::clone(stream));
            runtime.spawn(async move {
                tokio::join!(request(p.clone(), stream), both(p.clone()), either(p));
            })
        })
        .collect();
    for task in tasks {
        runtime.block_on(task).expect("no panic");
    }
    let profile = w.finish(session);
    let chains: [(&[&str], u64); 8] = [
        (&["request"], 1),
        (&["request", "stage"], 1),
        (&["both"], 1),
        (&["both", "ticks"], 1),
        (&["both", "tocks"], 1),
        (&["either"], 1),
        (&["either", "ticks"], 1),
        (&["either", "tocks"], 1),
    ];
    for (chain, calls) in chains {
        assert_eq!(node(&profile, chain).calls, calls * TASKS, "{chain:?}");
    }
    assert_eq!(places(&profile), chains.len());
    for name in ["request", "stage"] {
        let reasons = &function(&profile, name).untimed;
        let timed = gpu(&profile, name).timed_calls;
        // While a thread does not run, the others advance the clock, and an end that is noticed
        // late is not timed.
        let late = reasons.stream_unsafe;
        assert!(
            timed > TASKS / 2 && timed + late == TASKS,
            "{name}: {reasons:?}"
        );
    }
}
