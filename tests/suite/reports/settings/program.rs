//! The program that the tests of `settings.rs` run, by scenario.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::{World, world};

pub(super) const STDOUT: &str = "done\n";

#[gpu_profile(name = "conv/forward")]
fn forward(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 10_000);
    w.cpu(2_000);
}

#[gpu_profile(name = "conv/backward")]
fn backward(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 30_000);
    w.cpu(500);
}

#[gpu_profile]
fn pool(w: &World, stream: &Arc<CudaStream>) {
    w.gpu.kernel_on(stream, 35_000);
    w.cpu(20_000);
}

#[gpu_profile(name = "inherits")]
fn without_a_stream(w: &World) {
    w.gpu.kernel(1_000);
}

#[gpu_profile(cpu)]
fn load(w: &World) {
    w.cpu(3_000);
}

pub(super) fn run(scenario: &str) -> ExitCode {
    let w = world();
    let stream = &w.gpu.stream;
    match scenario {
        // Every sort order gives a different row order; the stream is never idle, so each event
        // pair measures only its kernel.
        "work" => {
            (0..2).for_each(|_| backward(&w, stream));
            (0..4).for_each(|_| forward(&w, stream));
            pool(&w, stream);
            (0..8).for_each(|_| load(&w));
        }
        // `with_stream` is the first gpuprof call in this process.
        "default-stream" => gpuprof::with_stream(stream, || {
            (0..10).for_each(|_| without_a_stream(&w));
        }),
        "many" => (0..400).for_each(|_| forward(&w, stream)),
        "steps" => run_seven_steps(&w, stream),
        // The virtual clock stands still at the end, so that the kernel never finishes.
        "queued" => {
            forward(&w, stream);
            print!("{STDOUT}");
            std::process::exit(0);
        }
        _ => panic!("no scenario {scenario}"),
    }
    stream.synchronize().expect("synchronize");
    print!("{STDOUT}");
    ExitCode::SUCCESS
}

/// Each step takes 10,000 ns: its call begins with the launch of the kernel, and the step waits for
/// the kernel's end.
fn run_seven_steps(w: &World, stream: &Arc<CudaStream>) {
    (0..7).for_each(|_| {
        forward(w, stream);
        stream.synchronize().expect("synchronize");
        gpuprof::step();
    });
}
