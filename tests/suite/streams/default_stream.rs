//! Promise: the default stream is that of spans on every thread that have no stream of their own
//! and none around them, for as long as it is set, and it is held no longer than that.

use std::sync::Arc;
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::{
    HasStream, Mode, Session, StreamRef, gpu_profile, scope, set_default_stream, with_stream,
};
use support::executor::{pause, run};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu_times, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        it_is_that_of_spans_on_all_threads,
        a_nearer_stream_wins,
        spans_inside_inherit_it,
        futures_take_it,
        the_latest_one_counts_and_none_unsets_it,
        it_is_held_until_it_is_unset_and_no_call_holds_it,
        one_that_cannot_be_held_is_reported,
        while_nothing_is_measured_it_costs_no_cuda_call_and_stays,
        the_per_thread_stream_is_that_of_each_thread,
    ]],
);

#[gpu_profile]
fn plain(launch: impl FnOnce()) {
    launch();
}

#[gpu_profile]
fn inner(launch: impl FnOnce()) {
    launch();
}

#[gpu_profile]
fn on(_stream: &Arc<CudaStream>, launch: impl FnOnce()) {
    launch();
}

#[gpu_profile(cpu)]
fn on_the_cpu(launch: impl FnOnce()) {
    launch();
}

#[gpu_profile]
async fn later(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 1_000);
    pause().await;
    inner(|| w.gpu.kernel_on(stream, 200));
}

const NO_STREAM: Option<&Arc<CudaStream>> = None;

fn it_is_that_of_spans_on_all_threads() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let launch = || {
        w.gpu.kernel_on(&a, 1_000);
        w.gpu.kernel_on(&b, 20_000);
    };
    // Before anything is measured.
    set_default_stream(&a);
    let session = w.session();
    plain(launch);
    thread::scope(|scope| {
        for _ in 0..2 {
            let thread = scope.spawn(|| {
                w.gpu.context.bind_to_thread().expect("bind");
                plain(launch);
                scope!("scope");
                launch();
            });
            thread.join().expect("no panic");
        }
    });
    on_the_cpu(launch);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "plain"), (3, 3_000, 3_000));
    assert_eq!(gpu_times(&profile, "scope"), (2, 2_000, 2_000));
    assert!(!function(&profile, "on_the_cpu").has_stream);
    assert_eq!(profile.diagnostics.notes, [""; 0]);
}

fn a_nearer_stream_wins() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let launch = || {
        w.gpu.kernel_on(&a, 1_000);
        w.gpu.kernel_on(&b, 20_000);
    };
    set_default_stream(&a);
    let session = w.session();
    with_stream(&b, || plain(launch));
    on(&b, || inner(launch));
    // One without a stream at present changes nothing.
    with_stream(NO_STREAM, || {
        on_the_cpu(|| with_stream(NO_STREAM, || scoped(launch)))
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "plain"), (1, 20_000, 20_000));
    assert_eq!(gpu_times(&profile, "inner"), (1, 20_000, 20_000));
    assert_eq!(gpu_times(&profile, "on"), (1, 20_000, 0));
    assert_eq!(gpu_times(&profile, "scoped"), (1, 1_000, 1_000));
}

fn scoped(launch: impl FnOnce()) {
    scope!("scoped");
    launch();
}

fn spans_inside_inherit_it() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    set_default_stream(&a);
    let session = w.session();
    plain(|| {
        w.gpu.kernel_on(&a, 300);
        // The enclosing span's stream stays.
        set_default_stream(&b);
        inner(|| w.gpu.kernel_on(&a, 1_000));
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "plain"), (1, 1_300, 300));
    assert_eq!(gpu_times(&profile, "inner"), (1, 1_000, 1_000));
}

fn futures_take_it() {
    let w = world();
    let a = w.gpu.another_stream();
    set_default_stream(&a);
    let session = w.session();
    run(&w, later(&w, &w.gpu.another_stream()), 0);
    let mut profile = w.finish(session);
    // Its own parameter wins.
    assert_eq!(gpu_times(&profile, "later"), (1, 1_200, 1_000));
    let session = w.session();
    run(&w, in_a_future(&w, || w.gpu.kernel_on(&a, 1_000)), 0);
    profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "in_a_future"), (1, 1_000, 1_000));
}

#[gpu_profile]
async fn in_a_future(_w: &World, launch: impl FnOnce()) {
    launch();
    pause().await;
}

