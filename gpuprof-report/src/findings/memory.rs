//! Rules about memory: allocations, memsets, and local memory of kernels.

use super::candidate::{About, FindingCandidate};
use super::profile_facts::ProfileFacts;
use super::profile_index::{kernel_ns, scaled, sum};
use super::rule::FindingCheck;
use super::thresholds::{
    ALLOCATIONS, HOST_SHARE, KERNEL_CALLS, LOCAL_BYTES, LOCAL_SHARE, MEMSET_SHARE, MEMSETS,
};
use super::wording;
use crate::profile::{ApiKind, CopyKind, CopyStats, Function, KernelStats, MemoryTotals};

pub(super) fn allocation_churn(
    rule: &FindingCheck,
    facts: &ProfileFacts<'_>,
) -> Vec<FindingCandidate> {
    let wall_ns = facts.profile.wall_ns;
    rule.of_host_times(facts, |time| {
        let memory = &time.memory;
        let applies = ALLOCATIONS.reached(memory.calls as f64)
            && HOST_SHARE.reached_by(memory.saved_ns, wall_ns);
        applies.then(|| {
            let function = facts.function(time.function);
            let per_call = wording::per_call(memory.calls, function);
            let (name, _) = memory.longest.clone().unwrap_or_default();
            let evidence = format!(
                "{} of the wall in {} allocations and frees{per_call}{}, most in {}",
                wording::percent(memory.ns, wall_ns),
                wording::count(memory.calls),
                function.map_or_else(String::new, sizes),
                wording::name(&name),
            );
            let advice = "call CudaStream::alloc once before the loop and reuse the CudaSlice";
            (evidence, advice, memory.saved_ns)
        })
    })
}

/// The mean size of what a function allocates, if its memory was recorded.
fn sizes(function: &Function) -> String {
    let mut all = MemoryTotals::default();
    (function.memory.iter()).for_each(|memory| all.add(&memory.inclusive));
    match all.allocated_bytes.checked_div(all.allocations) {
        Some(bytes) => format!(" of {} on average", wording::bytes(bytes)),
        None => String::new(),
    }
}

pub(super) fn memsets(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_functions(facts, |at, function| {
        let own = function.activity.copies.iter();
        let memsets: Vec<&CopyStats> = own.filter(|own| own.kind == CopyKind::Memset).collect();
        let calls = sum(memsets.iter().copied(), |memsets| memsets.times.calls);
        let ns = sum(memsets.iter().copied(), |memsets| memsets.times.total_ns);
        let (kernels_ns, kernels) = kernels_inside(facts, at);
        let applies = MEMSET_SHARE.reached_by(ns, kernels_ns) && MEMSETS.reached(calls as f64);
        applies.then(|| {
            let evidence = format!(
                "{} of its GPU time in memsets: {} beside {}",
                wording::percent(ns, ns.saturating_add(kernels_ns)),
                wording::counted(calls, "memset", "memsets"),
                wording::counted(kernels, "kernel", "kernels"),
            );
            let calls = function
                .activity
                .api
                .iter()
                .filter(|call| call.kind == ApiKind::Memset);
            let idle_ns = facts.idle.map_or(0, |idle| idle.between_ns);
            let queued_ns = sum(calls, |call| call.times.total_ns).min(idle_ns);
            let gain = sum(memsets, exposed_ns).max(queued_ns);
            let advice = "CudaStream::alloc instead of alloc_zeros where a kernel writes every \
                          element";
            (About::Separate, evidence, advice, gain)
        })
    })
}

/// Time and number of the kernels of a function and its nested functions.
fn kernels_inside(facts: &ProfileFacts<'_>, at: usize) -> (u64, u64) {
    let parts = facts.parts(at).into_iter();
    parts.fold((0, 0), |(ns, calls), (_, part, share)| {
        let kernels = &part.activity.kernels;
        let launches = sum(kernels, |kernel| kernel.times.calls);
        (
            scaled(kernel_ns(kernels), share).saturating_add(ns),
            scaled(launches, share).saturating_add(calls),
        )
    })
}

/// Time of copies or memsets while no kernel ran, ns; all of it if that is unknown.
pub(super) fn exposed_ns(copies: &CopyStats) -> u64 {
    let total = copies.times.total_ns;
    copies
        .exposed_ns
        .map_or(total, |exposed| exposed.min(total))
}

pub(super) fn local_memory(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_kernels(facts, |_, kernel| {
        let share = local_share(kernel);
        let applies = LOCAL_BYTES.reached(kernel.local_bytes_per_thread)
            && LOCAL_SHARE.reached(share)
            && KERNEL_CALLS.reached(kernel.times.calls as f64);
        applies.then(|| {
            let evidence = format!(
                "{} of GPU time: {} uses {} B local memory per thread",
                wording::percent(kernel.times.total_ns, facts.activity_ns),
                wording::kernel_name(kernel),
                wording::count(kernel.local_bytes_per_thread.into()),
            );
            let advice = "avoid spills (ptxas -v, __launch_bounds__) and arrays with a computed \
                          index";
            let gain = scaled(facts.device_ns(kernel), share);
            (evidence, advice, gain)
        })
    })
}

/// Local memory over registers and local memory of a thread.
fn local_share(kernel: &KernelStats) -> f64 {
    let local = f64::from(kernel.local_bytes_per_thread);
    local / (local + 4.0 * f64::from(kernel.registers)).max(1.0)
}
