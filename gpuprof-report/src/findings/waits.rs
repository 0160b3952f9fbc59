//! The rules about kernels whose warps mostly wait for one thing, by samples of program counters.

use super::below_roofline::share_of_peak;
use super::candidate::FindingCandidate;
use super::measured::MeasuredShares;
use super::profile_facts::ProfileFacts;
use super::profile_index::scaled;
use super::rule::FindingCheck;
use super::rule_limit::Threshold;
use super::thresholds::{BUSY_BANDWIDTH, FEW_WARPS, KERNEL_MEAN, MEMORY_WAIT_SHARE, WAIT_SHARE};
use super::wording;
use crate::collectives::Collective;
use crate::peak_shares::BOUND_SHARE;
use crate::profile::{FindingRule, KernelStalls, KernelStats, MIN_STALL_SAMPLES};
use crate::stall_reasons::{
    self, BARRIER, LG_THROTTLE, LONG_SCOREBOARD, MATH_PIPE_THROTTLE, MIO_THROTTLE, NO_INSTRUCTIONS,
};
use crate::{occupancy, sanitize};

/// A wait that is worth a change if it is the longest of a kernel.
struct Wait {
    rule: FindingRule,
    reason: &'static str,
    /// Of the kernel's samples.
    least: Threshold,
    /// What else must hold; it gives words for the evidence.
    applies: fn(&ProfileFacts<'_>, &KernelStats) -> Option<String>,
}

/// What helps is said in [`stall_reasons`].
static WAITS: [Wait; 6] = [
    Wait {
        rule: FindingRule::MemoryLatency,
        reason: LONG_SCOREBOARD,
        least: MEMORY_WAIT_SHARE,
        applies: is_latency_bound,
    },
    Wait {
        rule: FindingRule::MathThrottle,
        reason: MATH_PIPE_THROTTLE,
        least: WAIT_SHARE,
        applies: always,
    },
    Wait {
        rule: FindingRule::BarrierWait,
        reason: BARRIER,
        least: WAIT_SHARE,
        applies: always,
    },
    Wait {
        rule: FindingRule::LoadStoreQueue,
        reason: LG_THROTTLE,
        least: WAIT_SHARE,
        applies: always,
    },
    Wait {
        rule: FindingRule::SharedMemoryQueue,
        reason: MIO_THROTTLE,
        least: WAIT_SHARE,
        applies: always,
    },
    Wait {
        rule: FindingRule::InstructionFetch,
        reason: NO_INSTRUCTIONS,
        least: WAIT_SHARE,
        applies: always,
    },
];

/// Whether the rule is one of these. They name what a kernel waits for; others name why.
pub(super) fn is_about_waits(rule: FindingRule) -> bool {
    WAITS.iter().any(|wait| wait.rule == rule)
}

fn always(_: &ProfileFacts<'_>, _: &KernelStats) -> Option<String> {
    Some(String::new())
}

pub(super) fn waits(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    let Some(wait) = WAITS.iter().find(|wait| wait.rule == rule.id) else {
        return Vec::new();
    };
    rule.of_kernels(facts, |_, kernel| {
        let stalls = sampled(facts, kernel)?;
        let longest = stall_reasons::waits(&stalls.reasons).next()?;
        let share = stalls.share(wait.reason);
        let applies = longest.reason == wait.reason
            && wait.least.reached(share)
            && KERNEL_MEAN.reached(kernel.times.mean_ns as f64)
            && Collective::of_kernel(&kernel.symbol).is_none();
        let more = (wait.applies)(facts, kernel).filter(|_| applies)?;
        let place = place(stalls, wait.reason);
        let evidence = format!(
            "{}{} waits {} {}{place}{more}",
            wording::of_gpu_time(kernel, facts.activity_ns, &place),
            wording::kernel_name(kernel),
            stall_reasons::words(wait.reason),
            wording::share(share),
        );
        let gain = scaled(facts.device_ns(kernel), share.min(1.0));
        Some((evidence, stall_reasons::helps(wait.reason), gain))
    })
}

/// The samples in a kernel, if there are enough.
fn sampled<'a>(facts: &ProfileFacts<'a>, kernel: &KernelStats) -> Option<&'a KernelStalls> {
    let mut kernels = facts.profile.stalls.as_ref()?.kernels.iter();
    kernels.find(|of| of.name == kernel.name && of.samples >= MIN_STALL_SAMPLES)
}

/// The line at which the warps waited most often for this reason; nothing if no line is known.
fn place(stalls: &KernelStalls, reason: &str) -> String {
    let mut most = None;
    for line in &stalls.lines {
        let waits = line.reasons.iter().find(|of| of.reason == reason);
        let samples = waits.map_or(0, |of| of.samples);
        if samples > most.map_or(0, |(samples, _)| samples) {
            most = Some((samples, line));
        }
    }
    most.map_or_else(String::new, |(_, line)| {
        format!(", most at {}", sanitize::place(&line.file, line.line))
    })
}

/// Whether no unit of the device limits a kernel that waits for memory: by hardware counters, or
/// because it has few warps and states no bytes that keep the memory busy.
fn is_latency_bound(facts: &ProfileFacts<'_>, kernel: &KernelStats) -> Option<String> {
    if let Some(measured) = MeasuredShares::of_kernel(facts, kernel) {
        return (measured.nearest() < BOUND_SHARE).then(String::new);
    }
    let device = facts.device(kernel.device)?;
    let warps = occupancy::most_resident_warps(device, kernel)?;
    let home = facts.function(facts.main_function(kernel));
    let stated = home.and_then(|home| share_of_peak(home, home.bytes, device.peak_bytes_per_s));
    let keeps_memory_busy = stated.is_some_and(|share| BUSY_BANDWIDTH.reached(share));
    (warps <= FEW_WARPS.0 && !keeps_memory_busy)
        .then(|| format!(", occupancy ≤ {}", wording::share(warps)))
}
