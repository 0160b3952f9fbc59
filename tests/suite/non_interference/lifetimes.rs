//! Promise: a span keeps its stream and context alive until it ends, and no longer. If it cannot,
//! the call is untimed.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::channel;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, result, sys};
use gpuprof::{HasStream, StreamRef, gpu_profile};
use support::suite::Module;
use support::tests;
use support::{Gpu, World, function, gpu_times, until, world_with};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        a_raw_handle_is_timed_with_and_without_its_context,
        a_raw_handle_on_a_thread_without_a_context,
        a_context_dropped_while_its_times_are_pending_stays_as_long_as_they_are_and_no_longer,
        a_context_cached_by_a_live_thread_is_not_kept_alive,
        the_end_of_a_span_that_kept_a_stream_leaves_the_current_context_as_it_is,
        a_stream_that_nothing_keeps_goes_untimed_and_is_counted,
        a_stream_that_the_call_may_replace_goes_untimed_and_is_counted,
        an_argument_may_own_the_last_handle_of_its_stream_and_context,
        an_argument_may_own_the_last_handle_of_its_stream,
        a_call_that_ends_after_its_threads_own_state_gives_its_events_back,
    ]],
);

/// GPU time of each call below. No kernel runs: `w.cpu(NS)` advances the virtual clock between the
/// start and end events on an idle stream, so they are `NS` apart.
const NS: u64 = 1_000;

/// A world with a second device that nothing else uses: its context ends when a test drops it.
fn world() -> World {
    world_with(2)
}

#[gpu_profile]
fn arc_ref(w: &World, _stream: &Arc<CudaStream>) {
    w.cpu(NS);
}

/// A raw stream, as another library provides it.
struct Foreign {
    stream: Arc<CudaStream>,
    tells_context: bool,
}

impl HasStream for Foreign {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        let context = if self.tells_context {
            self.stream.context().cu_ctx().cast()
        } else {
            std::ptr::null_mut()
        };
        // SAFETY: `self` keeps the stream, and spans are given `self` by reference alone.
        Some(unsafe { StreamRef::from_raw(self.stream.cu_stream().cast(), context) })
    }
}

#[gpu_profile]
fn raw(w: &World, _foreign: &Foreign) {
    w.cpu(NS);
}

fn a_raw_handle_is_timed_with_and_without_its_context() {
    let w = world();
    let session = w.session();
    for tells_context in [true, false, true] {
        let stream = w.gpu.another_stream();
        raw(
            &w,
            &Foreign {
                stream,
                tells_context,
            },
        );
    }
    // cudarc's own stream of the same context.
    arc_ref(&w, &w.gpu.stream);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "raw"), (3, 3 * NS, 3 * NS));
    assert_eq!(gpu_times(&profile, "arc_ref"), (1, NS, NS));
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_raw_handle_on_a_thread_without_a_context() {
    let w = world();
    let session = w.session();
    let foreign = Foreign {
        stream: w.gpu.another_stream(),
        tells_context: false,
    };
    std::thread::scope(|scope| {
        scope.spawn(|| raw(&w, &foreign)).join().expect("no panic");
    });
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "raw"), (1, NS, NS));
    assert_eq!(profile.diagnostics.errors, []);
}

/// A kernel of 1 ms, which is still running when the test drops its stream.
#[gpu_profile]
fn long(gpu: &Gpu, stream: &Arc<CudaStream>) {
    gpu.kernel_on(stream, 1_000_000);
}

fn a_context_dropped_while_its_times_are_pending_stays_as_long_as_they_are_and_no_longer() {
    let w = world();
    let before = w.sim.live_contexts();
    let session = w.session();
    {
        let second = Gpu::new(w.sim, 1);
        long(&second, &second.stream);
        long(&second, &second.another_stream());
    }
    // The program has dropped context and streams, and the clock has not moved.
    w.sim.reset_calls();
    until(|| w.sim.calls("cuEventQuery") > 10);
    assert_eq!(w.sim.live_contexts(), before + 1);
    w.cpu(2_000_000);
    let profile = gpuprof::collect();
    assert_eq!(gpu_times(&profile, "long"), (2, 2_000_000, 2_000_000));
    until(|| w.sim.live_contexts() == before);
    // A new context of the device is another context.
    let second = Gpu::new(w.sim, 1);
    long(&second, &second.stream);
    second.context.synchronize().expect("synchronize");
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "long"), (3, 3_000_000, 3_000_000));
    assert_eq!(profile.diagnostics.errors, []);
}

