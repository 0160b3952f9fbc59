//! Rules about the run: durations that vary, unattributed work, and throttled clocks.

use super::profile_facts::{self, Candidate, Facts};
use super::rule::Rule;
use super::threshold::{Threshold, Unit};
use super::wording;
use crate::profile::{Finding, FindingRule, Function, Throttle};
use crate::table;

const SPREAD_RATIO: Threshold = Threshold {
    what: "99th percentile of the GPU time over the median",
    value: 5.0,
    unit: Unit::Times,
    why: "clocks, caches and other programs double a time; five times is another kind of call",
};

const SPREAD_CALLS: Threshold = Threshold {
    what: "timed calls",
    value: 100.0,
    unit: Unit::Count,
    why: "with fewer calls, the 99th percentile is the longest call",
};

const SPREAD_OVER_EVENT_OVERHEAD: Threshold = Threshold {
    what: "median over the event overhead",
    value: 10.0,
    unit: Unit::Times,
    why: "below that the table marks the row with !: a part of its time is event overhead",
};

const SPREAD_SHARE: Threshold = Threshold {
    what: "share of the calls' time beyond the median in the GPU self time of the program",
    value: 0.05,
    unit: Unit::Share,
    why: "a smaller share is not worth a change",
};

pub(super) static SPREAD: Rule = Rule {
    id: FindingRule::WideSpread,
    title: "Wide spread",
    when: "The slowest hundredth of a function's calls takes many times the median on the GPU. The \
           weight is the time of all its calls beyond the median.",
    advice: "Find out which calls these are: other sizes of input, the host not keeping up, or \
             another program on the GPU. A scope! per case separates them, and the time line of \
             nsys shows them.",
    thresholds: &[
        &SPREAD_RATIO,
        &SPREAD_CALLS,
        &SPREAD_OVER_EVENT_OVERHEAD,
        &SPREAD_SHARE,
        &profile_facts::NESTED_SHARE,
    ],
    find: spread,
};

fn spread(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let candidates = facts.functions().filter_map(|(at, function)| {
        spread_of(rule, facts, function).map(|finding| Candidate {
            function: at,
            finding,
        })
    });
    facts.unnested(candidates.collect())
}

fn spread_of(rule: &Rule, facts: &Facts<'_>, function: &Function) -> Option<Finding> {
    let gpu = function.gpu.as_ref()?;
    let times = &gpu.times;
    let floor = facts.profile.diagnostics.event_overhead_ns.unwrap_or(0);
    // The total is that of all calls, even if only a sample was timed.
    let share = times.mean_ns.saturating_sub(times.p50_ns) as f64 / times.mean_ns.max(1) as f64;
    let beyond = (times.total_ns as f64 * share).round() as u64;
    let applies = SPREAD_RATIO.reached_by(times.p99_ns, times.p50_ns)
        && SPREAD_CALLS.reached(gpu.timed_calls as f64)
        && times.p50_ns as f64 >= SPREAD_OVER_EVENT_OVERHEAD.value * floor as f64
        && SPREAD_SHARE.reached_by(beyond, facts.gpu_self_ns);
    applies.then(|| {
        let evidence = format!(
            "on the GPU half of its calls take at most {}, one in a hundred at least {}, the \
             longest {}.",
            wording::ns(times.p50_ns),
            wording::ns(times.p99_ns),
            wording::ns(times.max_ns),
        );
        rule.finding(Some(&function.name), beyond, evidence)
    })
}

const UNATTRIBUTED_SHARE: Threshold = Threshold {
    what: "share of unattributed activities in the time of all kernels, copies and memsets",
    value: 0.1,
    unit: Unit::Share,
    why: "unattributed time is in no row of the table; setting up a program usually takes less",
};

const UNATTRIBUTED_COUNT: Threshold = Threshold {
    what: "unattributed kernels, copies and memsets",
    value: 10.0,
    unit: Unit::Count,
    why: "a few belong to the set-up: weights, a first memset",
};

pub(super) static UNATTRIBUTED: Rule = Rule {
    id: FindingRule::Outside,
    title: "Unattributed GPU time",
    when: "A good part of the GPU time was launched outside every profiled function. The weight is \
           that time.",
    advice: "Annotate the functions that launch it. Work of a framework that launches from its own \
             thread, such as burn, is always unattributed: there, the kernel table is the place to \
             look.",
    thresholds: &[&UNATTRIBUTED_SHARE, &UNATTRIBUTED_COUNT],
    find: unattributed,
};

fn unattributed(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let found = facts.profile.cupti.iter().filter(|cupti| {
        UNATTRIBUTED_SHARE.reached_by(cupti.unattributed_ns, facts.activity_ns)
            && UNATTRIBUTED_COUNT.reached(cupti.unattributed as f64)
    });
    found
        .map(|cupti| {
            let evidence = format!(
                "{} kernels, copies and memsets, {} of the GPU's kernel and copy time ({}), ran \
                 outside any profiled function.",
                table::count(cupti.unattributed).text(),
                wording::percent(cupti.unattributed_ns, facts.activity_ns),
                wording::ns(cupti.unattributed_ns),
            );
            rule.finding(None, cupti.unattributed_ns, evidence)
        })
        .collect()
}

const MISSING_CLOCK_SHARE: Threshold = Threshold {
    what: "share of the maximum SM clock that was missing, over the sampled time",
    value: 0.05,
    unit: Unit::Share,
    why: "boost clocks vary by a few percent all the time",
};

pub(super) static THROTTLED: Rule = Rule {
    id: FindingRule::ClocksThrottled,
    title: "Clocks throttled",
    when: "NVML reported a reason for lower clocks (slowdown by hardware or driver for temperature \
           or power, or the power limit), and the SM clock was well below its maximum. NVML is \
           sampled now and then, so a short slowdown can be missed. The weight is the device's \
           kernel time, multiplied by the missing share of the clock and by the share of the \
           sampled time in which the device was throttled.",
    advice: "Compare only runs at the same clocks. Check the cooling, other programs on the \
             device, and its power limit (nvidia-smi -q -d PERFORMANCE,POWER,CLOCK).",
    thresholds: &[&MISSING_CLOCK_SHARE],
    find: throttled,
};

fn throttled(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let devices = facts.profile.throttled.iter();
    devices
        .filter_map(|throttle| throttled_device(rule, facts, throttle))
        .collect()
}

fn throttled_device(rule: &Rule, facts: &Facts<'_>, throttle: &Throttle) -> Option<Finding> {
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
        let kernels = facts.profile.kernels.iter();
        let ns = kernels
            .filter(|kernel| kernel.device == throttle.device)
            .fold(0_u64, |sum, kernel| {
                sum.saturating_add(kernel.times.total_ns)
            });
        let evidence = format!(
            "device {} was seen at {clock} of {highest} MHz, throttled for {} % of the sampled \
             time ({}).",
            throttle.device,
            (share * 100.0).round(),
            reasons.join(", "),
        );
        rule.finding(None, (ns as f64 * missing) as u64, evidence)
    })
}
