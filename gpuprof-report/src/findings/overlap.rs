//! Rules about work that could run at once: copies beside kernels, and kernels beside kernels.

use super::candidate::{About, FindingCandidate};
use super::copies;
use super::profile_facts::ProfileFacts;
use super::profile_index::{kernel_ns, scaled, sum};
use super::rule::FindingCheck;
use super::shapes::lone_grid;
use super::thresholds::{
    EXPOSED_SHARE, KERNEL_MEAN, KERNEL_SHARE, MEAN_PIECE_TIME, OVERLAP_SHARE, PIECES_PER_CALL,
    SERIAL_BLOCKS_PER_SM, SERIAL_LAUNCHES,
};
use super::wording;

pub(super) fn one_stream(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_functions(facts, |at, function| {
        let work = &function.activity;
        // This is the maximum of any call: different calls may have used different streams.
        let calls = work.busy_calls;
        if work.work_streams != 1 || !PIECES_PER_CALL.reached_by(work.launches, calls) {
            return None;
        }
        let parts = KernelsAndCopies::sums_inside_function(facts, at)?;
        let (copies, kernels) = (parts.copies_ns as u64, parts.kernels_ns as u64);
        let alone = parts.exposed_ns as u64;
        let smaller = kernels.min(alone);
        let could = PIECES_PER_CALL.reached_by(parts.copies as u64, calls)
            && MEAN_PIECE_TIME.reached(parts.copies_ns / parts.copies.max(1.0))
            && EXPOSED_SHARE.reached_by(alone, copies)
            && OVERLAP_SHARE.reached_by(smaller, facts.activity_ns);
        could.then(|| {
            let evidence = format!(
                "{} of {} of copies ran beside no kernel: {} of kernels on the same stream",
                wording::ns(alone),
                wording::ns(copies),
                wording::ns(kernels),
            );
            let advice =
                "distribute independent pieces over several streams: CudaContext::new_stream";
            (About::NestedCopies, evidence, advice, smaller)
        })
    })
}

/// Kernels and host copies of a function and its nested functions.
#[derive(Default)]
struct KernelsAndCopies {
    kernels_ns: f64,
    copies: f64,
    copies_ns: f64,
    /// Part of `copies_ns` during which no kernel ran on the device, at most.
    exposed_ns: f64,
}

impl KernelsAndCopies {
    /// `None` if the exposed time of the copies was not computed, or if they are pageable.
    fn sums_inside_function(facts: &ProfileFacts<'_>, at: usize) -> Option<Self> {
        let launched = facts.launched_inside(at);
        let mut sums = Self::default();
        for (inner, part, share) in facts.parts(at) {
            if copies::are_pageable(&part.activity.copies) {
                return None;
            }
            // What it launched elsewhere counts elsewhere. A tree without activities, of an older
            // version, is divided by calls.
            let launched = launched
                .as_ref()
                .map(|launched| launched.get(&(inner as u32)).copied().unwrap_or_default());
            let all_kernels_ns = kernel_ns(&part.activity.kernels) as f64;
            sums.kernels_ns += match launched {
                Some(launched) => launched.kernels_ns as f64,
                None => all_kernels_ns * share,
            };
            let copies = part.activity.copies.iter();
            let copies = copies.filter(|copies| copies.kind.is_between_host_and_device());
            let (mut calls, mut total_ns, mut exposed_ns) = (0.0, 0.0, 0.0);
            for copies in copies {
                calls += copies.times.calls as f64;
                total_ns += copies.times.total_ns as f64;
                exposed_ns += copies.exposed_ns? as f64;
            }
            let (calls, total_ns) = match launched {
                Some(launched) => (launched.copies as f64, launched.copies_ns as f64),
                None => (calls * share, total_ns * share),
            };
            sums.copies += calls;
            sums.copies_ns += total_ns;
            sums.exposed_ns += match launched {
                Some(_) => exposed_ns.min(total_ns),
                None => exposed_ns * share,
            };
        }
        Some(sums)
    }
}

pub(super) fn serial_kernels(
    rule: &FindingCheck,
    facts: &ProfileFacts<'_>,
) -> Vec<FindingCandidate> {
    rule.of_functions(facts, |at, function| {
        if function.activity.work_streams != 1 {
            return None;
        }
        let homed = facts
            .profile
            .kernels
            .iter()
            .enumerate()
            .filter_map(|(index, kernel)| {
                let grid = lone_grid(facts, kernel)?;
                let is_small = facts.main_function(kernel) == Some(at)
                    && grid.filled <= SERIAL_BLOCKS_PER_SM.0
                    && KERNEL_MEAN.reached(kernel.times.mean_ns as f64);
                is_small.then_some((index, kernel, grid))
            });
        let small: Vec<_> = homed.collect();
        let launches = sum(&small, |(_, kernel, _)| kernel.times.calls);
        let total_ns = sum(&small, |(_, kernel, _)| kernel.times.total_ns);
        let alone_ns = sum(&small, |(_, _, grid)| grid.alone_ns);
        let (_, hottest, grid) = small
            .iter()
            .max_by_key(|(_, kernel, _)| kernel.times.total_ns)?;
        let filled = small
            .iter()
            .fold(0.0, |most: f64, (_, _, grid)| most.max(grid.filled));
        let per_call = launches as f64 / function.activity.busy_calls.max(1) as f64;
        let at_once = (1.0 / filled).floor().min(per_call.floor());
        let applies = SERIAL_LAUNCHES.reached_by(launches, function.activity.busy_calls)
            && KERNEL_SHARE.reached_by(total_ns, facts.activity_ns);
        applies.then(|| {
            let evidence = format!(
                "{} of GPU time in {} small launches/call, one by one: {}, {} for {} SMs",
                wording::percent(total_ns, facts.activity_ns),
                wording::mean(launches, function.activity.busy_calls),
                wording::kernel_name(hottest),
                wording::counted(grid.blocks, "block", "blocks"),
                grid.multiprocessors,
            );
            let advice = "launch independent ones on several streams (CudaContext::new_stream), or \
                          batch them";
            let gain = scaled(alone_ns, 1.0 - 1.0 / at_once);
            let kernels = small.iter().map(|(index, _, _)| *index).collect();
            (About::Kernels(kernels), evidence, advice, gain)
        })
    })
}
