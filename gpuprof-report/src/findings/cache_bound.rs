//! The rule about kernels that are limited by a cache or by shared memory.

use super::candidate::FindingCandidate;
use super::measured::MeasuredShares;
use super::profile_facts::ProfileFacts;
use super::profile_index::scaled;
use super::rule::FindingCheck;
use super::thresholds::{BUSY_BANDWIDTH, CACHE_SHARE, KERNEL_CALLS};
use super::wording;
use crate::peak_shares::Unit;

pub(super) fn cache_bound(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_kernels(facts, |index, kernel| {
        let MeasuredShares { memory, all } = MeasuredShares::of_kernel(facts, kernel)?;
        let (unit, share) = *all.first()?;
        let advice = match unit {
            Unit::L2 => {
                "have neighbouring threads use neighbouring addresses, or keep a tile in shared \
                 memory"
            }
            Unit::L1 | Unit::Shared => {
                "keep values in registers, compute several results per thread, avoid bank conflicts"
            }
            _ => return None,
        };
        let name = match unit {
            Unit::Shared => "shared memory".to_owned(),
            unit => unit.to_string(),
        };
        let applies = CACHE_SHARE.reached(share)
            && !BUSY_BANDWIDTH.reached(memory)
            && KERNEL_CALLS.reached(kernel.times.calls as f64)
            && facts.fault(index).is_none();
        applies.then(|| {
            let evidence = format!(
                "{} of GPU time: {} has {name} at {} of its peak, memory at {}",
                wording::percent(kernel.times.total_ns, facts.activity_ns),
                wording::kernel_name(kernel),
                wording::share(share),
                wording::share(memory),
            );
            let gain = scaled(facts.device_ns(kernel), 1.0 - memory);
            (evidence, advice, gain)
        })
    })
}
