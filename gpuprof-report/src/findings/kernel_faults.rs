//! How the threads of a warp work together, by hardware counters: on addresses in shared memory, on
//! addresses elsewhere, and on instructions.

use super::measured::MeasuredShares;
use super::profile_index::ProfileIndex;
use super::thresholds::{
    ACCESS_SHARE, CACHE_SHARE, CONFLICT_SHARE, FEW_THREADS, KERNEL_CALLS, MANY_PASSES,
};
use super::wording;
use crate::peak_shares::{Unit, own_samples};
use crate::profile::{CounterValues, FindingRule, KernelStats, Metric};

/// Passes of an access of 16 bytes per thread.
const MEANT_PASSES: f64 = 4.0;

/// What is wrong with a kernel, which also says why a cache limits it.
pub(super) struct KernelFault {
    pub(super) rule: FindingRule,
    pub(super) evidence: String,
    pub(super) advice: &'static str,
    /// The part of its time without which the kernel would still have to do the rest.
    pub(super) lost: f64,
}

/// The fault of each kernel, if it has one.
pub(super) fn kernel_faults(index: &ProfileIndex<'_>) -> Vec<Option<KernelFault>> {
    let kernels = index.profile.kernels.iter();
    kernels.map(|kernel| fault(index, kernel)).collect()
}

fn fault(index: &ProfileIndex<'_>, kernel: &KernelStats) -> Option<KernelFault> {
    let is_often = KERNEL_CALLS.reached(kernel.times.calls as f64);
    let counters = own_samples(kernel.counters.as_deref()).filter(|_| is_often)?;
    let shares = MeasuredShares::of_kernel(index, kernel)?;
    bank_conflicts(counters, &shares)
        .or_else(|| uncoalesced(counters, &shares))
        .or_else(|| divergent(counters, &shares))
}

fn bank_conflicts(counters: &CounterValues, shares: &MeasuredShares) -> Option<KernelFault> {
    let conflicts = counters.mean(Metric::SharedConflicts)?;
    let shared = counters.mean(Metric::SharedThroughput)?;
    let (unit, path) = *shares.all.first()?;
    let applies =
        unit == Unit::Shared && CACHE_SHARE.reached(path) && CONFLICT_SHARE.reached(conflicts);
    // As many passes as 16 bytes per thread need may be meant.
    let repeated = (1.0 - MEANT_PASSES * (1.0 - conflicts)).max(0.0);
    applies.then(|| KernelFault {
        rule: FindingRule::BankConflicts,
        evidence: format!(
            "repeats {} of the passes of shared memory, which is at {} of its peak",
            wording::share(conflicts),
            wording::share(path),
        ),
        advice: "pad rows by one element, or have neighbouring threads use neighbouring words",
        lost: 1.0
            - nearest_of(shares, |unit| unit != Unit::Shared).max(path - shared * repeated) / path,
    })
}

fn uncoalesced(counters: &CounterValues, shares: &MeasuredShares) -> Option<KernelFault> {
    let passes = counters.mean(Metric::AccessPasses)?;
    let shared = counters.mean(Metric::SharedThroughput)?;
    let path = counters.mean(Metric::L1Throughput)?;
    let (unit, nearest) = *shares.all.first()?;
    let computes = is_arithmetic(unit) && CACHE_SHARE.reached(nearest);
    let applies = !computes && MANY_PASSES.reached(passes) && ACCESS_SHARE.reached(path - shared);
    applies.then(|| KernelFault {
        rule: FindingRule::UncoalescedAccess,
        evidence: format!(
            "loads and stores in {passes:.1} passes each: addresses in a warp are far apart"
        ),
        advice: "have neighbouring threads use neighbouring addresses, or load tiles into shared \
                 memory",
        lost: 1.0
            - (MEANT_PASSES / passes)
                .max(shares.memory)
                .max(nearest_of(shares, is_arithmetic)),
    })
}

fn divergent(counters: &CounterValues, shares: &MeasuredShares) -> Option<KernelFault> {
    let threads = counters.mean(Metric::ThreadsActive)?;
    let (unit, nearest) = *shares.all.first()?;
    let applies =
        is_arithmetic(unit) && CACHE_SHARE.reached(nearest) && !FEW_THREADS.reached(threads);
    applies.then(|| KernelFault {
        rule: FindingRule::Divergence,
        evidence: format!(
            "executes its instructions for {:.1} of 32 threads, with {unit} at {} of its peak",
            32.0 * threads,
            wording::share(nearest),
        ),
        advice: "have the threads of a warp take the same branches and rounds: sort or split the \
                 work",
        lost: 1.0
            - nearest_of(shares, |unit| !is_arithmetic(unit)).max(threads * nearest) / nearest,
    })
}

fn is_arithmetic(unit: Unit) -> bool {
    matches!(
        unit,
        Unit::Issue | Unit::Tensor | Unit::Fp64 | Unit::Alu | Unit::Xu
    )
}

/// The nearest peak of these units.
fn nearest_of(shares: &MeasuredShares, is_one: impl Fn(Unit) -> bool) -> f64 {
    let mut units = shares.all.iter();
    units
        .find(|(unit, _)| is_one(*unit))
        .map_or(0.0, |(_, share)| *share)
}
