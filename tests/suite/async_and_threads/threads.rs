//! Promise: threads are measured separately and reported together, whether or not they have ended.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use simcuda::Sim;
use support::suite::Module;
use support::tests;
use support::{Gpu, World, cpu_times, function, gpu, gpu_times, node, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        the_same_function_on_many_ended_threads,
        a_function_counts_the_threads_it_ran_on,
        a_window_counts_only_threads_that_ran_in_it,
        a_thread_that_lives_on_idle_is_reported_and_so_is_what_it_does_later,
        a_detached_thread_counts_before_and_after_its_end,
        a_thread_is_outside_of_the_span_that_started_it,
        spans_open_on_two_threads_at_once_do_not_mix,
        counts_stay_exact_without_any_order_between_threads,
    ]],
);

/// What a thread needs that outlives its test.
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

#[gpu_profile]
fn work(p: &Place, stream: &Arc<CudaStream>, ns: u64) {
    p.sim.advance(ns);
    p.gpu.kernel_on(stream, 10 * ns);
    inner(p);
}

#[gpu_profile(cpu)]
fn inner(p: &Place) {
    p.sim.advance(1);
}

#[gpu_profile(cpu)]
fn only_here(p: &Place) {
    p.sim.advance(5);
}

#[gpu_profile(cpu)]
fn open_while(p: &Place, entered: &Sender<()>, go_on: &Receiver<()>) {
    p.sim.advance(100);
    entered.send(()).expect("the test waits");
    go_on.recv().expect("the test sends");
    p.sim.advance(10);
}

/// Runs one thread after another, so that only one thread advances the shared clock at a time.
/// Returns when the GPU has finished.
fn in_turn(p: &Place, threads: u64) {
    let streams: Vec<_> = (0..threads).map(|_| p.gpu.another_stream()).collect();
    for (stream, ns) in streams.iter().zip((100..).step_by(100)) {
        thread::scope(|scope| {
            scope
                .spawn(|| work(p, stream, ns))
                .join()
                .expect("no panic");
        });
    }
    p.gpu.context.synchronize().expect("synchronize");
}

fn the_same_function_on_many_ended_threads() {
    let w = world();
    let p = Place::new(&w);
    let session = w.session();
    in_turn(&p, 8);
    let profile = w.finish(session);
    // 100 + 200 + … + 800, and 1 in the nested span of each.
    assert_eq!(cpu_times(&profile, "work"), (8, 3_608, 3_600));
    assert_eq!(cpu_times(&profile, "inner"), (8, 8, 8));
    let work = function(&profile, "work");
    assert_eq!(
        (work.threads, work.cpu.min_ns, work.cpu.max_ns),
        (8, 101, 801)
    );
    // Each thread has an idle stream, so the CPU time before the kernel is between the events.
    assert_eq!(gpu_times(&profile, "work"), (8, 39_600, 39_600));
    assert_eq!(gpu(&profile, "work").times.max_ns, 8_800);
    // The trees of all threads are merged into one.
    assert_eq!(profile.tree.len(), 2);
    let top = node(&profile, &["work"]);
    assert_eq!(
        (top.calls, top.cpu_total_ns, top.gpu_total_ns),
        (8, 3_608, Some(39_600))
    );
    assert_eq!(node(&profile, &["work", "inner"]).calls, 8);
}

fn a_function_counts_the_threads_it_ran_on() {
    let w = world();
    let p = Place::new(&w);
    let session = w.session();
    only_here(&p);
    in_turn(&p, 3);
    work(&p, &p.gpu.stream, 50);
    let profile = w.finish(session);
    assert_eq!(function(&profile, "only_here").threads, 1);
    assert_eq!(function(&profile, "work").threads, 4);
    assert_eq!(function(&profile, "inner").threads, 4);
    assert_eq!(function(&profile, "open_while").threads, 0);
}

fn a_window_counts_only_threads_that_ran_in_it() {
    let w = world();
    let p = Place::new(&w);
    let session = w.session();
    in_turn(&p, 3);
    only_here(&p);
    gpuprof::reset();
    in_turn(&p, 2);
    let profile = w.finish(session);
    assert_eq!(function(&profile, "work").threads, 2);
    assert_eq!(function(&profile, "only_here").threads, 0);
}

fn a_thread_that_lives_on_idle_is_reported_and_so_is_what_it_does_later() {
    let w = world();
    let p = Place::new(&w);
    let (order, orders) = channel::<u64>();
    let (done, finished) = channel::<()>();
    let stream = p.gpu.another_stream();
    let worker = thread::spawn({
        let (p, stream) = (p.clone(), Arc::clone(&stream));
        move || {
            for ns in orders {
                work(&p, &stream, ns);
                done.send(()).expect("the test waits");
            }
        }
    });
    let session = w.session();
    let run = |ns| {
        order.send(ns).expect("the worker waits");
        finished.recv().expect("the worker answers");
    };
    run(100);
    work(&p, &p.gpu.stream, 30);
    let first = session.snapshot();
    assert_eq!(cpu_times(&first, "work"), (2, 132, 130));
    assert_eq!(function(&first, "work").threads, 2);
    run(1_000);
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "work"), (3, 1_133, 1_130));
    assert_eq!(function(&profile, "work").threads, 2);
    assert_eq!(gpu(&profile, "work").timed_calls, 3);

    // In the next session the thread's calls count from zero.
    let session = w.session();
    run(7);
    drop(order);
    worker.join().expect("no panic");
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "work"), (1, 8, 7));
    // The thread has ended; its stream still exists, so its last call is timed.
    assert_eq!(gpu(&profile, "work").timed_calls, 1);
    drop(stream);
    assert_eq!(function(&profile, "work").threads, 1);
}

