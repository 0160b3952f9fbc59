//! Rules about kernels: a dominant one, many short ones, and ones that do not fill the GPU.

use super::profile_facts::{self, Candidate, Facts};
use super::rule::Rule;
use super::threshold::{Threshold, Unit};
use super::wording;
use crate::profile::{Device, Finding, FindingRule, Function, KernelStats};

const ONE_KERNEL_SHARE: Threshold = Threshold {
    what: "share of the kernel in the time of all kernels, copies and memsets",
    value: 0.6,
    unit: Unit::Share,
    why: "everything else together can then save less than half; two kernels that take turns stay \
          below",
};

const ONE_KERNEL_LAUNCHES: Threshold = Threshold {
    what: "launches of the kernel",
    value: 5.0,
    unit: Unit::Count,
    why: "one or two launches are too few to judge by",
};

pub(super) static ONE_KERNEL: Rule = Rule {
    id: FindingRule::OneKernel,
    title: "Dominated by one kernel",
    when: "One kernel takes most of the GPU's kernel, copy and memset time. The weight is the \
           kernel's total time.",
    advice: "Start with this kernel: nothing else can save as much. The ncu command shows what \
             limits it.",
    thresholds: &[&ONE_KERNEL_SHARE, &ONE_KERNEL_LAUNCHES],
    find: one_kernel,
};

fn one_kernel(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let found = facts.profile.kernels.iter().filter(|kernel| {
        ONE_KERNEL_SHARE.reached_by(kernel.times.total_ns, facts.activity_ns)
            && ONE_KERNEL_LAUNCHES.reached(kernel.times.calls as f64)
    });
    found
        .map(|kernel| {
            let times = &kernel.times;
            let evidence = format!(
                "the kernel {} takes {} of the GPU's kernel and copy time: {} of {} on average.",
                wording::kernel_name(kernel),
                wording::percent(times.total_ns, facts.activity_ns),
                wording::counted(times.calls, "launch", "launches"),
                wording::ns(times.mean_ns),
            );
            let home = facts
                .main_function(kernel)
                .map(|function| function.name.as_str());
            rule.finding(home, times.total_ns, evidence)
        })
        .collect()
}

const IDLE_SHARE_OF_SPAN: Threshold = Threshold {
    what: "idle share of the GPU spans",
    value: 0.3,
    unit: Unit::Share,
    why: "with less idle time, the kernels themselves are the better place to look",
};

const MAX_IDLE_PER_KERNEL: Threshold = Threshold {
    what: "idle time per kernel, at most",
    value: 50_000.0,
    unit: Unit::Ns,
    why: "a launch and the event pair around it take a few µs each: the training step of \
          04_train_digits is idle for 9 to 16 µs per kernel on an H200, and for 24 µs with events \
          at every call. A longer wait has another cause on the host: a file, a lock, a \
          computation",
};

const KERNELS_PER_CALL: Threshold = Threshold {
    what: "kernels per call",
    value: 8.0,
    unit: Unit::Count,
    why: "with few kernels per call, the idle time is a wait for the host or a timer, not the cost \
          of launches. In the examples the training step has 19 kernels per call, a request of \
          05_async 2 and a step of 07_graph 2",
};

const MAX_MEDIAN_KERNEL: Threshold = Threshold {
    what: "median kernel time, at most",
    value: 20_000.0,
    unit: Unit::Ns,
    why: "a launch takes 2 to 10 µs of CPU time, which longer kernels hide. The kernels of the \
          training step take about 2 µs, the shortest of 02_convolution 47 µs on the simulated \
          device",
};

const LAUNCH_BOUND_CALLS: Threshold = Threshold {
    what: "outermost calls",
    value: 20.0,
    unit: Unit::Count,
    why: "the first calls load modules and fill caches; among twenty calls they no longer matter",
};

const IDLE_SHARE_OF_PROGRAM: Threshold = Threshold {
    what: "idle time in the GPU self time of the program",
    value: 0.05,
    unit: Unit::Share,
    why: "a smaller share is not worth a change",
};

const MAX_MISSING_RECORDS: Threshold = Threshold {
    what: "share of dropped and unfinished records in all records, at most",
    value: 0.01,
    unit: Unit::Share,
    why: "a kernel whose record is missing looks like idle time",
};

pub(super) static LAUNCH_BOUND: Rule = Rule {
    id: FindingRule::LaunchBound,
    title: "Launch-bound",
    when: "A function is idle for a good part of its GPU spans, in short gaps around many short \
           kernels that are not launched by a graph. The weight is the idle time. Work of other \
           functions in these gaps is not considered.",
    advice: "Launch less often: fuse small kernels, do more per launch (a larger batch), or \
             capture the call into a CUDA graph and replay it.",
    thresholds: &[
        &IDLE_SHARE_OF_SPAN,
        &MAX_IDLE_PER_KERNEL,
        &KERNELS_PER_CALL,
        &MAX_MEDIAN_KERNEL,
        &LAUNCH_BOUND_CALLS,
        &IDLE_SHARE_OF_PROGRAM,
        &MAX_MISSING_RECORDS,
        &profile_facts::NESTED_SHARE,
    ],
    find: launch_bound,
};

