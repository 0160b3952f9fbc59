//! One rank of a job on the simulated device. Each line of its standard input is a number of
//! requests to serve; it answers with a line once their GPU times are read, and ends with its
//! input. The requests of the second rank take twice as long. The line `many` calls 500 functions.

mod many_functions;

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;
use support::Gpu;

fn main() -> io::Result<()> {
    let sim = simcuda::install().expect("the simulated driver is built");
    let gpu = Gpu::new(sim, 0);
    let rank: u64 = std::env::var("RANK").map_or(0, |rank| rank.parse().expect("a number"));
    let mut served = 0;
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line == "many" {
            many_functions::call_all(&gpu);
        }
        for _ in 0..line.parse().unwrap_or(0) {
            request(&gpu, &gpu.stream, rank, served);
            served += 1;
        }
        gpu.context.synchronize().expect("synchronize");
        let _ = gpuprof::collect();
        writeln!(io::stdout(), "served {served}")?;
    }
    Ok(())
}

/// From 20 µs to 2 ms on the GPU, and twice that on the second rank.
#[gpu_profile]
fn request(gpu: &Gpu, stream: &Arc<CudaStream>, rank: u64, number: u64) {
    prepare();
    let ns = 20_000 * (1 + number % 100) * (1 + rank);
    gpu.kernel_on(stream, ns);
    // Each request finds an idle stream, so that its GPU span is its own.
    gpu.context.synchronize().expect("synchronize");
}

#[gpu_profile(cpu)]
fn prepare() {
    let began = Instant::now();
    while began.elapsed() < Duration::from_micros(20) {
        std::hint::spin_loop();
    }
}
