//! Rules about the host: where it waits for the GPU, and what a first call costs.
//!
//! Must not import another rule.

use super::facts::{self, Candidate, Facts};
use super::rule::{Rule, Threshold, Unit};
use crate::profile::{ApiKind, ApiStats, Finding, FindingRule, Function};
use crate::sanitize;

const WAITS: Threshold = Threshold {
    what: "calls that wait",
    value: 10.0,
    unit: Unit::Count,
    why: "every program waits somewhere for its result; it is the wait in a loop that keeps the GPU from being fed",
};

const WAIT_SHARE: Threshold = Threshold {
    what: "time in them, added up over threads, in the wall time",
    value: 0.05,
    unit: Unit::Share,
    why: "less is not worth a change",
};

/// A function that launches work also waits for it.
pub(super) static SYNCHRONIZATION: Rule = Rule {
    id: FindingRule::Synchronization,
    title: "Synchronization inside a function",
    when: "A function that is not marked `cpu` and has GPU work, its own or of functions inside, calls a function of CUDA that waits \
           for the GPU. One that is marked `cpu` waits on purpose. Its weight is the time in these calls, in which the GPU may \
           have been busy.",
    advice: "Wait once, after the loop, or for an event of the one result that is needed, so that the next work is queued while this \
             runs.",
    thresholds: &[&WAITS, &WAIT_SHARE],
    find: synchronization,
};

fn synchronization(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let found = facts.functions().filter_map(|(_, function)| {
        let work = &function.activity;
        if function.cpu_only || (work.activities == 0 && work.kernels.is_empty()) {
            return None;
        }
        let waits: Vec<&ApiStats> = work.api.iter().filter(|call| call.kind == ApiKind::Sync).collect();
        let ns = waits.iter().fold(0_u64, |sum, call| sum.saturating_add(call.times.total_ns));
        let calls = waits.iter().fold(0_u64, |sum, call| sum.saturating_add(call.times.calls));
        let longest = waits.iter().max_by_key(|call| call.times.total_ns)?;
        let told = WAITS.reached(calls as f64) && WAIT_SHARE.reached_by(ns, facts.profile.wall_ns);
        told.then(|| {
            let others = if waits.len() > 1 { " and others" } else { "" };
            let threads = match function.threads {
                0 | 1 => String::new(),
                many => format!(" of its {many} threads together"),
            };
            let evidence = format!(
                "{}{others} called {}, {} per call of the function: {} in all{threads}, {} of the wall time.",
                sanitize::name(&longest.name),
                facts::counted(calls, "time", "times"),
                facts::mean(calls, function.calls),
                facts::ns(ns),
                facts::percent(ns, facts.profile.wall_ns),
            );
            rule.finding(Some(&function.name), ns, evidence)
        })
    });
    found.collect()
}

const FIRST_TIMES: Threshold = Threshold {
    what: "the first call's CPU time over the median",
    value: 10.0,
    unit: Unit::Times,
    why: "caches and page faults make a first call two or three times as slow; modules and compilation far more",
};

const FIRST_SHARE: Threshold = Threshold {
    what: "what the first call took beyond the median, in the wall time",
    value: 0.02,
    unit: Unit::Share,
    why: "less is not worth a change",
};

const FIRST_LONG: Threshold = Threshold {
    what: "what it took beyond the median",
    value: 1_000_000.0,
    unit: Unit::Ns,
    why: "a shorter start is noise in any program that runs for long",
};

const FIRST_CALLS: Threshold = Threshold {
    what: "calls",
    value: 10.0,
    unit: Unit::Count,
    why: "the median of fewer is not what the others take",
};

/// A first call took far longer than the rest.
pub(super) static FIRST_CALL: Rule = Rule {
    id: FindingRule::FirstCall,
    title: "Slow first call",
    when: "The first call of a function that makes CUDA calls took far longer on the CPU than half of its calls. Its weight is what \
           it took beyond the median.",
    advice: "If it is loading modules or compiling PTX: ship a cubin for the device, keep the driver's cache (CUDA_CACHE_PATH), or \
             make one call before the time counts (CUDA_MODULE_LOADING=EAGER loads kernels with their module).",
    thresholds: &[
        &FIRST_TIMES,
        &FIRST_SHARE,
        &FIRST_LONG,
        &FIRST_CALLS,
        &facts::INNER,
    ],
    find: first_call,
};

fn first_call(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let candidates = facts.functions().filter_map(|(at, function)| {
        first_call_of(rule, facts, at, function).map(|finding| Candidate {
            function: at,
            finding,
        })
    });
    facts.unnested(candidates.collect())
}

fn first_call_of(
    rule: &Rule,
    facts: &Facts<'_>,
    at: usize,
    function: &Function,
) -> Option<Finding> {
    let (first, median) = (function.activity.first_call_ns?, function.cpu.p50_ns);
    let parts = facts.parts(at);
    let api = || parts.iter().flat_map(|(part, _)| &part.activity.api);
    let beyond = first.saturating_sub(median);
    let told = api().next().is_some()
        && FIRST_TIMES.reached_by(first, median)
        && FIRST_SHARE.reached_by(beyond, facts.profile.wall_ns)
        && FIRST_LONG.reached(beyond as f64)
        && FIRST_CALLS.reached(function.calls as f64);
    told.then(|| {
        let modules = api().filter(|call| call.kind == ApiKind::Module);
        let (ns, calls) = modules.fold((0_u64, 0_u64), |(ns, calls), call| {
            (
                ns.saturating_add(call.times.total_ns),
                calls.saturating_add(call.times.calls),
            )
        });
        let cause = if calls > 0 {
            format!(
                "In all its calls and those inside, {} that load modules or kernels took {}; whether the first call made them \
                 is not told.",
                facts::counted(calls, "CUDA call", "CUDA calls"),
                facts::ns(ns),
            )
        } else {
            "None of its CUDA calls that were seen loads a module: the profile does not say why."
                .to_owned()
        };
        let evidence = format!(
            "the first call took {} on the CPU, half of the calls at most {}. {cause}",
            facts::ns(first),
            facts::ns(median),
        );
        rule.finding(Some(&function.name), beyond, evidence)
    })
}
