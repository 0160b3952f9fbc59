//! Promise: ten thousand GLOBAL captures succeed while other threads run spans at full speed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUgraphInstantiate_flags as Flags;
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use gpuprof::{gpu_profile, scope};
use support::suite::Module;
use support::tests;
use support::{World, function, gpu, until, world};

pub(crate) const MODULE: Module = Module::new(
    module_path!(),
    &[tests![ten_thousand_captures_succeed_beside_spans,]],
);

const CAPTURES: u64 = 10_000;
/// The graph is launched once in this many captures.
const LAUNCHED: u64 = 10;

#[gpu_profile]
fn outside(w: &World, stream: &Arc<CudaStream>, depth: u32) {
    // Occasionally so deep that the pool must grow.
    if depth > 0 {
        outside(w, stream, depth - 1);
    } else {
        scope!("innermost", stream);
        w.gpu.kernel_on(stream, 10);
    }
}

#[gpu_profile]
fn captured(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 10);
}

fn ten_thousand_captures_succeed_beside_spans() {
    let w = world();
    let (stop, spans) = (AtomicBool::new(false), AtomicU64::new(0));
    let stream = w.gpu.another_stream();
    let session = w.session();
    thread::scope(|scope| {
        let (w, stop, spans) = (&w, &stop, &spans);
        for _ in 0..2 {
            let free = w.gpu.another_stream();
            scope.spawn(move || {
                for round in 0_u32.. {
                    if stop.load(Relaxed) {
                        break;
                    }
                    outside(w, &free, if round % 64 == 0 { 60 } else { 1 });
                    spans.fetch_add(1, Relaxed);
                    // Advances the virtual clock past the kernels, so that their events complete.
                    w.cpu(1_000);
                }
            });
        }
        until(|| spans.load(Relaxed) > 0);
        for round in 0..CAPTURES {
            stream
                .begin_capture(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL)
                .expect("begin");
            captured(w, &stream);
            let graph = stream.end_capture(Flags(0));
            let graph = graph.unwrap_or_else(|error| panic!("capture {round}: {error:?}"));
            let graph = graph.expect("a graph");
            if round % LAUNCHED == 0 {
                graph.launch().expect("launch");
            }
        }
        stop.store(true, Relaxed);
    });
    let profile = w.finish(session);
    assert_eq!(function(&profile, "captured").captured_calls, CAPTURES);
    assert!(gpu(&profile, "outside").timed_calls > 0);
    assert_eq!(profile.diagnostics.errors, []);
}