fn a_context_cached_by_a_live_thread_is_not_kept_alive() {
    let w = world();
    let before = w.sim.live_contexts();
    let session = w.session();
    // This thread stays alive, so its cache of contexts is not dropped; the cache must not own the
    // context.
    let ((go, gone), (ended, is_over)) = (channel::<()>(), channel());
    std::thread::scope(|scope| {
        // Dropped when something here panics, so that the thread ends.
        let go = go;
        let w = &w;
        scope.spawn(move || {
            {
                let second = Gpu::new(w.sim, 1);
                gpuprof::with_stream(&second.stream, || arc_ref(w, &second.stream));
                second.context.synchronize().expect("synchronize");
            }
            ended.send(()).expect("the test waits");
            let _ = gone.recv();
        });
        is_over.recv().expect("the thread goes on");
        drop(gpuprof::collect());
        until(|| w.sim.live_contexts() == before);
        drop(go);
    });
    drop(w.finish(session));
}

/// Drops the last handle of its stream and of the stream's context, then makes another context
/// current.
#[gpu_profile]
fn moves_on(stream: Arc<CudaStream>, to: &CudaContext) {
    drop(stream);
    to.bind_to_thread().expect("bind");
}

/// A context of the second device, of which nothing else holds a handle.
fn a_context(primary: bool) -> Arc<CudaContext> {
    if primary {
        return CudaContext::new(1).expect("context");
    }
    let mut handle = std::ptr::null_mut();
    // SAFETY: the handle is writable; no parameters, no flags.
    let made = unsafe { sys::cuCtxCreate_v4(&mut handle, std::ptr::null_mut(), 0, 1) };
    made.result().expect("a context");
    // SAFETY: it was made on this device, and nobody else will destroy it.
    unsafe { CudaContext::from_raw_context(1, 1, handle) }.expect("context")
}

fn the_end_of_a_span_that_kept_a_stream_leaves_the_current_context_as_it_is() {
    let w = world();
    let session = w.session();
    for primary in [true, false] {
        let stream = a_context(primary).new_stream().expect("stream");
        moves_on(stream, &w.gpu.context);
        let current = result::ctx::get_current();
        assert_eq!(current, Ok(Some(w.gpu.context.cu_ctx())), "{primary}");
        // This span is not timed, so that it releases the context at its end.
        let stream = a_context(primary).new_stream().expect("stream");
        w.sim.fail("cuEventRecord", 1, u64::MAX, 2);
        moves_on(stream, &w.gpu.context);
        w.sim.clear_failures();
        let current = result::ctx::get_current();
        assert_eq!(current, Ok(Some(w.gpu.context.cu_ctx())), "{primary}");
    }
    let profile = w.finish(session);
    let function = function(&profile, "moves_on");
    assert_eq!((function.calls, function.untimed.cuda_error), (4, 2));
}

/// A user's type that provides only a raw stream handle, which gpuprof cannot keep alive.
struct Lends {
    stream: Arc<CudaStream>,
}

impl HasStream for Lends {
    fn stream_ref(&self) -> Option<StreamRef<'_>> {
        Some(StreamRef::from(&*self.stream))
    }
}

#[gpu_profile]
fn lends_by_value(lends: Lends, w: &World) {
    drop(lends);
    w.cpu(NS);
}

#[gpu_profile]
fn lends_by_ref(_lends: &Lends, w: &World) {
    w.cpu(NS);
}

#[gpu_profile(stream = lends)]
fn lends_stated(lends: &Lends, w: &World) {
    let _ = lends;
    w.cpu(NS);
}

/// The `&mut` may be assigned another reference, but the one it holds at entry outlives the call.
#[gpu_profile]
fn lends_by_inner_ref(lends: &mut &Lends, other: &'static Lends, w: &World) {
    *lends = other;
    w.cpu(NS);
}

#[gpu_profile]
fn lends_made_before(_stream: StreamRef<'_>, w: &World) {
    w.cpu(NS);
}

/// The object that a stated expression borrows may be dropped before the call ends.
#[gpu_profile(stream = &*lends)]
fn lends_reborrowed(lends: &mut Lends, w: &World) {
    lends.stream = w.gpu.another_stream();
    w.cpu(NS);
}

fn a_stream_that_nothing_keeps_goes_untimed_and_is_counted() {
    let w = world();
    let lends = || Lends {
        stream: w.gpu.another_stream(),
    };
    let session = w.session();
    lends_by_value(lends(), &w);
    lends_by_ref(&lends(), &w);
    lends_stated(&lends(), &w);
    lends_by_inner_ref(&mut &lends(), Box::leak(Box::new(lends())), &w);
    lends_made_before(StreamRef::from(&*w.gpu.another_stream()), &w);
    lends_reborrowed(&mut lends(), &w);
    let profile = w.finish(session);
    for name in ["lends_by_value", "lends_reborrowed"] {
        let untimed = function(&profile, name);
        assert_eq!(
            (untimed.untimed_calls, untimed.untimed.stream_unsafe),
            (1, 1),
            "{name}"
        );
        assert_eq!((&untimed.gpu, untimed.has_stream), (&None, true), "{name}");
    }
    for name in [
        "lends_by_ref",
        "lends_stated",
        "lends_by_inner_ref",
        "lends_made_before",
    ] {
        assert_eq!(gpu_times(&profile, name), (1, NS, NS), "{name}");
    }
    assert_eq!(profile.diagnostics.errors, []);
}

