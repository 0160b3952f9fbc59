//! A rank of a job, which the tests of `step_windows.rs` run as a process.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use gpuprof::gpu_profile;

use super::Job;

const RANKS: u64 = 3;
const STEPS: u64 = 100;

/// Time of a rank's kernels in a step, ns: rank 1 is slow from step 41 to 60.
fn compute_ns(rank: u64, step: u64) -> u64 {
    let is_slow = rank == 1 && (41..=60).contains(&step);
    if is_slow { 1_300 } else { 1_000 }
}

#[gpu_profile]
fn compute(job: &Job, stream: &Arc<CudaStream>, ns: u64) {
    job.t.gpu.kernel_on(stream, ns);
}

pub(super) fn run(_: &str) -> ExitCode {
    let rank = std::env::var("RANK")
        .ok()
        .and_then(|rank| rank.parse().ok());
    let rank: u64 = rank.expect("a rank");
    let job = Job::new();
    for step in 1..=STEPS {
        let own_ns = compute_ns(rank, step);
        let latest_ns = (0..RANKS).map(|rank| compute_ns(rank, step)).max();
        compute(&job, job.stream(), own_ns);
        job.all_reduce(latest_ns.map_or(0, |latest| latest - own_ns) + 20);
        job.t.synchronize();
        gpuprof::step();
    }
    job.t.cpu(1_000);
    ExitCode::SUCCESS
}
