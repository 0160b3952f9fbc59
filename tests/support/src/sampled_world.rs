//! A world whose hardware counters are sampled: each kernel reads 6 MB and writes 2 MB, and three
//! of four sectors that it asks the L2 cache for are there.

use crate::Gpu;
use crate::cupti_world::{Tier, builder, tier, work};
use gpuprof::profile::{CounterValues, DeviceCounters, Metric};
use gpuprof::{Profile, Session, gpu_profile};
use simcupti::KernelCounters;

/// What `GPUPROF_COUNTERS` begins with, ns.
pub const INTERVAL_NS: u64 = 100_000;
/// A time of a kernel in which 20 samples fit.
pub const KERNEL_NS: u64 = 20 * INTERVAL_NS;

#[gpu_profile(name = "first", stream = gpu.stream)]
pub fn first(gpu: &Gpu, ns: u64) {
    gpu.kernel(ns);
}

#[gpu_profile(name = "second", stream = gpu.stream)]
pub fn second(gpu: &Gpu, ns: u64) {
    gpu.kernel(ns);
}

/// A world in which each kernel reads 6 MB and writes 2 MB, whatever time it takes.
pub fn sampled_world() -> Tier {
    with_counters(tier())
}

pub fn with_counters(t: Tier) -> Tier {
    let counters = KernelCounters {
        dram_read: 6_000_000,
        dram_write: 2_000_000,
        sm_active: 0.75,
        tensor_active: 0.25,
        issue_rate: 0.5,
        fp64_active: 0.125,
        l2_throughput: 0.375,
        l1_throughput: 0.625,
        alu_active: 0.0625,
        xu_active: 0.875,
        warps_active: 0.6875,
        shared_throughput: 0.25,
        instructions: 1_000_000,
        thread_instructions: 24_000_000,
        accesses: 100_000,
        passes: 1_200_000,
        shared_passes: 400_000,
        conflicts: 300_000,
        l2_sectors: 400_000,
        l2_hits: 300_000,
    };
    t.cupti.set_counters(kernels::SAXPY, counters);
    t
}

pub fn session(t: &Tier) -> Session {
    t.cpu(1_000);
    let builder = builder().counters(true);
    builder.start().expect("no other session is open")
}

/// Begins sampling, and passes the first sample, which is discarded.
pub fn begin(t: &Tier) {
    first(&t.gpu, 1_000);
    t.synchronize();
    t.cpu(2 * INTERVAL_NS);
}

pub fn values<'a>(profile: &'a Profile, name: &str) -> &'a CounterValues {
    let values = work(profile, name).counters.as_deref();
    values.unwrap_or_else(|| panic!("{name} has no samples"))
}

pub fn device(profile: &Profile) -> &DeviceCounters {
    let [device] = &profile.counters[..] else {
        panic!("one device: {:?}", profile.counters)
    };
    device
}

/// The only note of a profile.
pub fn note(profile: &Profile) -> &str {
    let [note] = &profile.diagnostics.notes[..] else {
        panic!("one note: {:?}", profile.diagnostics.notes)
    };
    note
}

/// Whether a mean is `expected`, but for the rounding of sums.
#[track_caller]
pub fn assert_mean(values: &CounterValues, metric: Metric, expected: f64) {
    let mean = values.mean(metric).expect("it was sampled");
    let is_near = (mean - expected).abs() <= 1e-6 * expected.abs();
    assert!(is_near, "{metric}: {mean}, expected {expected}");
}
