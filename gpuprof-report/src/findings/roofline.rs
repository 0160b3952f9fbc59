//! Rules about rates: stated bytes and flops against what the device can do.
//!
//! Must not import another rule.

use super::facts::{self, Facts};
use super::rule::{Rule, Threshold, Unit};
use crate::profile::{Device, Finding, FindingRule, Function, KernelStats};
use crate::sanitize;

const RATED_SHARE: Threshold = Threshold {
    what: "share of the function's kernels in the time of all kernels, copies and memsets",
    value: 0.1,
    unit: Unit::Share,
    why: "less is not worth a change. Not of the GPU self time: that of run_version in 02_convolution is mostly a wait for the host, \
          the longer the slower the host",
};

const RATED_CALLS: Threshold = Threshold {
    what: "timed calls",
    value: 5.0,
    unit: Unit::Count,
    why: "the first call or two may be slow for reasons of their own",
};

const RATED_MEAN: Threshold = Threshold {
    what: "mean time of its kernels",
    value: 20_000.0,
    unit: Unit::Ns,
    why: "start and end of a kernel take some µs, which weigh on the rate of a shorter one",
};

const OWN_KERNELS: Threshold = Threshold {
    what: "kernels in the function's own kernel and copy time",
    value: 0.5,
    unit: Unit::Share,
    why: "copies to and from the host are limited by PCIe, and not by the peaks that work is held against",
};

const LOW_RATE: Threshold = Threshold {
    what: "share of the nearer peak, less than",
    value: 0.1,
    unit: Unit::Share,
    why: "simple kernels reach a fifth to a half; a tenth says that something other than the peaks holds it back",
};

/// A function is far from both peaks.
pub(super) static ROOFLINE: Rule = Rule {
    id: FindingRule::BelowRoofline,
    title: "Below the roofline",
    when: "A function that states bytes or flops and whose own time is kernels is far below both the memory bandwidth and the \
           single-precision peak of its device while its kernels run, and is not suspected of double precision. (The table's % peak \
           goes by the GPU span, gaps included.) Its weight is its kernels' time, less what it would be at the nearer peak.",
    advice: "Look inside the kernel with ncu: uncoalesced or repeated reads (shared memory helps), too little work in flight, or \
             more work done than is stated.",
    thresholds: &[
        &LOW_RATE,
        &RATED_SHARE,
        &RATED_CALLS,
        &RATED_MEAN,
        &OWN_KERNELS,
    ],
    find: roofline,
};

fn roofline(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let found = facts.functions().filter_map(|(_, function)| {
        let rated = Rates::of(facts, function)?;
        if !is_rated(facts, function) || suspect(facts, function).is_some() {
            return None;
        }
        let nearer = rated.memory.unwrap_or(0.0).max(rated.single.unwrap_or(0.0));
        if nearer <= 0.0 || nearer >= LOW_RATE.value {
            return None;
        }
        let memory = rated
            .memory
            .map(|share| format!("{} of the memory bandwidth", facts::share(share)));
        let single = rated
            .single
            .map(|share| format!("{} of the single-precision peak", facts::share(share)));
        let of: Vec<String> = memory.into_iter().chain(single).collect();
        let evidence = format!(
            "by the work that it states its kernels reach {}; they take {} of the GPU's kernel and copy time.",
            of.join(" and "),
            facts::percent(rated.kernel_ns, facts.activity_ns),
        );
        let weight = rated.kernel_ns as f64 * (1.0 - nearer);
        Some(rule.finding(Some(&function.name), weight as u64, evidence))
    });
    found.collect()
}

/// What a function states over what its device could have done while its kernels ran, 1 being the peak.
struct Rates {
    kernel_ns: u64,
    memory: Option<f64>,
    single: Option<f64>,
}

