//! The rule about kernels that compute in double precision without its being stated.

use std::cmp::Reverse;

use super::candidate::FindingCandidate;
use super::profile_facts::ProfileFacts;
use super::profile_index::scaled;
use super::rule::FindingCheck;
use super::thresholds::{MIN_FP64_ACTIVITY, NO_FP64_ACTIVITY};
use super::wording;
use crate::peak_shares::{Unit, own_samples, unit_shares};
use crate::profile::{CounterValues, KernelStats, Metric, Precision};
use crate::sanitize;
use crate::sorting::sort_by_key;

pub(super) fn unmeant(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_kernels(facts, |_, kernel| {
        let counters = own_samples(kernel.counters.as_deref())?;
        let fp64 = counters.mean(Metric::Fp64Active)?;
        let home = facts.main_function(kernel);
        let applies = MIN_FP64_ACTIVITY.reached(fp64) && is_meant_single(facts, home, kernel);
        applies.then(|| {
            let (unit, share) = busiest_other(counters);
            let places = places(facts, kernel);
            let evidence = format!(
                "{}{} uses double precision{places}: FP64 {}, {unit} {}",
                wording::of_gpu_time(kernel, facts.activity_ns, &places),
                wording::kernel_name(kernel),
                wording::share(fp64),
                wording::share(share),
            );
            let advice = "write literals and accumulators as f32 (1.0f in CUDA C), or state \
                          precision = f64";
            // Conversions between the two keep the XU units busy.
            let xu = counters.mean(Metric::XuActive).unwrap_or(0.0);
            let gain = scaled(facts.device_ns(kernel), fp64.max(xu));
            (evidence, advice, gain)
        })
    })
}

/// Source lines that a text names, and instructions at each.
const MAX_PLACES: usize = 2;
const MAX_NAMES: usize = 3;

/// The lines of a kernel with the most instructions of double precision; nothing if none is known.
fn places(facts: &ProfileFacts<'_>, kernel: &KernelStats) -> String {
    let lines = facts.profile.double_lines.iter();
    let mut lines: Vec<_> = lines.filter(|line| line.kernel == kernel.name).collect();
    sort_by_key(&mut lines, |line| Reverse(line.instructions));
    lines.truncate(MAX_PLACES);
    let places = lines.into_iter().map(|line| {
        let names = line.names.iter().take(MAX_NAMES);
        let names: Vec<_> = names.map(|name| wording::name(name)).collect();
        let place = sanitize::place(&line.file, line.line);
        match &names[..] {
            [] => place,
            names => format!("{place} ({})", names.join(", ")),
        }
    });
    match &places.collect::<Vec<_>>()[..] {
        [] => String::new(),
        places => format!(" at {}", places.join(" and ")),
    }
}

/// Whether the function of a kernel states flops in single precision, or nothing is stated and no
/// other kernel uses double precision.
fn is_meant_single(facts: &ProfileFacts<'_>, home: Option<usize>, kernel: &KernelStats) -> bool {
    let function = home.and_then(|at| facts.profile.functions.get(at));
    if let Some(function) = function.filter(|function| function.flops.is_some()) {
        return function
            .precision
            .is_none_or(|precision| precision == Precision::F32);
    }
    if function.is_some_and(|function| function.precision.is_some()) {
        return false;
    }
    let others = facts.profile.kernels.iter();
    let others = others.filter(|other| other.symbol != kernel.symbol);
    let counters = others.filter_map(|other| own_samples(other.counters.as_deref()));
    let mut shares = counters.filter_map(|counters| counters.mean(Metric::Fp64Active));
    let uses = |share: f64| NO_FP64_ACTIVITY.reached(share);
    shares
        .next()
        .is_some_and(|first| !uses(first) && !shares.any(uses))
}

/// The unit beside FP64 that is nearest to its peak: often the one that converts.
fn busiest_other(counters: &CounterValues) -> (Unit, f64) {
    let shares = unit_shares(counters).into_iter();
    let mut others = shares.filter(|(unit, _)| *unit != Unit::Fp64);
    others.next().unwrap_or((Unit::Issue, 0.0))
}