fn a_detached_thread_counts_before_and_after_its_end() {
    let w = world();
    let p = Place::new(&w);
    let session = w.session();
    let (done, finished) = channel::<()>();
    drop(thread::spawn({
        let p = p.clone();
        move || {
            work(&p, &p.gpu.stream, 100);
            done.send(()).expect("the test waits");
        }
    }));
    finished.recv().expect("the thread answers");
    // The thread may be ending at this moment: its counters move to the list of ended threads and
    // are never counted twice.
    for _ in 0..1_000 {
        let now = session.snapshot();
        assert_eq!(cpu_times(&now, "work"), (1, 101, 100));
        assert_eq!(function(&now, "work").threads, 1);
    }
    assert_eq!(cpu_times(&w.finish(session), "work").0, 1);
}

/// Waits until `thread` has ended; its calls belong to that thread and not to this one.
#[gpu_profile]
fn starts(p: &Place, _stream: &Arc<CudaStream>, thread: impl FnOnce()) {
    p.sim.advance(20);
    thread();
    p.sim.advance(2);
}

/// It inherits the stream of the enclosing span, if there is one.
#[gpu_profile]
fn inherits(p: &Place) {
    p.sim.advance(3);
}

fn a_thread_is_outside_of_the_span_that_started_it() {
    let w = world();
    let p = Place::new(&w);
    let stream = p.gpu.another_stream();
    let threads: [(&str, &dyn Fn()); 2] = [
        ("scoped", &|| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    work(&p, &stream, 100);
                    inherits(&p);
                });
            });
        }),
        ("detached", &|| {
            let (done, finished) = channel::<()>();
            let (p, stream) = (p.clone(), Arc::clone(&stream));
            drop(thread::spawn(move || {
                work(&p, &stream, 100);
                inherits(&p);
                done.send(()).expect("the test waits");
            }));
            finished.recv().expect("the thread answers");
        }),
    ];
    for (form, thread) in threads {
        p.gpu.context.synchronize().expect("synchronize");
        let session = w.session();
        starts(&p, &p.gpu.stream, thread);
        let profile = w.finish(session);
        // The clock is shared: this thread waits, so the other thread's time passes in its span
        // too.
        assert_eq!(cpu_times(&profile, "starts"), (1, 126, 126), "{form}");
        assert_eq!(cpu_times(&profile, "work"), (1, 101, 100), "{form}");
        assert_eq!(cpu_times(&profile, "inherits"), (1, 3, 3), "{form}");
        assert_eq!(gpu_times(&profile, "starts"), (1, 126, 126), "{form}");
        assert_eq!(gpu_times(&profile, "work"), (1, 1_100, 1_100), "{form}");
        assert!(!function(&profile, "inherits").has_stream, "{form}");
        assert_eq!(function(&profile, "starts").gpu_nested_ns, 0, "{form}");
        assert_eq!(node(&profile, &["work", "inner"]).calls, 1, "{form}");
        let top = profile.tree.iter().filter(|node| node.parent.is_none());
        assert_eq!((top.count(), profile.tree.len()), (3, 4), "{form}");
    }
}

fn spans_open_on_two_threads_at_once_do_not_mix() {
    let w = world();
    let p = Place::new(&w);
    let session = w.session();
    let ((entered, is_in), (go, go_on)) = (channel(), channel());
    thread::scope(|scope| {
        let p = &p;
        let other = scope.spawn(move || open_while(p, &entered, &go_on));
        is_in.recv().expect("the thread answers");
        // This call is made while the other thread's span is open, and is not nested in it.
        work(p, &p.gpu.stream, 1_000);
        go.send(()).expect("the thread waits");
        other.join().expect("no panic");
    });
    let profile = w.finish(session);
    assert_eq!(cpu_times(&profile, "open_while"), (1, 1_111, 1_111));
    assert_eq!(cpu_times(&profile, "work"), (1, 1_001, 1_000));
    assert_eq!(node(&profile, &["open_while"]).parent, None);
    assert_eq!(node(&profile, &["work"]).parent, None);
    assert_eq!(profile.tree.len(), 3);
}

fn counts_stay_exact_without_any_order_between_threads() {
    const THREADS: usize = 8;
    const CALLS: u64 = 500;
    let w = world();
    let p = Place::new(&w);
    let session = w.session();
    let together = Barrier::new(THREADS);
    let streams = [(); THREADS].map(|()| p.gpu.another_stream());
    thread::scope(|scope| {
        for stream in &streams {
            scope.spawn(|| {
                together.wait();
                (0..CALLS).for_each(|_| work(&p, stream, 1));
            });
        }
    });
    let profile = w.finish(session);
    let work = function(&profile, "work");
    let calls = THREADS as u64 * CALLS;
    assert_eq!((work.calls, work.threads), (calls, THREADS as u32));
    assert_eq!(function(&profile, "inner").calls, calls);
    // All calls may be in flight at once: a thread has room for 4,096, the context for 16,384.
    assert_eq!(
        gpu(&profile, "work").timed_calls,
        calls,
        "{:?}",
        work.untimed
    );
}
