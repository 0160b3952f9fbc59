//! Rules about copies: slow ones, and ones that could overlap with kernels.

use super::profile_facts::{self, Candidate, Facts};
use super::rule::Rule;
use super::threshold::{Threshold, Unit};
use super::wording;
use crate::profile::{CopyStats, Finding, FindingRule, Function};
use crate::table;

const COPY_SHARE: Threshold = Threshold {
    what: "share of the function's copies between host and device in the time of all kernels, \
           copies and memsets",
    value: 0.1,
    unit: Unit::Share,
    why: "a smaller share is not worth a change",
};

const PAGEABLE_OR_BLOCKING_SHARE: Threshold = Threshold {
    what: "share of pageable or blocking copies in these copies",
    value: 0.5,
    unit: Unit::Share,
    why: "only these become faster by another way of copying",
};

const PAGE_LOCKED_COPY_SHARE: Threshold = Threshold {
    what: "share from which copies of page-locked memory are reported as well",
    value: 0.5,
    unit: Unit::Share,
    why: "03_streams copies as it should, which takes 15 % of the time per direction on an H200 \
          and 31 % on the simulated device; from half of the time on, copies are the first thing \
          to look at",
};

const MEAN_COPY_BYTES: Threshold = Threshold {
    what: "mean size of these copies",
    value: 65_536.0,
    unit: Unit::Bytes,
    why: "a small copy mostly costs its start, from any memory; 04_train_digits copies at most 8 \
          KB at a time. There is no minimum number of copies: a single copy of a second is worth a \
          finding",
};

pub(super) static HOST_COPIES: Rule = Rule {
    id: FindingRule::HostCopies,
    title: "Copies between host and device",
    when: "A function's copies between host and device take a good part of the GPU time, and most \
           of them are pageable or blocking, or they take a very large part of it. The weight is \
           their time.",
    advice: "Copy less often: keep the data on the device, or let the copies run while kernels do.",
    thresholds: &[
        &COPY_SHARE,
        &PAGEABLE_OR_BLOCKING_SHARE,
        &PAGE_LOCKED_COPY_SHARE,
        &MEAN_COPY_BYTES,
    ],
    find: host_copies,
};

fn host_copies(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let found = facts
        .functions()
        .filter_map(|(_, function)| host_copies_of(rule, facts, function));
    found.collect()
}

fn host_copies_of(rule: &Rule, facts: &Facts<'_>, function: &Function) -> Option<Finding> {
    let copies: Vec<&CopyStats> = function
        .activity
        .copies
        .iter()
        .filter(|copies| copies.kind.is_between_host_and_device())
        .collect();
    let sum = |of: fn(&CopyStats) -> u64| {
        copies
            .iter()
            .fold(0_u64, |sum, copies| sum.saturating_add(of(copies)))
    };
    let (ns, calls, bytes) = (
        sum(|c| c.times.total_ns),
        sum(|c| c.times.calls),
        sum(|c| c.bytes),
    );
    let (pageable, pageable_ns, blocking) = (
        sum(|c| c.pageable_calls),
        sum(|c| c.pageable_ns),
        sum(|c| c.blocking_calls),
    );
    let is_pageable = PAGEABLE_OR_BLOCKING_SHARE.reached_by(pageable_ns, ns);
    // Only the number of the blocking copies is known, not their time.
    let is_blocking = PAGEABLE_OR_BLOCKING_SHARE.reached_by(blocking, calls);
    let is_slow =
        is_pageable || is_blocking || PAGE_LOCKED_COPY_SHARE.reached_by(ns, facts.activity_ns);
    if !is_slow
        || !COPY_SHARE.reached_by(ns, facts.activity_ns)
        || !MEAN_COPY_BYTES.reached_by(bytes, calls)
    {
        return None;
    }
    let kinds: Vec<&str> = copies.iter().map(|copies| copies.kind.as_str()).collect();
    let evidence = format!(
        "{} copies take {} of the GPU's kernel and copy time: {} in {}, {} ({} from or to pageable \
         memory, {} blocking).",
        kinds.join(" and "),
        wording::percent(ns, facts.activity_ns),
        wording::ns(ns),
        wording::counted(calls, "copy", "copies"),
        wording::rate(bytes as f64 / (ns.max(1) as f64 / 1e9), "B/s"),
        table::count(pageable).text(),
        table::count(blocking).text(),
    );
    let mut finding = rule.finding(Some(&function.name), ns, evidence);
    if is_pageable {
        "Copy from and to page-locked memory (CudaContext::alloc_pinned): it is faster, and the \
         copy can run beside kernels and the host."
            .clone_into(&mut finding.advice);
    } else if is_blocking {
        "Queue the copy on a stream (cuMemcpyHtoDAsync, cuMemcpyDtoHAsync) and wait only where the \
         data is used."
            .clone_into(&mut finding.advice);
    }
    Some(finding)
}

