//! The rule that suspects double precision where single precision was meant.

use super::enough_kernel_time::{
    KERNEL_SHARE_OF_FUNCTION, RATED_CALLS, RATED_MEAN, RATED_SHARE, is_rated,
};
use super::profile_facts::{self, Facts};
use super::rule::Rule;
use super::threshold::{Threshold, Unit};
use super::wording;
use crate::profile::{Device, Finding, FindingRule, Function, KernelStats};
use crate::sanitize;

const MAX_WORK_DIFFERENCE: Threshold = Threshold {
    what: "difference in the flops and bytes that two functions state per call, at most",
    value: 0.01,
    unit: Unit::Share,
    why: "only functions that do the same work can be compared",
};

const MIN_SLOWDOWN: Threshold = Threshold {
    what: "kernel time over that of the other function, at least",
    value: 1.2,
    unit: Unit::Times,
    why: "the double accumulator of 02_convolution takes 1.37 times as long as the single one on \
          an H200, whose rate in double precision is half; two equally fast kernels differ by less \
          than a tenth between runs",
};

const MAX_SLOWDOWN_OVER_PEAK_RATIO: Threshold = Threshold {
    what: "the same divided by the ratio of the single-precision to the double-precision peak, at \
           most",
    value: 1.1,
    unit: Unit::Times,
    why: "double precision cannot cost more than the ratio of the peaks: what takes longer has \
          another cause. The ratio is 2 on an H200 and 32 on the simulated device",
};

const MAIN_KERNEL_SHARE: Threshold = Threshold {
    what: "share of one kernel in the time of the function's kernels",
    value: 0.8,
    unit: Unit::Share,
    why: "otherwise it is unknown which kernel the flops belong to",
};

const MIN_PEAK_RATIO: Threshold = Threshold {
    what: "single-precision peak over double-precision peak",
    value: 8.0,
    unit: Unit::Times,
    why: "where double precision runs at half the rate, a rate near its peak means nothing; this \
          sign is for devices whose single-precision rate is 32 or 64 times as high",
};

const MIN_DOUBLE_PEAK_SHARE: Threshold = Threshold {
    what: "rate of the stated flops over the double-precision peak, at least (and at most 1)",
    value: 0.7,
    unit: Unit::Share,
    why: "a kernel limited by so few units keeps them busy. Above 1 it cannot be double precision: \
          on the simulated device multiply_naive of 06_threads reaches 1.03, convolve_double of \
          02_convolution 0.99",
};

const MAX_BANDWIDTH_SHARE: Threshold = Threshold {
    what: "rate of the stated bytes over the memory bandwidth, less than",
    value: 0.5,
    unit: Unit::Share,
    why: "otherwise memory explains the time as well",
};

pub(super) static DOUBLE_PRECISION: Rule = Rule {
    id: FindingRule::DoublePrecisionSuspect,
    title: "Double precision, perhaps by mistake",
    when: "A function states flops, and one of two signs suggests that it computes in double \
           precision. Either another function states the same work per call, launches a kernel of \
           the same grid, block and shared memory, and is faster by a factor that double precision \
           explains. Or its rate is just below the device's double-precision peak, where that is \
           far below the single-precision peak. CUPTI does not report which instructions ran, so \
           this remains a suspicion. Its weight is the extra time relative to the other function, \
           or to the same work in single precision.",
    advice: "Look for a double in the kernel: an accumulator, a literal without f (0.5), a math \
             function without f (sqrt, exp). ncu shows the FP64 pipe.",
    thresholds: &[
        &RATED_SHARE,
        &RATED_CALLS,
        &RATED_MEAN,
        &KERNEL_SHARE_OF_FUNCTION,
        &MAIN_KERNEL_SHARE,
        &MAX_WORK_DIFFERENCE,
        &MIN_SLOWDOWN,
        &MAX_SLOWDOWN_OVER_PEAK_RATIO,
        &MIN_PEAK_RATIO,
        &MIN_DOUBLE_PEAK_SHARE,
        &MAX_BANDWIDTH_SHARE,
    ],
    find: double,
};

fn double(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let found = facts.functions().filter_map(|(_, function)| {
        let (weight, evidence) = suspect(facts, function)?;
        Some(rule.finding(Some(&function.name), weight, evidence))
    });
    found.collect()
}

/// A function with one main kernel, and its rates per second.
struct Rated<'a> {
    function: &'a Function,
    kernel: &'a KernelStats,
    device: &'a Device,
    flops_per_call: f64,
    bytes_per_call: Option<f64>,
    flops_per_s: f64,
    single: f64,
    double: f64,
}

