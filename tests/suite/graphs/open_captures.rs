//! Promise: spans never invalidate an open capture, whatever the driver counts as potentially
//! unsafe; a span that could, makes no driver call first.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use cudarc::driver::{CudaStream, result, sys};
use gpuprof::gpu_profile;
use promises::graphs::MODES;
use simcuda::Sim;
use support::foreign_context::{ForeignContext, RawStream};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, gpu_times, until, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![
        nothing_rests_on_what_documents_leave_open,
        a_captured_stream_of_an_unknown_context_is_asked_for_nothing_else,
        the_null_stream_beside_the_capture_of_a_blocking_one,
    ]],
);

/// Functions that gpuprof calls and that no documentation declares safe during a capture.
const OPEN: [&str; 13] = [
    "cuCtxGetDevice",
    "cuCtxGetId",
    "cuDeviceGetAttribute",
    "cuDeviceGetName",
    "cuDeviceGetUuid_v2",
    "cuDeviceTotalMem_v2",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime_v2",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamGetCtx",
];

/// Declares all of them potentially unsafe until it is dropped.
struct Worst(Sim);

impl Worst {
    fn case(sim: Sim) -> Self {
        OPEN.iter()
            .for_each(|name| sim.forbid_during_capture(name, true));
        Self(sim)
    }
}

impl Drop for Worst {
    fn drop(&mut self) {
        OPEN.iter()
            .for_each(|name| self.0.forbid_during_capture(name, false));
    }
}

#[gpu_profile]
fn layer(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 1_000);
}

#[gpu_profile]
fn nested(w: &World, stream: &Arc<CudaStream>, depth: u32) {
    match depth {
        0 => layer(w, stream),
        _ => nested(w, stream, depth - 1),
    }
}

#[gpu_profile]
fn lent(_lent: &RawStream, inside: impl FnOnce()) {
    inside();
}

fn nothing_rests_on_what_documents_leave_open() {
    let w = world();
    let (captured, free) = (w.gpu.another_stream(), w.gpu.another_stream());
    for mode in MODES {
        let others =
            [true, false].map(|tells| (ForeignContext::new(w.sim).expect("a context"), tells));
        w.gpu.context.bind_to_thread().expect("bind");
        let session = w.session();
        free.begin_capture(mode).expect("begin");
        layer(&w, &free);
        let former = free.end_capture(Flags(0)).expect("the capture is whole");
        let worst = Worst::case(w.sim);
        captured.begin_capture(mode).expect("begin");
        layer(&w, &captured);
        // Another graph is launched and destroyed during the capture.
        let former = former.expect("a graph");
        former.launch().expect("launch");
        drop(former);
        // More open spans than the pool has pairs: events are created during the capture, on the
        // capturing thread.
        nested(&w, &free, 200);
        // Contexts that gpuprof sees for the first time.
        for (other, tells_context) in &others {
            lent(&other.raw_stream(other.stream, *tells_context), || ());
        }
        w.cpu(1_000_000);
        until(|| session.snapshot().diagnostics.timed_calls >= 204);
        let graph = captured.end_capture(Flags(0));
        drop(worst);
        assert!(graph.expect("the capture is whole").is_some(), "{mode:?}");
        let profile = w.finish(session);
        assert_eq!(gpu(&profile, "nested").timed_calls, 201, "{mode:?}");
        assert_eq!(gpu(&profile, "lent").timed_calls, 2, "{mode:?}");
        assert_eq!(function(&profile, "layer").captured_calls, 2);
        assert_eq!(profile.diagnostics.errors, [], "{mode:?}");
    }
}

/// Captures on a raw stream of the current context.
fn capture(stream: sys::CUstream, mode: Mode, inside: impl FnOnce()) {
    // SAFETY: the stream is alive.
    unsafe { result::stream::begin_capture(stream, mode) }.expect("begin");
    inside();
    // SAFETY: as above.
    unsafe { result::stream::end_capture(stream) }.expect("the capture is whole");
}

fn a_captured_stream_of_an_unknown_context_is_asked_for_nothing_else() {
    let w = world();
    for mode in MODES {
        let other = ForeignContext::new(w.sim).expect("a context");
        let session = w.session();
        other.with_current(|| {
            capture(other.stream, mode, || {
                w.sim.reset_calls();
                lent(&other.raw_stream(other.stream, false), || ());
                assert_eq!(w.sim.calls_here("cuStreamIsCapturing"), 1);
                for name in ["cuStreamGetCtx", "cuStreamGetId", "cuEventRecord"] {
                    assert_eq!(w.sim.calls_here(name), 0, "{name}");
                }
            });
        });
        let profile = w.finish(session);
        assert_eq!(function(&profile, "lent").captured_calls, 1);
        assert_eq!(profile.diagnostics.errors, []);
    }
}

fn the_null_stream_beside_the_capture_of_a_blocking_one() {
    let w = world();
    let other = ForeignContext::new(w.sim).expect("a context");
    let null = other.raw_stream(ptr::null_mut(), true);
    for mode in MODES {
        let session = w.session();
        other.with_current(|| {
            // Any query of the null stream except cuStreamIsCapturing would invalidate the capture.
            capture(other.blocking, mode, || lent(&null, || ()));
            // One span starts before the capture and ends in it, another starts in it and ends
            // after it.
            lent(&null, || {
                // SAFETY: the stream is alive.
                unsafe { result::stream::begin_capture(other.blocking, mode) }.expect("begin");
            });
            lent(&null, || {
                // SAFETY: as above.
                unsafe { result::stream::end_capture(other.blocking) }.expect("it is whole");
            });
            lent(&null, || other.kernel(null.stream, 900).expect("launch"));
        });
        other.synchronize().expect("synchronize");
        w.cpu(1_000);
        let profile = w.finish(session);
        assert_eq!(gpu_times(&profile, "lent"), (1, 900, 900), "{mode:?}");
        assert_eq!(function(&profile, "lent").captured_calls, 3);
        assert_eq!(profile.diagnostics.errors, []);
    }
}