/// A framework's device: a stream on the GPU, none on the CPU.
struct Device(Option<Arc<CudaStream>>);

impl HasStream for Device {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        self.0.clone().map(StreamRef::from)
    }
}

fn the_latest_one_counts_and_none_unsets_it() {
    let w = world();
    let (a, b) = (w.gpu.another_stream(), w.gpu.another_stream());
    let launch = || {
        w.gpu.kernel_on(&a, 1_000);
        w.gpu.kernel_on(&b, 20_000);
    };
    let session = w.session();
    plain(launch);
    set_default_stream(Device(Some(Arc::clone(&a))));
    plain(launch);
    set_default_stream(b.clone());
    plain(launch);
    set_default_stream(Device(None));
    plain(launch);
    let profile = w.finish(session);
    let plain = function(&profile, "plain");
    assert_eq!((plain.calls, plain.untimed.no_stream), (4, 2));
    assert_eq!(gpu_times(&profile, "plain"), (2, 21_000, 21_000));
}

fn it_is_held_until_it_is_unset_and_no_call_holds_it() {
    let w = world();
    let session = w.session();
    let a = w.gpu.another_stream();
    let owners = Arc::strong_count(&a);
    set_default_stream(&a);
    assert_eq!(Arc::strong_count(&a), owners + 1);
    plain(|| w.gpu.kernel_on(&a, 1_000));
    thread::scope(|scope| scope.spawn(|| plain(|| ())).join()).expect("no panic");
    assert_eq!(Arc::strong_count(&a), owners + 1);
    set_default_stream(NO_STREAM);
    assert_eq!(Arc::strong_count(&a), owners);
    // A call that has begun holds the stream to its end.
    set_default_stream(&a);
    let mut handle = Some(a);
    plain(|| {
        set_default_stream(NO_STREAM);
        w.gpu.kernel_on(handle.as_ref().expect("some"), 1_000);
        drop(handle.take());
    });
    w.cpu(10_000);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "plain"), (3, 2_000, 2_000));
    assert_eq!(profile.diagnostics.errors, []);
}

fn one_that_cannot_be_held_is_reported() {
    let w = world();
    let session = w.session();
    set_default_stream(&w.gpu.stream);
    set_default_stream(&*w.gpu.stream);
    plain(|| w.gpu.kernel(1_000));
    let profile = session.snapshot();
    let [note] = profile.diagnostics.notes.as_slice() else {
        panic!("{:?}", profile.diagnostics.notes);
    };
    assert!(note.contains("pass the `Arc<CudaStream>`"), "{note}");
    assert!(!function(&profile, "plain").has_stream);
    set_default_stream(&w.gpu.stream);
    plain(|| w.gpu.kernel(1_000));
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "plain"), (1, 1_000, 1_000));
    assert_eq!(profile.diagnostics.notes, [""; 0]);
}

fn while_nothing_is_measured_it_costs_no_cuda_call_and_stays() {
    let w = world();
    let a = w.gpu.another_stream();
    let calls = || -> u64 {
        let by_symbol = w.sim.calls_by_symbol();
        by_symbol.iter().map(|(_, calls)| calls).sum()
    };
    let off = Session::builder().mode(Mode::Off).start().expect("start");
    let before = calls();
    set_default_stream(&w.gpu.stream);
    set_default_stream(NO_STREAM);
    set_default_stream(&a);
    plain(|| ());
    assert_eq!(calls(), before);
    drop(off);
    let session = w.session();
    plain(|| w.gpu.kernel_on(&a, 1_000));
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "plain"), (1, 1_000, 1_000));
}

fn the_per_thread_stream_is_that_of_each_thread() {
    let w = world();
    let per_thread = w.gpu.context.per_thread_stream();
    set_default_stream(&per_thread);
    let session = w.session();
    // This thread's stream runs a long kernel; the other thread's is idle.
    w.gpu.kernel_on(&per_thread, 100_000);
    plain(|| {
        let other = || {
            w.gpu.context.bind_to_thread().expect("bind");
            inner(|| w.gpu.kernel_on(&per_thread, 3_000));
        };
        thread::scope(|scope| scope.spawn(other).join()).expect("no panic");
        w.gpu.kernel_on(&per_thread, 2_000);
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "inner"), (1, 3_000, 3_000));
    assert_eq!(gpu_times(&profile, "plain"), (1, 2_000, 2_000));
}
