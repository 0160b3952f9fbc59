//! Rules about the host: waits for the GPU, and slow first calls.

use super::profile_facts::{self, Candidate, Facts};
use super::rule::Rule;
use super::threshold::{Threshold, Unit};
use super::wording;
use crate::profile::{ApiKind, ApiStats, Finding, FindingRule, Function};
use crate::sanitize;

const WAITING_CALLS: Threshold = Threshold {
    what: "calls that wait for the GPU",
    value: 10.0,
    unit: Unit::Count,
    why: "every program waits somewhere for its result; a wait inside a loop is what starves the \
          GPU",
};

const WAIT_SHARE: Threshold = Threshold {
    what: "share of the time in these calls, summed over threads, in the wall time",
    value: 0.05,
    unit: Unit::Share,
    why: "a smaller share is not worth a change",
};

pub(super) static SYNCHRONIZATION: Rule = Rule {
    id: FindingRule::Synchronization,
    title: "Synchronization inside a function",
    when: "A function that is not marked `cpu` and has GPU work, its own or that of nested \
           functions, calls a CUDA function that waits for the GPU. A function marked `cpu` waits \
           on purpose. The weight is the time in these calls, during which the GPU may have been \
           busy.",
    advice: "Wait once after the loop, or for an event behind the one result that is needed, so \
             that the next work is queued while this runs.",
    thresholds: &[&WAITING_CALLS, &WAIT_SHARE],
    find: synchronization,
};

fn synchronization(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let found = facts.functions().filter_map(|(_, function)| {
        let work = &function.activity;
        if function.cpu_only || (work.activities == 0 && work.kernels.is_empty()) {
            return None;
        }
        let waits: Vec<&ApiStats> = work
            .api
            .iter()
            .filter(|call| call.kind == ApiKind::Sync)
            .collect();
        let ns = waits
            .iter()
            .fold(0_u64, |sum, call| sum.saturating_add(call.times.total_ns));
        let calls = waits
            .iter()
            .fold(0_u64, |sum, call| sum.saturating_add(call.times.calls));
        let longest = waits.iter().max_by_key(|call| call.times.total_ns)?;
        let applies =
            WAITING_CALLS.reached(calls as f64) && WAIT_SHARE.reached_by(ns, facts.profile.wall_ns);
        applies.then(|| {
            let others = if waits.len() > 1 { " and others" } else { "" };
            let threads = match function.threads {
                0 | 1 => String::new(),
                many => format!(" of its {many} threads together"),
            };
            let evidence = format!(
                "{}{others} called {}, {} per call of the function: {} in all{threads}, {} of the \
                 wall time.",
                sanitize::name(&longest.name),
                wording::counted(calls, "time", "times"),
                wording::mean(calls, function.calls),
                wording::ns(ns),
                wording::percent(ns, facts.profile.wall_ns),
            );
            rule.finding(Some(&function.name), ns, evidence)
        })
    });
    found.collect()
}

const FIRST_CALL_RATIO: Threshold = Threshold {
    what: "CPU time of the first call over the median",
    value: 10.0,
    unit: Unit::Times,
    why: "cold caches and page faults make a first call two or three times as slow; loading \
          modules and compiling far more",
};

const FIRST_CALL_SHARE: Threshold = Threshold {
    what: "share of the first call's time beyond the median in the wall time",
    value: 0.02,
    unit: Unit::Share,
    why: "a smaller share is not worth a change",
};

const FIRST_CALL_EXCESS: Threshold = Threshold {
    what: "time of the first call beyond the median",
    value: 1_000_000.0,
    unit: Unit::Ns,
    why: "a shorter start is noise in a program that runs for long",
};

const FIRST_CALL_CALLS: Threshold = Threshold {
    what: "calls",
    value: 10.0,
    unit: Unit::Count,
    why: "the median of fewer calls does not represent the others",
};

pub(super) static FIRST_CALL: Rule = Rule {
    id: FindingRule::FirstCall,
    title: "Slow first call",
    when: "The first call of a function that makes CUDA calls took far longer on the CPU than the \
           median. The weight is its time beyond the median. Without `GPUPROF_CUPTI=full`, a \
           function that only allocates, frees or looks up kernels is not seen to make any.",
    advice: "If it loads modules or compiles PTX: ship a cubin for the device, keep the driver's \
             cache (CUDA_CACHE_PATH), or make one call before time matters \
             (CUDA_MODULE_LOADING=EAGER loads kernels with their module).",
    thresholds: &[
        &FIRST_CALL_RATIO,
        &FIRST_CALL_SHARE,
        &FIRST_CALL_EXCESS,
        &FIRST_CALL_CALLS,
        &profile_facts::NESTED_SHARE,
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
    let applies = api().next().is_some()
        && FIRST_CALL_RATIO.reached_by(first, median)
        && FIRST_CALL_SHARE.reached_by(beyond, facts.profile.wall_ns)
        && FIRST_CALL_EXCESS.reached(beyond as f64)
        && FIRST_CALL_CALLS.reached(function.calls as f64);
    applies.then(|| {
        let modules = api().filter(|call| call.kind == ApiKind::Module);
        let (ns, calls) = modules.fold((0_u64, 0_u64), |(ns, calls), call| {
            (
                ns.saturating_add(call.times.total_ns),
                calls.saturating_add(call.times.calls),
            )
        });
        let cause = if calls > 0 {
            format!(
                "In all its calls and those inside, {} that load modules or kernels took {}; \
                 whether the first call made them is not told.",
                wording::counted(calls, "CUDA call", "CUDA calls"),
                wording::ns(ns),
            )
        } else {
            "None of its recorded CUDA calls loads a module: the profile does not say why."
                .to_owned()
        };
        let evidence = format!(
            "the first call took {} on the CPU, half of the calls at most {}. {cause}",
            wording::ns(first),
            wording::ns(median),
        );
        rule.finding(Some(&function.name), beyond, evidence)
    })
}
