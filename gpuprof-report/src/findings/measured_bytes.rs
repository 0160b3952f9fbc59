//! The rule that compares stated bytes with those that the hardware counters measured.

use super::candidate::{About, FindingCandidate};
use super::enough_kernel_time::is_rated;
use super::measured::MeasuredShares;
use super::profile_facts::ProfileFacts;
use super::profile_index::{kernel_ns, scaled, sum};
use super::rule::FindingCheck;
use super::thresholds::{BUSY_BANDWIDTH, MEASURED_RATIO};
use super::wording;

pub(super) fn measured_bytes(
    rule: &FindingCheck,
    facts: &ProfileFacts<'_>,
) -> Vec<FindingCandidate> {
    rule.of_functions(facts, |_, function| {
        let measured = MeasuredShares::of_function(facts, function)?;
        let kernels = &function.activity.kernels;
        let calls = function.activity.busy_calls as f64 / function.calls.max(1) as f64;
        let seconds = kernel_ns(kernels) as f64 / 1e9;
        let stated = function.bytes? * calls / seconds;
        let moved = function.activity.counters.as_ref()?.dram_bytes_per_s()?;
        let ratio = moved / stated;
        let is_much = ratio.is_finite()
            && MEASURED_RATIO.reached(ratio)
            && BUSY_BANDWIDTH.reached(measured.memory);
        if !is_much || !is_rated(facts, function) {
            return None;
        }
        let evidence = format!(
            "{ratio:.1} times the stated bytes: memory at {} of its bandwidth, {} of GPU time",
            wording::share(measured.memory),
            wording::percent(kernel_ns(kernels), facts.activity_ns),
        );
        let advice = "let neighbouring threads read neighbouring addresses; reuse from shared \
                      memory";
        let device_ns = sum(kernels, |kernel| facts.device_ns(kernel));
        let gain = scaled(device_ns, 1.0 - 1.0 / ratio);
        Some((About::KernelsOfFunction, evidence, advice, gain))
    })
}
