//! Rules about the run: durations that vary, throttled clocks, and unattributed work.

use super::candidate::{About, FindingCandidate};
use super::profile_facts::ProfileFacts;
use super::profile_index::{scaled, sum};
use super::rule::FindingCheck;
use super::thresholds::{
    MISSING_CLOCK_SHARE, SPREAD_CALLS, SPREAD_IDLE, SPREAD_OVER_EVENT_OVERHEAD, SPREAD_RATIO,
    SPREAD_SHARE, UNATTRIBUTED_COUNT, UNATTRIBUTED_SHARE,
};
use super::wording;
use crate::profile::{GpuSpanStats, Throttle};

pub(super) fn spread(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_functions(facts, |_, function| {
        let floor = facts.profile.diagnostics.event_overhead_ns.unwrap_or(0);
        // On each device by itself: that one of them is slower says nothing about inputs.
        let parts: Vec<&GpuSpanStats> = function
            .gpu_on_each_device()
            .iter()
            .filter(|gpu| {
                let times = &gpu.times;
                SPREAD_RATIO.reached_by(times.p99_ns, times.p50_ns)
                    && SPREAD_CALLS.reached(gpu.timed_calls as f64)
                    && times.p50_ns as f64 >= SPREAD_OVER_EVENT_OVERHEAD.0 * floor as f64
            })
            .collect();
        let beyond = sum(parts.iter().copied(), beyond_median_ns);
        let largest = parts.into_iter().max_by_key(|gpu| beyond_median_ns(gpu))?;
        let total_ns = function.gpu.as_ref()?.times.total_ns;
        let idle_ns = function.activity.idle_ns.unwrap_or(0);
        let applies = !SPREAD_IDLE.reached_by(idle_ns, total_ns)
            && SPREAD_SHARE.reached_by(beyond, facts.profile.wall_ns);
        applies.then(|| {
            let device = match (function.gpu_by_device.len(), largest.device) {
                (2.., Some(device)) => format!("GPU {device}"),
                _ => "the GPU".to_owned(),
            };
            let evidence = format!(
                "p99 {} on {device}, median {}, longest {}",
                wording::ns(largest.times.p99_ns),
                wording::ns(largest.times.p50_ns),
                wording::ns(largest.times.max_ns),
            );
            let advice = "compare its calls by input: label = EXPR in the attribute, or a scope! \
                          per case";
            (About::SlowCalls, evidence, advice, beyond)
        })
    })
}

/// The time of all calls beyond the median. The total is that of all calls, even if only a sample
/// was timed.
fn beyond_median_ns(gpu: &GpuSpanStats) -> u64 {
    let times = &gpu.times;
    let share = times.mean_ns.saturating_sub(times.p50_ns) as f64 / times.mean_ns.max(1) as f64;
    scaled(times.total_ns, share)
}

pub(super) fn unattributed(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    let found = facts.profile.cupti.iter().filter(|cupti| {
        // Without functions the program is not built with gpuprof.
        facts.profile.has_annotated_functions()
            && UNATTRIBUTED_SHARE.reached_by(cupti.unattributed_ns, facts.activity_ns)
            && UNATTRIBUTED_COUNT.reached(cupti.unattributed as f64)
    });
    found
        .map(|cupti| {
            let evidence = format!(
                "{} of GPU time outside any profiled function: {} kernels, copies and memsets",
                wording::percent(cupti.unattributed_ns, facts.activity_ns),
                wording::count(cupti.unattributed),
            );
            let advice = advice_by_line(facts).unwrap_or_else(|| {
                "annotate the functions that launch it with #[gpu_profile]; GPUPROF_STACKS=on \
                 names them"
                    .to_owned()
            });
            let text = (evidence, advice);
            rule.candidate(facts, About::Separate, None, 0, text)
        })
        .collect()
}

/// The line of the program that launched most of the unattributed GPU time whose launches were
/// sampled, and its share.
fn advice_by_line(facts: &ProfileFacts<'_>) -> Option<String> {
    let lines = &facts.profile.stacks.as_ref()?.unattributed;
    let of_program = lines.iter().filter(|line| line.is_of_program());
    let line = of_program.max_by_key(|line| line.total_ns)?;
    let sampled_ns = sum(lines, |line| line.total_ns);
    let share = wording::percent(line.total_ns, sampled_ns);
    Some(if line.total_ns > sampled_ns / 2 {
        format!(
            "annotate {line} with #[gpu_profile]: most of the sampled part is from there, {share}"
        )
    } else {
        format!("annotate {line} with #[gpu_profile]: {share} of the sampled part is from there")
    })
}

pub(super) fn throttled(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    let devices = facts.profile.throttled.iter();
    devices
        .filter_map(|throttle| throttled_device(rule, facts, throttle))
        .collect()
}

fn throttled_device(
    rule: &FindingCheck,
    facts: &ProfileFacts<'_>,
    throttle: &Throttle,
) -> Option<FindingCandidate> {
    let (clock, highest) = (throttle.sm_clock_mhz?, throttle.max_sm_clock_mhz?);
    let mean = throttle.mean_sm_clock_mhz.unwrap_or(clock);
    let share = match throttle.sampled_ns {
        0 => 1.0,
        sampled_ns => (throttle.throttled_ns as f64 / sampled_ns as f64).min(1.0),
    };
    let missing = share * (1.0 - f64::from(mean) / f64::from(highest.max(1)));
    let is_slowed = !throttle.reasons.is_empty() && MISSING_CLOCK_SHARE.reached(missing);
    is_slowed.then(|| {
        let reasons: Vec<&str> = throttle
            .reasons
            .iter()
            .map(|reason| reason.as_str())
            .collect();
        let kernels = facts
            .profile
            .kernels
            .iter()
            .filter(|kernel| kernel.device == throttle.device);
        let ns = sum(kernels, |kernel| facts.device_ns(kernel));
        let evidence = format!(
            "{clock} of {highest} MHz on device {} for {} of the time: {}",
            throttle.device,
            wording::share(share),
            reasons.join(", "),
        );
        let advice = "check cooling, power limit and other programs: nvidia-smi -q -d PERFORMANCE";
        let text = (evidence, advice);
        rule.candidate(facts, About::Separate, None, scaled(ns, missing), text)
    })
}