impl<'a> Rated<'a> {
    fn for_function(facts: &Facts<'a>, function: &'a Function) -> Option<Self> {
        let work = &function.activity;
        let kernel = work
            .kernels
            .iter()
            .max_by_key(|kernel| kernel.times.total_ns)?;
        let own = profile_facts::kernel_ns(&work.kernels);
        let device = facts.device(kernel.device)?;
        let runs = function.calls.max(1) as f64;
        let flops_per_call = function.flops.filter(|flops| *flops > 0.0)? / runs;
        let calls = work.busy_calls.max(1) as f64;
        let rated = Self {
            function,
            kernel,
            device,
            flops_per_call,
            bytes_per_call: function.bytes.map(|bytes| bytes / runs),
            flops_per_s: flops_per_call * calls / (own.max(1) as f64 / 1e9),
            single: device.peak_flops_f32? as f64,
            double: device.peak_flops_f64.filter(|peak| *peak > 0)? as f64,
        };
        MAIN_KERNEL_SHARE
            .reached_by(kernel.times.total_ns, own)
            .then_some(rated)
    }

    /// Whether the other function states the same work and launches another kernel of the same
    /// shape.
    fn is_twin_of(&self, other: &Self) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() <= MAX_WORK_DIFFERENCE.value * a.max(b);
        let bytes = match (self.bytes_per_call, other.bytes_per_call) {
            (Some(a), Some(b)) => close(a, b),
            (None, None) => true,
            _ => false,
        };
        let (a, b) = (self.kernel, other.kernel);
        let shape = |kernel: &KernelStats| {
            let shared = (kernel.static_shared_bytes, kernel.dynamic_shared_bytes);
            (kernel.device, kernel.grid, kernel.block, shared)
        };
        bytes
            && close(self.flops_per_call, other.flops_per_call)
            && shape(a) == shape(b)
            && a.symbol != b.symbol
            && RATED_CALLS.reached(other.kernel.times.calls as f64)
    }
}

/// The time that double precision may cost the function, ns, and the evidence for it.
pub(super) fn suspect(facts: &Facts<'_>, function: &Function) -> Option<(u64, String)> {
    if !is_rated(facts, function) {
        return None;
    }
    let rated = Rated::for_function(facts, function)?;
    // Faster than the peak: whatever it computes in, most of it is not double.
    if rated.flops_per_s > rated.double {
        return None;
    }
    let total = profile_facts::kernel_ns(&function.activity.kernels);
    by_twin(facts, &rated, total).or_else(|| by_peak(facts, &rated, total))
}

fn by_twin(facts: &Facts<'_>, rated: &Rated<'_>, total: u64) -> Option<(u64, String)> {
    let ratio = rated.single / rated.double;
    let others = facts
        .functions()
        .filter_map(|(_, other)| Rated::for_function(facts, other));
    let twin = others
        .filter(|other| rated.is_twin_of(other))
        .min_by_key(|other| other.kernel.times.mean_ns)?;
    let slower = rated.kernel.times.mean_ns as f64 / twin.kernel.times.mean_ns.max(1) as f64;
    if !MIN_SLOWDOWN.reached(slower) || slower > MAX_SLOWDOWN_OVER_PEAK_RATIO.value * ratio {
        return None;
    }
    let evidence = format!(
        "may compute in double precision: {} states the same work and launches the same grid and \
         blocks, but its kernel takes {}. This one takes {}, {slower:.2} times as long, and the \
         device does {ratio:.0} times as much in single as in double.",
        sanitize::name(&twin.function.name),
        wording::ns(twin.kernel.times.mean_ns),
        wording::ns(rated.kernel.times.mean_ns),
    );
    Some(((total as f64 * (1.0 - 1.0 / slower)) as u64, evidence))
}

fn by_peak(facts: &Facts<'_>, rated: &Rated<'_>, total: u64) -> Option<(u64, String)> {
    let ratio = rated.single / rated.double;
    let near = rated.flops_per_s / rated.double;
    let memory = rated.bytes_per_call.zip(rated.device.peak_bytes_per_s);
    let memory = memory.map_or(0.0, |(bytes, peak)| {
        bytes / rated.flops_per_call * rated.flops_per_s / peak as f64
    });
    if !MIN_PEAK_RATIO.reached(ratio)
        || !MIN_DOUBLE_PEAK_SHARE.reached(near)
        || memory >= MAX_BANDWIDTH_SHARE.value
    {
        return None;
    }
    let evidence = format!(
        "may compute in double precision: its kernels run at {}, {} of the device's \
         double-precision peak and {} of its single-precision one, in {} of the GPU's kernel and \
         copy time.",
        wording::rate(rated.flops_per_s, "FLOP/s"),
        wording::share(near),
        wording::share(rated.flops_per_s / rated.single),
        wording::percent(total, facts.activity_ns),
    );
    Some(((total as f64 * (1.0 - 1.0 / ratio)) as u64, evidence))
}
