//! Rules about loading code: modules that are loaded again and again, and slow first calls.

use super::candidate::{About, FindingCandidate};
use super::host_time::first_call_excess_ns;
use super::profile_facts::ProfileFacts;
use super::profile_index::sum;
use super::rule::FindingCheck;
use super::thresholds::{
    FIRST_CALL_CALLS, FIRST_CALL_EXCESS, FIRST_CALL_SHARE, HOST_SHARE, LOADS, LOADS_OUTSIDE,
    LOADS_PER_CALL,
};
use super::wording;
use crate::profile::ApiKind;

pub(super) fn module_loads(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    let wall_ns = facts.profile.wall_ns;
    rule.of_host_times(facts, |time| {
        let function = facts.function(time.function);
        let loads = &time.loads;
        let is_repeated = match function {
            Some(function) => {
                LOADS.reached(loads.calls as f64)
                    && LOADS_PER_CALL.reached_by(loads.calls, function.calls)
            }
            None => LOADS_OUTSIDE.reached(loads.calls as f64),
        };
        (is_repeated && HOST_SHARE.reached_by(loads.saved_ns, wall_ns)).then(|| {
            let per_call = wording::per_call(loads.calls, function);
            let evidence = format!(
                "{} of the wall loads modules: {}{per_call}, {} each",
                wording::percent(loads.ns, wall_ns),
                wording::counted(loads.calls, "load", "loads"),
                wording::ns(loads.ns / loads.calls.max(1)),
            );
            let advice = "load it once with CudaContext::load_module and keep the CudaFunction";
            (evidence, advice, loads.saved_ns)
        })
    })
}

pub(super) fn first_call(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_functions(facts, |at, function| {
        let (first, median) = (function.activity.first_call_ns?, function.cpu.p50_ns);
        let parts = facts.parts(at);
        let api = || parts.iter().flat_map(|(_, part, _)| &part.activity.api);
        let beyond = first_call_excess_ns(function).min(facts.idle?.total_ns);
        let applies = api().next().is_some()
            && FIRST_CALL_SHARE.reached_by(beyond, facts.profile.wall_ns)
            && FIRST_CALL_EXCESS.reached(beyond as f64)
            && FIRST_CALL_CALLS.reached(function.calls as f64);
        applies.then(|| {
            let modules = || api().filter(|call| call.kind == ApiKind::Module);
            let ns = sum(modules(), |call| call.times.total_ns);
            let calls = sum(modules(), |call| call.times.calls);
            let loading = if calls > 0 {
                let calls = wording::counted(calls, "call", "calls");
                format!("; {calls} that load code took {}", wording::ns(ns))
            } else {
                String::new()
            };
            let evidence = format!(
                "{} for the first call, median {}{loading}",
                wording::ns(first),
                wording::ns(median),
            );
            let advice = if calls > 0 {
                "ship a cubin instead of PTX, or make one call before time matters"
            } else {
                "make one call before time matters"
            };
            (About::FirstCall, evidence, advice, beyond)
        })
    })
}
