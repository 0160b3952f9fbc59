//! Many calls that have no GPU part.

use gpuprof::gpu_profile;

use crate::memory::Since;
use crate::scenario::{Form, Memory, Seen, report, same, session};
use support::{assert_consistent, function};

#[gpu_profile(cpu)]
fn outer(calls: u64) {
    for _ in 0..calls {
        inner();
    }
}

#[gpu_profile(cpu)]
fn inner() {}

/// A loop of spans, every hundredth around the others.
pub(super) fn spans(form: Form) -> Result<Seen, String> {
    const INSIDE: u64 = 99;
    let session = session();
    let make = |calls: u64| (0..calls / (INSIDE + 1)).for_each(|_| outer(INSIDE));
    let (warm_up, calls) = form.pick((10_000, 1_000_000), (1_000_000, 100_000_000));
    make(warm_up);
    report(&session)?;
    let since = Since::now();
    make(calls);
    let growth = since.growth();
    let (profile, took) = report(&session)?;
    assert_consistent(&profile);
    let all = warm_up + calls;
    same("calls", profile.diagnostics.calls, all)?;
    same(
        "of inner",
        function(&profile, "scenarios::cpu::inner").calls,
        all / 100 * 99,
    )?;
    same(
        "dropped",
        profile.diagnostics.dropped + profile.diagnostics.histogram_dropped,
        0,
    )?;
    Ok(Seen {
        calls: all,
        what: format!("every call counted; report in {took:.1?}"),
        memory: Memory::flat(growth),
    })
}
