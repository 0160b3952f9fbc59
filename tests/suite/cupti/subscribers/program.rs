//! The program that the tests of `subscribers.rs` run, by scenario.

use std::process::ExitCode;

use cudarc::driver::CudaSlice;
use gpuprof::gpu_profile;
use simcupti::Profiler;
use support::cupti_world::{Tier, move_bytes};
use support::graph_capture;
use support::{World, cupti_from_environment, world};

use super::{CONCURRENT_KERNEL, LAUNCH};

/// Kernels of each part of the program.
pub(super) const LAUNCHES: usize = 3;

#[gpu_profile(stream = w.gpu.stream)]
fn launch(w: &World) {
    w.gpu.kernel(10_000);
}

#[gpu_profile(stream = t.gpu.stream)]
fn copy(t: &Tier, buffers: &mut [CudaSlice<u8>; 2]) {
    move_bytes(&t.gpu.stream, buffers, 1_000);
}

#[gpu_profile(stream = t.gpu.stream)]
fn allocate(t: &Tier) -> [CudaSlice<u8>; 2] {
    [1_000, 2_000].map(|bytes| t.gpu.stream.alloc_zeros(bytes).expect("an allocation"))
}

#[gpu_profile(stream = t.gpu.stream)]
fn replay(t: &Tier) {
    let graph = graph_capture::capture(&t.gpu.stream, || {
        graph_capture::model(&t.w, &t.gpu.stream);
    });
    graph_capture::launch(&t.w, &graph, 1_000);
}

fn everything(t: &Tier) {
    let mut buffers = allocate(t);
    launches(t);
    copy(t, &mut buffers);
    replay(t);
    t.synchronize();
}

fn launches(t: &Tier) {
    (0..LAUNCHES).for_each(|_| launch(&t.w));
    t.synchronize();
}

fn profiler(shares: bool) -> Result<Profiler, u32> {
    let profiler = Profiler::subscribe("another", shares)?;
    profiler.enable(CONCURRENT_KERNEL)?;
    profiler.watch(LAUNCH)?;
    Ok(profiler)
}

/// Prints the kernels and launches that a profiler has seen.
fn print(profiler: &Profiler) {
    profiler.flush().expect("a flush");
    println!(
        "{} {}",
        profiler.records(CONCURRENT_KERNEL),
        profiler.callbacks()
    );
}

pub(super) fn run(scenario: &str) -> ExitCode {
    let w = world();
    let cupti = cupti_from_environment::install();
    let t = Tier { w, cupti };
    match scenario {
        "everything" => everything(&t),
        // Before the first call of a profiled function.
        "first" => {
            let profiler = profiler(true).expect("a subscriber");
            launches(&t);
            print(&profiler);
        }
        "hidden nodes" => {
            let profiler = Profiler::subscribe("another", true).expect("a subscriber");
            profiler.hide_graph_nodes().expect("an attribute");
            everything(&t);
        }
        "for a while" => {
            launches(&t);
            let profiler = profiler(true).expect("a subscriber");
            launches(&t);
            print(&profiler);
            profiler.unsubscribe().expect("an end");
            launches(&t);
        }
        "alone first" => {
            let profiler = profiler(false).expect("a subscriber");
            launches(&t);
            print(&profiler);
        }
        _ => panic!("no scenario {scenario}"),
    }
    // Everything is read.
    drop(gpuprof::collect());
    for (symbol, calls) in cupti.calls_by_symbol() {
        eprintln!("called {symbol} {calls}");
    }
    ExitCode::SUCCESS
}