/// The borrow does not keep the stream behind a `&mut` alive: here it is dropped before the call
/// ends.
#[gpu_profile]
fn replaces(lends: &mut Lends, w: &World) {
    lends.stream = w.gpu.another_stream();
    w.cpu(NS);
}

fn a_stream_that_the_call_may_replace_goes_untimed_and_is_counted() {
    let w = world();
    let mut lends = Lends {
        stream: w.gpu.another_stream(),
    };
    let session = w.session();
    replaces(&mut lends, &w);
    let profile = w.finish(session);
    assert_eq!(function(&profile, "replaces").untimed.stream_unsafe, 1);
    assert_eq!(profile.diagnostics.errors, []);
}

#[gpu_profile]
fn consumes_the_last(slice: CudaSlice<f32>, w: &World) {
    w.cpu(NS);
    drop(slice);
    w.cpu(NS);
}

#[gpu_profile]
fn consumes_the_last_stream(stream: Arc<CudaStream>, w: &World) {
    drop(stream);
    w.cpu(NS);
}

fn an_argument_may_own_the_last_handle_of_its_stream_and_context() {
    let w = world();
    let before = w.sim.live_contexts();
    let slice = {
        let context = CudaContext::new(1).expect("context");
        let stream = context.new_stream().expect("stream");
        stream.alloc_zeros::<f32>(4).expect("memory")
    };
    let destroyed = w.sim.calls("cuStreamDestroy_v2");
    let session = w.session();
    consumes_the_last(slice, &w);
    // The function dropped the last owner. The span kept the stream until its end, and the pending
    // sample keeps the context.
    let profile = w.finish(session);
    assert_eq!(
        gpu_times(&profile, "consumes_the_last"),
        (1, 2 * NS, 2 * NS)
    );
    assert_eq!(profile.diagnostics.errors, []);
    // gpuprof releases the context once the times are read.
    until(|| w.sim.live_contexts() == before);
    assert!(w.sim.calls("cuStreamDestroy_v2") > destroyed);
    assert_eq!(w.sim.calls("cuDevicePrimaryCtxRelease_v2"), 1);
}

fn an_argument_may_own_the_last_handle_of_its_stream() {
    let w = world();
    let before = w.sim.live_contexts();
    let stream = {
        let context = CudaContext::new(1).expect("context");
        context.new_stream().expect("stream")
    };
    let session = w.session();
    consumes_the_last_stream(stream, &w);
    let profile = w.finish(session);
    assert_eq!(gpu_times(&profile, "consumes_the_last_stream"), (1, NS, NS));
    assert_eq!(profile.diagnostics.errors, []);
    // gpuprof releases the context once the times are read.
    until(|| w.sim.live_contexts() == before);
}

#[gpu_profile]
async fn waits_for_ever(_stream: &Arc<CudaStream>) {
    std::future::pending().await
}

thread_local! {
    /// A future that a thread keeps until its end.
    static LEFT: RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>> = const { RefCell::new(None) };
}

fn a_call_that_ends_after_its_threads_own_state_gives_its_events_back() {
    let w = world();
    w.warm_up(|| arc_ref(&w, &w.gpu.stream));
    let session = w.session();
    let leave_open = || {
        // Initialized before the thread's first span, so it is dropped after gpuprof's thread
        // state.
        LEFT.with(|left| left.borrow_mut().take());
        let stream = Arc::clone(&w.gpu.stream);
        let mut future = Box::pin(async move { waits_for_ever(&stream).await });
        assert!(support::executor::poll(future.as_mut()).is_pending());
        LEFT.with(|left| *left.borrow_mut() = Some(future));
    };
    let before = w.sim.live_events();
    for _ in 0..200 {
        std::thread::scope(|scope| {
            // Joined explicitly: a scope does not wait until a thread's thread-locals are dropped.
            scope.spawn(leave_open).join().expect("no panic");
        });
        // It waits until the resolver has returned them.
        let _ = gpuprof::collect();
        assert_eq!(w.sim.live_events(), before);
    }
    let profile = session.finish();
    assert_eq!(
        profile.diagnostics.dropped, 200,
        "{:?}",
        profile.diagnostics
    );
    assert_eq!(profile.diagnostics.errors, []);
}