const PIECES_PER_CALL: Threshold = Threshold {
    what: "copies between host and device per call, and kernels per call",
    value: 4.0,
    unit: Unit::Count,
    why: "one copy in, some kernels and one copy out leave nothing to overlap with; with four of \
          each there are pieces that can overlap",
};

const MEAN_PIECE_TIME: Threshold = Threshold {
    what: "mean time of these copies",
    value: 10_000.0,
    unit: Unit::Ns,
    why: "a shorter copy mostly costs its start, which another stream does not hide; those of \
          04_train_digits take about 2 µs",
};

const EXPOSED_SHARE: Threshold = Threshold {
    what: "exposed share of these copies' time, during which no kernel ran on the device",
    value: 0.3,
    unit: Unit::Share,
    why: "copies that already overlap with kernels, on any stream, leave little to save. Not half: \
          if a nested function is also called from elsewhere, all its calls count in this share, \
          such as those of 03_streams that overlap",
};

const OVERLAP_SHARE: Threshold = Threshold {
    what: "share of the smaller of exposed and kernel time in the time of all kernels, copies and \
           memsets",
    value: 0.05,
    unit: Unit::Share,
    why: "overlapping cannot save more than that",
};

pub(super) static ONE_STREAM: Rule = Rule {
    id: FindingRule::OneStream,
    title: "Everything of a call on one stream",
    when: "Each call of a function has all its work on one stream, with kernels and copies in \
           several pieces, and for a good part of the copies' time no kernel of any function ran. \
           The weight is the smaller of exposed copy time and kernel time, which perfect overlap \
           would hide. The time of a nested function that is also called from elsewhere is divided \
           by calls.",
    advice: "If the pieces do not depend on each other, distribute them over two or three streams, \
             with page-locked memory, so that copies of one overlap with kernels of another.",
    thresholds: &[
        &PIECES_PER_CALL,
        &MEAN_PIECE_TIME,
        &EXPOSED_SHARE,
        &OVERLAP_SHARE,
        &profile_facts::NESTED_SHARE,
    ],
    find: one_stream,
};

fn one_stream(rule: &Rule, facts: &Facts<'_>) -> Vec<Finding> {
    let candidates = facts.functions().filter_map(|(at, function)| {
        one_stream_function(rule, facts, at, function).map(|finding| Candidate {
            function: at,
            finding,
        })
    });
    facts.unnested(candidates.collect())
}

fn one_stream_function(
    rule: &Rule,
    facts: &Facts<'_>,
    at: usize,
    function: &Function,
) -> Option<Finding> {
    let work = &function.activity;
    // This is the maximum of any call: different calls may have used different streams.
    if work.work_streams != 1 {
        return None;
    }
    let parts = Parts::for_function(facts, at)?;
    let (copies, kernels) = (parts.copies_ns as u64, parts.kernels_ns as u64);
    let alone = parts.exposed_ns as u64;
    let smaller = kernels.min(alone);
    let calls = work.busy_calls;
    let could = PIECES_PER_CALL.reached_by(parts.copies as u64, calls)
        && PIECES_PER_CALL.reached_by(work.launches, calls)
        && MEAN_PIECE_TIME.reached(parts.copies_ns / parts.copies)
        && EXPOSED_SHARE.reached_by(alone, copies)
        && OVERLAP_SHARE.reached_by(smaller, facts.activity_ns);
    could.then(|| {
        let evidence = format!(
            "each call has all its work on one stream: about {} of kernels and {} of copies \
             between host and device, of which {} while no kernel ran. They might overlap.",
            wording::ns(kernels),
            wording::ns(copies),
            wording::ns(alone),
        );
        rule.finding(Some(&function.name), smaller, evidence)
    })
}

/// Kernels and host copies of a function and its nested functions.
#[derive(Default)]
struct Parts {
    kernels_ns: f64,
    copies: f64,
    copies_ns: f64,
    /// Part of `copies_ns` during which no kernel ran on the device.
    exposed_ns: f64,
}

impl Parts {
    /// `None` if the exposed time of the copies was not computed.
    fn for_function(facts: &Facts<'_>, at: usize) -> Option<Self> {
        let mut sums = Self::default();
        for (part, share) in facts.parts(at) {
            sums.kernels_ns += profile_facts::kernel_ns(&part.activity.kernels) as f64 * share;
            let copies = part.activity.copies.iter();
            for copies in copies.filter(|copies| copies.kind.is_between_host_and_device()) {
                sums.copies += copies.times.calls as f64 * share;
                sums.copies_ns += copies.times.total_ns as f64 * share;
                sums.exposed_ns += copies.exposed_ns? as f64 * share;
            }
        }
        Some(sums)
    }
}
