//! Rules about the host: waits for the GPU, and work between launches.

use super::candidate::FindingCandidate;
use super::host_time::HostTime;
use super::profile_facts::ProfileFacts;
use super::rule::FindingCheck;
use super::thresholds::{
    HOST_BOUND_LAUNCHES, HOST_SHARE, MAIN_CAUSE_SHARE, SPAN_IDLE_SHARE, WAITING_CALLS,
    WAITING_CALLS_OUTSIDE,
};
use super::wording;

pub(super) fn synchronization(
    rule: &FindingCheck,
    facts: &ProfileFacts<'_>,
) -> Vec<FindingCandidate> {
    rule.of_host_times(facts, |time| {
        let function = facts.function(time.function);
        if function.is_some_and(|function| {
            let work = &function.activity;
            function.cpu_only || (work.activities == 0 && work.kernels.is_empty())
        }) {
            return None;
        }
        let waits = &time.waits;
        let many = match function {
            Some(_) => WAITING_CALLS,
            None => WAITING_CALLS_OUTSIDE,
        };
        let applies = many.reached(waits.calls as f64)
            && HOST_SHARE.reached_by(waits.saved_ns, facts.profile.wall_ns);
        applies.then(|| {
            let (name, _) = waits.longest.clone().unwrap_or_default();
            let per_call = wording::per_call(waits.calls, function);
            let evidence = format!(
                "{} idle around {}{per_call}: {}, mean {}",
                idle(facts, time),
                wording::counted(waits.calls, "wait", "waits"),
                wording::name(&name),
                wording::ns(waits.ns / waits.calls.max(1)),
            );
            let advice = "wait once after the loop, not in each of its passes";
            (evidence, advice, waits.saved_ns)
        })
    })
}

pub(super) fn host_bound(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_host_times(facts, |time| {
        let function = facts.profile.functions.get(time.function?)?;
        let work = &function.activity;
        let idle_ns = time.idle_ns.filter(|_| !function.is_async)?;
        let gain = time.outside_cuda_ns.min(idle_ns);
        let applies = SPAN_IDLE_SHARE.reached_by(idle_ns, idle_ns.saturating_add(work.busy_ns?))
            && MAIN_CAUSE_SHARE.reached_by(gain, idle_ns)
            && HOST_BOUND_LAUNCHES.reached(work.launches as f64)
            && HOST_SHARE.reached_by(gain, facts.profile.wall_ns);
        applies.then(|| {
            let evidence = format!(
                "{} idle: the host spends {} per kernel outside of CUDA calls",
                idle(facts, time),
                wording::ns(time.outside_cuda_ns / work.launches.max(1)),
            );
            let (cupti, memory) = (&facts.profile.cupti, &facts.profile.memory);
            let lacks_calls = cupti.as_ref().is_some_and(|cupti| !cupti.all_calls);
            let advice = if lacks_calls && memory.is_none() {
                // Allocations and frees are among the calls that are not recorded.
                "GPUPROF_CUPTI=full shows allocations; else prepare the next call on another \
                 thread"
            } else {
                "prepare the next call on another thread while the GPU works, or on the GPU \
                 itself"
            };
            (evidence, advice, gain)
        })
    })
}

/// How idle the GPU was in a function's spans, or else between the activities of the run.
pub(super) fn idle(facts: &ProfileFacts<'_>, time: &HostTime) -> String {
    let function = facts.function(time.function);
    let work = function.map(|function| &function.activity);
    let (idle_ns, of_ns) = match work.map(|work| (work.idle_ns, work.busy_ns)) {
        Some((Some(idle), Some(busy))) => (idle, idle.saturating_add(busy)),
        _ => (
            facts.idle.map_or(0, |idle| idle.between_ns),
            facts.profile.wall_ns,
        ),
    };
    format!("GPU {}", wording::percent(idle_ns, of_ns))
}