impl Rates {
    /// `None` where its kernels ran on several devices, or on one that is not known.
    fn of(facts: &Facts<'_>, function: &Function) -> Option<Self> {
        let work = &function.activity;
        let ordinal = work.kernels.first()?.device;
        let device = facts.device(ordinal)?;
        if work.kernels.iter().any(|kernel| kernel.device != ordinal) {
            return None;
        }
        let kernel_ns = facts::kernel_ns(&work.kernels);
        let calls = work.busy_calls as f64 / function.runs().max(1) as f64;
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

/// Whether there is enough of it to speak of its rate.
fn is_rated(facts: &Facts<'_>, function: &Function) -> bool {
    let Some(gpu) = &function.gpu else {
        return false;
    };
    let kernels = facts::kernel_ns(&function.activity.kernels);
    let copies = facts::copy_ns(&function.activity.copies);
    let launches: u64 = function
        .activity
        .kernels
        .iter()
        .map(|kernel| kernel.times.calls)
        .sum();
    RATED_SHARE.reached_by(kernels, facts.activity_ns)
        && RATED_CALLS.reached(gpu.timed_calls as f64)
        && RATED_MEAN.reached(kernels as f64 / launches.max(1) as f64)
        && OWN_KERNELS.reached_by(kernels, kernels.saturating_add(copies))
}

const SAME_WORK: Threshold = Threshold {
    what: "difference of the flops and bytes that two functions state per call, at most",
    value: 0.01,
    unit: Unit::Share,
    why: "only functions that do the same can be compared",
};

const SLOWER: Threshold = Threshold {
    what: "how many times as long as the other one's its kernel takes, at least",
    value: 1.2,
    unit: Unit::Times,
    why: "02_convolution's double accumulator costs 1.37 times the single one on an H200, whose double precision runs at half \
          the rate; two kernels of the same speed differ by less than a tenth from run to run",
};

const EXPLAINED: Threshold = Threshold {
    what: "the same in units of the single-precision peak over the double-precision one, at most",
    value: 1.1,
    unit: Unit::Times,
    why: "double precision cannot cost more than the ratio of the peaks: what takes longer has another reason. On an H200 that \
          ratio is 2, on the simulated device 32",
};

const MAIN_KERNEL: Threshold = Threshold {
    what: "share of its kernels' time that one kernel takes",
    value: 0.8,
    unit: Unit::Share,
    why: "else it is not known which kernel the flops are of",
};

const NARROW: Threshold = Threshold {
    what: "single-precision peak over double-precision peak",
    value: 8.0,
    unit: Unit::Times,
    why: "where double precision runs at half the rate, to run near its peak says nothing; the second sign is for devices with 32 \
          or 64 times the rate in single precision",
};

const NEAR_DOUBLE: Threshold = Threshold {
    what: "stated flops over the double-precision peak, at least (and at most 1)",
    value: 0.7,
    unit: Unit::Share,
    why: "kernels bound by so few units keep them busy. Above 1 it cannot be double precision: multiply_naive of 06_threads runs \
          at 1.03 on the simulated device, convolve_double of 02_convolution at 0.99",
};

const NOT_MEMORY: Threshold = Threshold {
    what: "stated bytes over the memory bandwidth, less than",
    value: 0.5,
    unit: Unit::Share,
    why: "memory would explain the time as well",
};

/// A function may compute in double precision.
pub(super) static DOUBLE: Rule = Rule {
    id: FindingRule::DoublePrecisionSuspect,
    title: "Double precision, perhaps by mistake",
    when: "A function states flops, and one of two signs says that it may compute in double precision. Either another function \
           states the same work per call, launches a kernel of the same grid, block and shared memory, and is faster by no more than \
           double precision explains. Or its rate is just below the device's double-precision peak, where that is far below the \
           single-precision one. CUPTI does not tell which instructions ran, so it stays a suspicion. Its weight is what it takes \
           longer than the other function, or than the same work would in single precision.",
    advice: "Look for a double in the kernel: an accumulator, a literal without f (0.5), a math function without f (sqrt, exp). ncu \
             shows the FP64 pipe.",
    thresholds: &[
        &RATED_SHARE,
        &RATED_CALLS,
        &RATED_MEAN,
        &OWN_KERNELS,
        &MAIN_KERNEL,
        &SAME_WORK,
        &SLOWER,
        &EXPLAINED,
        &NARROW,
        &NEAR_DOUBLE,
        &NOT_MEMORY,
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

/// What is known of a function's one kernel.
struct Rated<'a> {
    function: &'a Function,
    kernel: &'a KernelStats,
    device: &'a Device,
    flops_per_call: f64,
    bytes_per_call: Option<f64>,
    /// Stated flops over kernel time.
    flops_per_s: f64,
    single: f64,
    double: f64,
}

impl<'a> Rated<'a> {
    fn of(facts: &Facts<'a>, function: &'a Function) -> Option<Self> {
        let work = &function.activity;
        let kernel = work
            .kernels
            .iter()
            .max_by_key(|kernel| kernel.times.total_ns)?;
        let own = facts::kernel_ns(&work.kernels);
        let device = facts.device(kernel.device)?;
        let runs = function.runs().max(1) as f64;
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
        MAIN_KERNEL
            .reached_by(kernel.times.total_ns, own)
            .then_some(rated)
    }

    /// Whether the other one states the same work and launches the same shape of another kernel.
    fn is_twin_of(&self, other: &Self) -> bool {
        let close = |a: f64, b: f64| (a - b).abs() <= SAME_WORK.value * a.max(b);
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

/// What double precision may cost the function, ns, and what says so.
fn suspect(facts: &Facts<'_>, function: &Function) -> Option<(u64, String)> {
    if !is_rated(facts, function) {
        return None;
    }
    let rated = Rated::of(facts, function)?;
    // Faster than the peak: whatever it computes in, most of it is not double.
    if rated.flops_per_s > rated.double {
        return None;
    }
    let total = facts::kernel_ns(&function.activity.kernels);
    by_twin(facts, &rated, total).or_else(|| by_peak(facts, &rated, total))
}

fn by_twin(facts: &Facts<'_>, rated: &Rated<'_>, total: u64) -> Option<(u64, String)> {
    let ratio = rated.single / rated.double;
    let others = facts
        .functions()
        .filter_map(|(_, other)| Rated::of(facts, other));
    let twin = others
        .filter(|other| rated.is_twin_of(other))
        .min_by_key(|other| other.kernel.times.mean_ns)?;
    let slower = rated.kernel.times.mean_ns as f64 / twin.kernel.times.mean_ns.max(1) as f64;
    if !SLOWER.reached(slower) || slower > EXPLAINED.value * ratio {
        return None;
    }
    let evidence = format!(
        "may compute in double precision: {} states the same work and launches the same grid and blocks, but its kernel takes {}. \
         This one takes {}, {slower:.2} times as long, and the device does {ratio:.0} times as much in single as in double.",
        sanitize::name(&twin.function.name),
        facts::ns(twin.kernel.times.mean_ns),
        facts::ns(rated.kernel.times.mean_ns),
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
    if !NARROW.reached(ratio) || !NEAR_DOUBLE.reached(near) || memory >= NOT_MEMORY.value {
        return None;
    }
    let evidence = format!(
        "may compute in double precision: its kernels run at {}, {} of the device's double-precision peak and {} of its \
         single-precision one, in {} of the GPU's kernel and copy time.",
        facts::rate(rated.flops_per_s, "FLOP/s"),
        facts::share(near),
        facts::share(rated.flops_per_s / rated.single),
        facts::percent(total, facts.activity_ns),
    );
    Some(((total as f64 * (1.0 - 1.0 / ratio)) as u64, evidence))
}
