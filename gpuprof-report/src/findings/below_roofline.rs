//! The rule that compares stated bytes and flops with the peaks of the device.

use super::candidate::{About, FindingCandidate};
use super::enough_kernel_time::is_rated;
use super::measured::MeasuredShares;
use super::profile_facts::ProfileFacts;
use super::profile_index::{kernel_ns, scaled, sum};
use super::rule::FindingCheck;
use super::thresholds::{DOUBLE_PEAK_SHARE, MAX_PEAK_SHARE, MEASURED_PEAK_SHARE};
use super::wording;
use crate::peak_shares::Unit;
use crate::profile::{Device, Function, Precision};

pub(super) fn roofline(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_functions(facts, |_, function| {
        let measured = MeasuredShares::of_function(facts, function);
        let knows_double = measured.as_ref().is_some_and(|all| all.has(Unit::Fp64));
        let below = match measured {
            Some(measured) => Below::measured(&measured)?,
            None => Below::stated(&PeakShares::for_function(facts, function)?)?,
        };
        if !is_rated(facts, function) || !knows_double && may_be_double(facts, function) {
            return None;
        }
        let kernels = &function.activity.kernels;
        let evidence = format!(
            "{} {} of GPU time",
            below.shares,
            wording::percent(kernel_ns(kernels), facts.activity_ns),
        );
        let device_ns = sum(kernels, |kernel| facts.device_ns(kernel));
        let gain = scaled(device_ns, 1.0 - below.nearest);
        Some((About::KernelsOfFunction, evidence, below.advice, gain))
    })
}

/// Units that a text names.
const MAX_UNITS: usize = 3;

/// What a function reaches, far below its peaks.
struct Below {
    /// Of the nearest peak.
    nearest: f64,
    shares: String,
    advice: &'static str,
}

impl Below {
    fn measured(measured: &MeasuredShares) -> Option<Self> {
        let nearest = measured.nearest();
        let shares = measured.all.iter().take(MAX_UNITS);
        let shares: Vec<String> = shares
            .map(|(unit, share)| format!("{unit} {}", wording::share(*share)))
            .collect();
        (nearest < MEASURED_PEAK_SHARE.0).then(|| Self {
            nearest,
            shares: format!("no unit near its peak, {}:", shares.join(", ")),
            advice: "no sampled unit limits it: give the device more threads, or find with ncu \
                     what they wait for",
        })
    }

    fn stated(rates: &PeakShares) -> Option<Self> {
        let nearest = rates.memory.max(rates.arithmetic);
        let is_far_below = nearest > 0.0 && nearest < MAX_PEAK_SHARE.0;
        is_far_below.then(|| Self {
            nearest,
            shares: format!(
                "{} of the bandwidth, {} of the {} peak: its kernels take",
                wording::share(rates.memory),
                wording::share(rates.arithmetic),
                rates.precision,
            ),
            advice: "find with ncu what limits it: uncoalesced reads, double precision, few \
                     threads",
        })
    }
}

/// Stated work over what the device can do while the function's kernels run; 1 is the peak.
struct PeakShares {
    memory: f64,
    precision: Precision,
    arithmetic: f64,
}

impl PeakShares {
    /// `None` if bytes or flops are not stated, if a peak is unknown, or if its kernels ran on
    /// several devices or on an unknown one.
    fn for_function(facts: &ProfileFacts<'_>, function: &Function) -> Option<Self> {
        let device = device(facts, function)?;
        let precision = function.precision.unwrap_or(Precision::F32);
        Some(Self {
            memory: share_of_peak(function, function.bytes, device.peak_bytes_per_s)?,
            precision,
            arithmetic: share_of_peak(function, function.flops, device.peak_flops(precision))?,
        })
    }
}

/// The only device that its kernels ran on.
fn device<'a>(facts: &'a ProfileFacts<'_>, function: &Function) -> Option<&'a Device> {
    let kernels = &function.activity.kernels;
    let ordinal = kernels.first()?.device;
    let is_only = kernels.iter().all(|kernel| kernel.device == ordinal);
    facts.device(ordinal).filter(|_| is_only)
}

/// What a call states, over what the device can do at its peak in the time of its kernels.
pub(super) fn share_of_peak(
    function: &Function,
    stated: Option<f64>,
    peak: Option<u64>,
) -> Option<f64> {
    let work = &function.activity;
    let calls = work.busy_calls as f64 / function.calls.max(1) as f64;
    let share = stated? * calls / (kernel_ns(&work.kernels) as f64 / 1e9) / peak? as f64;
    share.is_finite().then_some(share)
}

/// Whether the rate is near the double-precision peak, which double precision explains, unless the
/// precision is stated. A rate above it is single precision; 5 % are the uncertainty of clocks.
fn may_be_double(facts: &ProfileFacts<'_>, function: &Function) -> bool {
    let peak = device(facts, function).and_then(|device| device.peak_flops_f64);
    function.precision.is_none()
        && share_of_peak(function, function.flops, peak)
            .is_some_and(|share| DOUBLE_PEAK_SHARE.reached(share) && share <= 1.05)
}
