//! The rule about kernels that are limited by a cache or by shared memory.

use super::candidate::{About, FindingCandidate};
use super::profile_facts::ProfileFacts;
use super::profile_index::scaled;
use super::rule::FindingCheck;
use super::thresholds::{BUSY_BANDWIDTH, CACHE_SHARE, KERNEL_CALLS, KERNEL_SHARE};
use super::wording;
use crate::peak_shares::{Unit, peak_shares};
use crate::profile::{FindingRule, KernelStats};

pub(super) static CACHE_BOUND: FindingCheck = FindingCheck {
    id: FindingRule::CacheBound,
    find: check_cache_bound,
};

fn check_cache_bound(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    let kernels = facts.profile.kernels.iter().enumerate();
    let found = kernels.filter_map(|(index, kernel)| {
        let memory = memory_share(facts, kernel)?;
        let counters = kernel.counters.as_ref()?;
        let (unit, share) = *peak_shares(counters, Some(memory))?.first()?;
        let advice = match unit {
            Unit::L2 => {
                "have neighbouring threads use neighbouring addresses, or keep a tile in shared \
                 memory"
            }
            Unit::L1 => {
                "keep values in registers, compute several results per thread, avoid bank conflicts"
            }
            _ => return None,
        };
        let applies = CACHE_SHARE.reached(share)
            && !BUSY_BANDWIDTH.reached(memory)
            && KERNEL_SHARE.reached_by(kernel.times.total_ns, facts.activity_ns)
            && KERNEL_CALLS.reached(kernel.times.calls as f64);
        applies.then(|| {
            let evidence = format!(
                "{} of GPU time: {} has {unit} at {} of its peak, memory at {}",
                wording::percent(kernel.times.total_ns, facts.activity_ns),
                wording::kernel_name(kernel),
                wording::share(share),
                wording::share(memory),
            );
            let gain = scaled(facts.device_ns(kernel), 1.0 - memory);
            let home = facts.main_function(kernel);
            let text = (evidence, advice);
            rule.candidate(facts, About::Kernels(vec![index]), home, gain, text)
        })
    });
    found.collect()
}

/// Of the peak bandwidth, by samples in which no other kernel ran.
fn memory_share(facts: &ProfileFacts<'_>, kernel: &KernelStats) -> Option<f64> {
    let counters = kernel.counters.as_ref()?;
    let peak = facts.device(kernel.device)?.peak_bytes_per_s? as f64;
    let share = counters.dram_bytes_per_s()? / peak;
    (!counters.is_divided && share.is_finite()).then_some(share)
}
