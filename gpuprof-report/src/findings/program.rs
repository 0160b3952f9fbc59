//! Rules about the run as a whole: calls that vary, work that nobody claims, clocks that are held down.
//!
//! Must not import another rule.

use super::facts::{self, Candidate, Facts};
use super::rule::{Rule, Threshold, Unit};
use crate::profile::{Finding, FindingRule, Function, Throttle};
use crate::table;

const SPREAD_TIMES: Threshold = Threshold {
    what: "99th percentile of the GPU time over the median",
    value: 5.0,
    unit: Unit::Times,
    why: "clocks, caches and neighbours make twice the time; five times is another kind of call",
};

const SPREAD_CALLS: Threshold = Threshold {
    what: "timed calls",
    value: 100.0,
    unit: Unit::Count,
    why: "of fewer the 99th percentile is the longest call",
};

const SPREAD_FLOOR: Threshold = Threshold {
    what: "median over the event floor",
    value: 10.0,
    unit: Unit::Times,
    why: "below that the row carries ! in the table: part of what it reads is the measuring itself",
};

const SPREAD_SHARE: Threshold = Threshold {
    what: "what the calls took beyond the median, in the GPU self time",
    value: 0.05,
    unit: Unit::Share,
    why: "less is not worth a change",
};

/// Some calls take far longer than others.
pub(super) static SPREAD: Rule = Rule {
    id: FindingRule::WideSpread,
    title: "Wide spread",
    when: "The slowest hundredth of a function's calls takes many times the median on the GPU. Its weight is what all its calls took \
           beyond the median.",
    advice: "See which calls they are: other sizes of input, the host not keeping up in between, or another program on the GPU. A \
             scope! per case parts them, the time line of nsys shows them.",
    thresholds: &[
        &SPREAD_TIMES,
        &SPREAD_CALLS,
        &SPREAD_FLOOR,
        &SPREAD_SHARE,
        &facts::INNER,
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
    // Of all calls, of which the timed ones may be a sample.
    let share = times.mean_ns.saturating_sub(times.p50_ns) as f64 / times.mean_ns.max(1) as f64;
    let beyond = (times.total_ns as f64 * share).round() as u64;
    let told = SPREAD_TIMES.reached_by(times.p99_ns, times.p50_ns)
        && SPREAD_CALLS.reached(gpu.timed_calls as f64)
        && times.p50_ns as f64 >= SPREAD_FLOOR.value * floor as f64
        && SPREAD_SHARE.reached_by(beyond, facts.gpu_self_ns);
    told.then(|| {
        let evidence = format!(
            "on the GPU half of its calls take at most {}, one in a hundred at least {}, the longest {}.",
            facts::ns(times.p50_ns),
            facts::ns(times.p99_ns),
            facts::ns(times.max_ns),
        );
        rule.finding(Some(&function.name), beyond, evidence)
    })
}

const OUTSIDE_SHARE: Threshold = Threshold {
    what: "its share of the time of all kernels, copies and memsets",
    value: 0.1,
    unit: Unit::Share,
    why: "what lies outside is in no row of the table; setting up a program is mostly less",
};

const OUTSIDE_NUMBER: Threshold = Threshold {
    what: "kernels, copies and memsets outside",
    value: 10.0,
    unit: Unit::Count,
    why: "a few are the set-up: weights, a first memset",
};

/// GPU time that belongs to no profiled function.
pub(super) static OUTSIDE: Rule = Rule {
    id: FindingRule::Outside,
    title: "GPU time outside any profiled function",
    when: "A good part of the GPU's time was launched outside every profiled function. Its weight is that time.",
    advice: "Annotate what launches it. A framework that launches from a thread of its own (burn does) is always outside: there the \
             kernel table is the place to look.",
    thresholds: &[&OUTSIDE_SHARE, &OUTSIDE_NUMBER],
    find: outside,
};

fn outside(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let found = facts.profile.cupti.iter().filter(|cupti| {
        OUTSIDE_SHARE.reached_by(cupti.unattributed_ns, facts.activity_ns)
            && OUTSIDE_NUMBER.reached(cupti.unattributed as f64)
    });
    found
        .map(|cupti| {
            let evidence = format!(
                "{} kernels, copies and memsets, {} of the GPU's kernel and copy time ({}), ran outside any profiled function.",
                table::count(cupti.unattributed).text(),
                facts::percent(cupti.unattributed_ns, facts.activity_ns),
                facts::ns(cupti.unattributed_ns),
            );
            rule.finding(None, cupti.unattributed_ns, evidence)
        })
        .collect()
}

const SLOWED: Threshold = Threshold {
    what: "how far below its highest the SM clock was",
    value: 0.05,
    unit: Unit::Share,
    why: "boost clocks move by a few percent all the time",
};

/// A device ran below its clocks.
pub(super) static THROTTLED: Rule = Rule {
    id: FindingRule::ClocksThrottled,
    title: "Clocks throttled",
    when: "NVML gave a reason for lower clocks (slowdown by the hardware or the driver for heat or power, or the power limit), and the \
           SM clock was well below its highest. Asked now and then, so a short one can be missed. Its weight is the device's kernel \
           time by the share of the clock that was missing.",
    advice: "Compare only runs at the same clocks. Look at cooling, at other programs on the device, and at its power limit \
             (nvidia-smi -q -d PERFORMANCE,POWER,CLOCK).",
    thresholds: &[&SLOWED],
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
    let missing = 1.0 - f64::from(clock) / f64::from(highest.max(1));
    let is_slowed = !throttle.reasons.is_empty() && SLOWED.reached(missing);
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
            "device {} was seen at {clock} of {highest} MHz ({}).",
            throttle.device,
            reasons.join(", "),
        );
        rule.finding(None, (ns as f64 * missing) as u64, evidence)
    })
}
