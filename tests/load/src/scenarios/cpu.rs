//! Many calls without GPU work.

use std::thread;

use gpuprof::gpu_profile;

use crate::memory::ResidentMemory;
use crate::scenario::{Memory, Outcome, Size, check_equal, report, session};
use support::{assert_consistent, function};

#[gpu_profile(cpu)]
fn outer(calls: u64) {
    for _ in 0..calls {
        inner();
    }
}

#[gpu_profile(cpu)]
fn inner() {}

/// Loops of spans on two threads, in which every hundredth span encloses the others.
pub(super) fn spans(size: Size) -> Result<Outcome, String> {
    const INSIDE: u64 = 99;
    const THREADS: u64 = 2;
    let session = session();
    let make = |calls: u64| {
        let calls = calls / THREADS;
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..calls / (INSIDE + 1)).for_each(|_| outer(INSIDE)));
            }
        });
    };
    let (warm_up, calls) = size.pick((10_000, 1_000_000), (1_000_000, 1_000_000_000));
    make(warm_up);
    report(&session)?;
    let since = ResidentMemory::now();
    make(calls);
    let growth = since.growth();
    let (profile, elapsed) = report(&session)?;
    assert_consistent(&profile);
    let all = warm_up + calls;
    check_equal("calls", profile.diagnostics.calls, all)?;
    check_equal(
        "of inner",
        function(&profile, "scenarios::cpu::inner").calls,
        all / 100 * 99,
    )?;
    check_equal(
        "dropped",
        profile.diagnostics.dropped + profile.diagnostics.histogram_dropped,
        0,
    )?;
    Ok(Outcome {
        calls: all,
        what: format!("every call counted; report in {elapsed:.1?}"),
        memory: Memory::flat(growth),
    })
}