fn launch_bound(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let missing = facts.profile.cupti.as_ref().map_or(0.0, |cupti| {
        let missing = cupti.dropped_records.saturating_add(cupti.unfinished);
        missing as f64 / cupti.records.max(1) as f64
    });
    if missing > MAX_MISSING_RECORDS.value {
        return Vec::new();
    }
    let candidates = facts.functions().filter_map(|(at, function)| {
        launch_bound_function(rule, facts, at, function).map(|finding| Candidate {
            function: at,
            finding,
        })
    });
    facts.unnested(candidates.collect())
}

fn launch_bound_function(
    rule: &Rule,
    facts: &Facts<'_>,
    at: usize,
    function: &Function,
) -> Option<Finding> {
    let work = &function.activity;
    let (idle, busy) = (work.idle_ns?, work.busy_ns?);
    let calls = work.busy_calls;
    let median = median_kernel(facts, at)?;
    let idle_per_kernel = idle / work.launches.max(1);
    let is_bound = IDLE_SHARE_OF_SPAN.reached_by(idle, idle.saturating_add(busy))
        && idle_per_kernel as f64 <= MAX_IDLE_PER_KERNEL.value
        && KERNELS_PER_CALL.reached_by(work.launches, calls)
        && median as f64 <= MAX_MEDIAN_KERNEL.value
        && LAUNCH_BOUND_CALLS.reached(calls as f64)
        && IDLE_SHARE_OF_PROGRAM.reached_by(idle, facts.gpu_self_ns);
    is_bound.then(|| {
        let mut evidence = format!(
            "the GPU has nothing of it to do for {} of its calls' spans, {} per kernel: {} kernels \
             per call, half of them of at most {}.",
            wording::percent(idle, idle.saturating_add(busy)),
            wording::ns(idle_per_kernel),
            wording::mean(work.launches, calls),
            wording::ns(median),
        );
        // Of a sample, those that are timed inside a timed call.
        let timed = |function: &Function| {
            let calls = function.gpu.as_ref().map_or(0, |gpu| gpu.timed_calls);
            calls as f64 / function.calls.max(1) as f64
        };
        let spans: f64 = facts
            .functions()
            .filter(|(inner, function)| *inner != at && function.gpu.is_some())
            .map(|(inner, inside)| {
                let share = (timed(inside) / timed(function)).min(1.0);
                facts.runs_inside(at, inner) as f64 * share
            })
            .sum();
        let spans = spans.round() as u64;
        if spans > 0 {
            evidence.push_str(&format!(
                " gpuprof's own events, of {} spans inside per call, are part of the idle time.",
                wording::mean(spans, function.calls),
            ));
        }
        rule.finding(Some(&function.name), idle, evidence)
    })
}

/// Median, by launches, of the median times of the kernels of a function and its nested functions,
/// ns; `None` if graphs launched most of them.
fn median_kernel(facts: &Facts<'_>, at: usize) -> Option<u64> {
    let parts = facts.parts(at);
    let kernels = parts.iter().flat_map(|(function, share)| {
        function
            .activity
            .kernels
            .iter()
            .map(move |kernel| (kernel, *share))
    });
    let (mut by_time, mut launched, mut in_graphs) = (Vec::new(), 0.0, 0.0);
    for (kernel, share) in kernels {
        let calls = kernel.times.calls as f64 * share;
        by_time.push((kernel.times.p50_ns, calls));
        launched += calls;
        in_graphs += kernel.graph_calls as f64 * share;
    }
    if in_graphs * 2.0 > launched {
        return None;
    }
    by_time.sort_by_key(|(ns, _)| *ns);
    let mut before = 0.0;
    let median = by_time.into_iter().find(|(_, calls)| {
        before += calls;
        before * 2.0 >= launched
    });
    median.map(|(ns, _)| ns)
}

const MAX_BLOCKS_PER_SM: Threshold = Threshold {
    what: "blocks per multiprocessor, at most",
    value: 0.9,
    unit: Unit::Times,
    why: "a block runs on one multiprocessor, so with fewer blocks some have no work. The last \
          tenth is not worth a change",
};

const MAX_OCCUPANCY: Threshold = Threshold {
    what: "theoretical occupancy, less than",
    value: 0.25,
    unit: Unit::Share,
    why: "kernels that use many registers are fast at half of the occupancy; below a quarter, few \
          can hide the latency of memory",
};

