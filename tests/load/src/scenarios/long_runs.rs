//! Long runs in short: days of virtual time, and the return of CUPTI's correlation ids.

use std::sync::Arc;
use std::thread;

use cudarc::driver::CudaStream;
use gpuprof::profile::Function;
use gpuprof::{CuptiMode, Profile, Sampling, Session, gpu_profile};

use super::gpu::wait_until_timed;
use crate::memory::ResidentMemory;
use crate::scenario::{Memory, Outcome, Size, check_equal, report, session, with_separators};
use support::cupti_world::{cupti, kernels, tier};
use support::{Gpu, World, assert_consistent, function, world};

/// Fewer calls than one thread's queue to the resolver holds.
const BATCH_CALLS: u64 = 2_000;
/// Virtual time that a run takes, in hours.
const HOURS: u64 = 100;
const HOUR_NS: u64 = 3_600_000_000_000;

#[gpu_profile]
fn around(
    _stream: &Arc<CudaStream>,
    inside: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    inside()
}

#[gpu_profile]
fn launch(stream: &Arc<CudaStream>, gpu: &Gpu, ns: u64) {
    gpu.kernel_on(stream, ns);
}

/// Launches of different durations, of which the device is through and the times are read.
fn batch(w: &World, session: &Session) -> Result<u64, String> {
    let durations = (0..BATCH_CALLS).map(|at| 100 + at * at);
    let total_ns = durations.clone().sum();
    durations.for_each(|ns| launch(&w.gpu.stream, &w.gpu, ns));
    w.gpu.context.synchronize().expect("synchronize");
    wait_until_timed(session)?;
    Ok(total_ns)
}

/// One stream for four days: half of its spans in one span that is open for two days, the others
/// by two threads in turn.
pub(super) fn days(size: Size) -> Result<Outcome, String> {
    let w = world();
    let session = session();
    let batches = size.pick(20, 5_000);
    let pause_ns = HOURS * HOUR_NS / batches;
    let mut total_ns = 0;
    let mut growth = 0;
    let mut around_ns = 0;
    around(&w.gpu.stream, || {
        let mut since = ResidentMemory::now();
        for at in 0..batches / 2 {
            let ns = batch(&w, &session)?;
            total_ns += ns;
            around_ns += ns + pause_ns;
            w.cpu(pause_ns);
            if at == batches / 20 {
                since = ResidentMemory::now();
            }
        }
        growth = since.growth();
        // The pause is time of the stream, too.
        launch(&w.gpu.stream, &w.gpu, 1);
        Ok(())
    })?;
    (total_ns, around_ns) = (total_ns + 1, around_ns + 1);
    let mut since = ResidentMemory::now();
    for at in 0..batches / 2 {
        total_ns += match at % 2 {
            0 => batch(&w, &session)?,
            _ => thread::scope(|scope| scope.spawn(|| batch(&w, &session)).join())
                .map_err(|_| "the other thread panicked")??,
        };
        w.cpu(pause_ns);
        if at == batches / 20 {
            since = ResidentMemory::now();
        }
    }
    let growth = growth.max(since.growth());
    let (profile, elapsed) = report(&session)?;
    assert_consistent(&profile);
    let calls = batches * BATCH_CALLS + 1;
    let launches = function(&profile, "scenarios::long_runs::launch");
    check_equal("launches", launches.calls, calls)?;
    check_equal("timed launches", timed(launches), calls)?;
    check_equal("GPU time of launches", gpu_ns(launches), total_ns)?;
    // An elapsed time is a float32 of milliseconds.
    let around_read = gpu_ns(function(&profile, "scenarios::long_runs::around"));
    let step_ns = (around_ns >> 24) + 1;
    if around_read.abs_diff(around_ns) > step_ns {
        return Err(format!("{around_read} ns around, not {around_ns}"));
    }
    Ok(Outcome {
        calls: calls + 1,
        what: format!(
            "simulated device: {HOURS} hours of virtual time, every GPU time exact; report in \
             {elapsed:.1?}"
        ),
        memory: Memory::flat(growth),
    })
}

fn timed(function: &Function) -> u64 {
    function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls)
}

fn gpu_ns(function: &Function) -> u64 {
    function.gpu.as_ref().map_or(0, |gpu| gpu.times.total_ns)
}

/// Launches while CUPTI's correlation ids reach 2³² and begin anew.
pub(super) fn returning_ids(size: Size) -> Result<Outcome, String> {
    let t = tier();
    // A launch at the time at which the window begins would belong to it.
    t.cpu(1_000);
    let session = Session::builder()
        .cupti(CuptiMode::On)
        .sampling(Sampling::EveryCall)
        .start()
        .expect("no other session is open");
    // At first memory grows up to the documented limits of what may wait for records.
    let (warm_up, batches) = size.pick((0, 10), (100, 500));
    // A launch with its events and queries is at least four CUDA calls.
    t.cupti
        .set_correlation(u32::MAX - batches as u32 * BATCH_CALLS as u32 * 2);
    let mut since = ResidentMemory::now();
    let mut profile = Profile::default();
    for at in 0..batches {
        batch(&t.w, &session)?;
        profile = gpuprof::collect();
        if at < warm_up {
            since = ResidentMemory::now();
        }
    }
    let growth = since.growth();
    assert_consistent(&profile);
    let calls = batches * BATCH_CALLS;
    let of_batch: u64 = (0..BATCH_CALLS).map(|at| 100 + at * at).sum();
    match kernels(&profile, "scenarios::long_runs::launch").as_slice() {
        [(_, launches, total_ns)] => {
            check_equal("kernels", *launches, calls)?;
            check_equal("time of kernels", *total_ns, batches * of_batch)?;
        }
        others => return Err(format!("kernels of launches: {others:?}")),
    }
    let cupti = cupti(&profile);
    let missing = [
        cupti.dropped_records,
        cupti.invalid_records,
        cupti.unfinished,
        cupti.late_records,
        cupti.records_without_call,
        cupti.dropped_calls,
        cupti.unattributed,
    ];
    check_equal("missing records", missing.iter().sum(), 0)?;
    Ok(Outcome {
        calls,
        what: format!(
            "simulated device: {} kernels, each attributed to its function",
            with_separators(calls)
        ),
        memory: Memory {
            allowed: size.pick(64 << 20, 1 << 20),
            ..Memory::flat(growth)
        },
    })
}
