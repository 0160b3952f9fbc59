//! The rule that compares stated bytes and flops with the peaks of the device.

use super::double_precision::suspect;
use super::enough_kernel_time::{
    KERNEL_SHARE_OF_FUNCTION, RATED_CALLS, RATED_MEAN, RATED_SHARE, is_rated,
};
use super::profile_facts::{self, Facts};
use super::rule::Rule;
use super::threshold::{Threshold, Unit};
use super::wording;
use crate::profile::{Finding, FindingRule, Function};

const MAX_PEAK_SHARE: Threshold = Threshold {
    what: "share of the nearer peak, less than",
    value: 0.1,
    unit: Unit::Share,
    why: "simple kernels reach a fifth to a half; below a tenth, something other than the peaks \
          limits the kernel",
};

pub(super) static ROOFLINE: Rule = Rule {
    id: FindingRule::BelowRoofline,
    title: "Below the roofline",
    when: "A function that states bytes or flops, and whose own time is mostly kernels, stays far \
           below both the memory bandwidth and the single-precision peak of its device while its \
           kernels run, and is not suspected of double precision. (The table's % peak uses the GPU \
           span, including idle time.) The weight is the time of its kernels minus what they would \
           take at the nearer peak.",
    advice: "Look inside the kernel with ncu: uncoalesced or repeated reads (shared memory helps), \
             too little work in flight, or more work than is stated.",
    thresholds: &[
        &MAX_PEAK_SHARE,
        &RATED_SHARE,
        &RATED_CALLS,
        &RATED_MEAN,
        &KERNEL_SHARE_OF_FUNCTION,
    ],
    find: roofline,
};

fn roofline(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let found = facts.functions().filter_map(|(_, function)| {
        let rated = Rates::for_function(facts, function)?;
        if !is_rated(facts, function) || suspect(facts, function).is_some() {
            return None;
        }
        let nearer = rated.memory.unwrap_or(0.0).max(rated.single.unwrap_or(0.0));
        if nearer <= 0.0 || nearer >= MAX_PEAK_SHARE.value {
            return None;
        }
        let memory = rated
            .memory
            .map(|share| format!("{} of the memory bandwidth", wording::share(share)));
        let single = rated
            .single
            .map(|share| format!("{} of the single-precision peak", wording::share(share)));
        let of: Vec<String> = memory.into_iter().chain(single).collect();
        let evidence = format!(
            "from its stated work, its kernels reach {}; they take {} of the GPU's kernel and copy \
             time.",
            of.join(" and "),
            wording::percent(rated.kernel_ns, facts.activity_ns),
        );
        let weight = rated.kernel_ns as f64 * (1.0 - nearer);
        Some(rule.finding(Some(&function.name), weight as u64, evidence))
    });
    found.collect()
}

/// Stated work over what the device can do while the function's kernels run; 1 is the peak.
struct Rates {
    kernel_ns: u64,
    memory: Option<f64>,
    single: Option<f64>,
}

impl Rates {
    /// `None` if its kernels ran on several devices or on an unknown one.
    fn for_function(facts: &Facts<'_>, function: &Function) -> Option<Self> {
        let work = &function.activity;
        let ordinal = work.kernels.first()?.device;
        let device = facts.device(ordinal)?;
        if work.kernels.iter().any(|kernel| kernel.device != ordinal) {
            return None;
        }
        let kernel_ns = profile_facts::kernel_ns(&work.kernels);
        let calls = work.busy_calls as f64 / function.calls.max(1) as f64;
        let of = |stated: Option<f64>, peak: Option<u64>| {
            let share = stated? * calls / (kernel_ns as f64 / 1e9) / peak? as f64;
            share.is_finite().then_some(share)
        };
        Some(Self {
            kernel_ns,
            memory: of(function.bytes, device.peak_bytes_per_s),
            single: of(function.flops, device.peak_flops_f32),
        })
    }
}