const UNDERUSED_SHARE: Threshold = Threshold {
    what: "share of the kernel in the time of all kernels, copies and memsets",
    value: 0.1,
    unit: Unit::Share,
    why: "a smaller share is not worth a change",
};

const UNDERUSED_MEAN: Threshold = Threshold {
    what: "mean kernel time",
    value: 10_000.0,
    unit: Unit::Ns,
    why: "shorter kernels mostly start and end, and would not be faster on more multiprocessors",
};

const UNDERUSED_CALLS: Threshold = Threshold {
    what: "launches",
    value: 5.0,
    unit: Unit::Count,
    why: "one launch is not a pattern",
};

pub(super) static UNDERUSED: Rule = Rule {
    id: FindingRule::UnderusedGpu,
    title: "Underused GPU",
    when: "A kernel that takes a good part of the GPU time has fewer blocks than the device has \
           multiprocessors and runs on one stream, or has a low theoretical occupancy. The weight \
           is the kernel's time multiplied by the unused part of the device.",
    advice: "Launch more blocks: less work per thread, a larger batch, or several launches at once \
             on different streams.",
    thresholds: &[
        &MAX_BLOCKS_PER_SM,
        &MAX_OCCUPANCY,
        &UNDERUSED_SHARE,
        &UNDERUSED_MEAN,
        &UNDERUSED_CALLS,
    ],
    find: underused,
};

fn underused(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for kernel in &facts.profile.kernels {
        let enough = UNDERUSED_SHARE.reached_by(kernel.times.total_ns, facts.activity_ns)
            && UNDERUSED_MEAN.reached(kernel.times.mean_ns as f64)
            && UNDERUSED_CALLS.reached(kernel.times.calls as f64);
        let seen = facts
            .device(kernel.device)
            .filter(|_| enough)
            .and_then(|device| small_grid(rule, facts, kernel, device));
        found.extend(seen.or_else(|| enough.then(|| low_occupancy(rule, facts, kernel)).flatten()));
    }
    found
}

fn small_grid(
    rule: &Rule,
    facts: &Facts<'_>,
    kernel: &KernelStats,
    device: &Device,
) -> Option<Finding> {
    let blocks: u64 = kernel.grid.iter().map(|n| u64::from(*n)).product();
    let multiprocessors = device.sm_count?;
    let filled = blocks as f64 / f64::from(multiprocessors);
    // On several streams they may fill the device together.
    let small = blocks > 0 && filled <= MAX_BLOCKS_PER_SM.value && kernel.streams <= 1;
    small.then(|| {
        let evidence = format!(
            "the kernel {} has {} for {} multiprocessors{}; {} on average, {} of the GPU's kernel \
             and copy time.",
            wording::kernel_name(kernel),
            wording::counted(blocks, "block", "blocks"),
            multiprocessors,
            shapes(kernel),
            wording::ns(kernel.times.mean_ns),
            wording::percent(kernel.times.total_ns, facts.activity_ns),
        );
        finding(rule, facts, kernel, filled, evidence)
    })
}

fn low_occupancy(rule: &Rule, facts: &Facts<'_>, kernel: &KernelStats) -> Option<Finding> {
    let occupancy = kernel.occupancy?;
    (occupancy < MAX_OCCUPANCY.value).then(|| {
        let block: u64 = kernel.block.iter().map(|n| u64::from(*n)).product();
        let shared = u64::from(kernel.static_shared_bytes) + u64::from(kernel.dynamic_shared_bytes);
        let evidence = format!(
            "the kernel {} can keep at most {} of the device's warps resident ({} threads per \
             block, {} registers per thread, {} bytes of shared memory per block{}); it takes {} \
             of the GPU's kernel and copy time. That may cost it speed.",
            wording::kernel_name(kernel),
            wording::share(occupancy),
            block,
            kernel.registers,
            shared,
            shapes(kernel),
            wording::percent(kernel.times.total_ns, facts.activity_ns),
        );
        let mut finding = finding(rule, facts, kernel, occupancy, evidence);
        "Try larger or smaller blocks, fewer registers (__launch_bounds__) or less shared memory \
         per block, and measure: more occupancy is not always faster."
            .clone_into(&mut finding.advice);
        finding
    })
}

fn finding(
    rule: &Rule,
    facts: &Facts<'_>,
    kernel: &KernelStats,
    filled: f64,
    evidence: String,
) -> Finding {
    let home = facts
        .main_function(kernel)
        .map(|function| function.name.as_str());
    let lost = kernel.times.total_ns as f64 * (1.0 - filled);
    rule.finding(home, lost as u64, evidence)
}

/// A remark for a sentence about one of several launch shapes.
fn shapes(kernel: &KernelStats) -> String {
    if kernel.shapes > 1 {
        format!(" in the costliest of its {} launch shapes", kernel.shapes)
    } else {
        String::new()
    }
}
