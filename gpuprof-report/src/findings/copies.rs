//! Rules about copies: slow ones, and those that could run beside kernels.
//!
//! Must not import another rule.

use super::facts::{self, Candidate, Facts};
use super::rule::{Rule, Threshold, Unit};
use crate::profile::{CopyStats, Finding, FindingRule, Function};
use crate::table;

const COPY_SHARE: Threshold = Threshold {
    what: "share of the function's copies between host and device in the time of all kernels, copies and memsets",
    value: 0.1,
    unit: Unit::Share,
    why: "less is not worth a change",
};

const WAITING: Threshold = Threshold {
    what: "pageable or blocking copies in that time",
    value: 0.5,
    unit: Unit::Share,
    why: "these are what another way of copying makes faster",
};

const MOSTLY_COPIES: Threshold = Threshold {
    what: "share from which on also copies of page-locked memory are told",
    value: 0.5,
    unit: Unit::Share,
    why: "03_streams copies as it should, in each direction for 15 % of the time on an H200 and 31 % on the simulated device; at half \
          of it copies are what to look at",
};

const COPY_BYTES: Threshold = Threshold {
    what: "mean size of these copies",
    value: 65_536.0,
    unit: Unit::Bytes,
    why: "small copies cost their start, whatever memory they are from; 04_train_digits copies 8 KB and less at a time. There is no least \
          number of copies: one of a second is worth telling",
};

/// Copies between host and device take long.
pub(super) static HOST_COPIES: Rule = Rule {
    id: FindingRule::HostCopies,
    title: "Copies between host and device",
    when: "A function's copies between host and device take a good part of the time, and most of them are from or to pageable \
           memory or blocking, or they take a very large part. Its weight is their time.",
    advice: "Copy less often: keep the data on the device, or let the copies run while kernels do.",
    thresholds: &[&COPY_SHARE, &WAITING, &MOSTLY_COPIES, &COPY_BYTES],
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
        .filter(|copies| facts::to_or_from_host(copies))
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
    let is_pageable = WAITING.reached_by(pageable_ns, ns);
    // How long the blocking ones took is not known, only how many they were.
    let is_blocking = WAITING.reached_by(blocking, calls);
    let is_slow = is_pageable || is_blocking || MOSTLY_COPIES.reached_by(ns, facts.activity_ns);
    if !is_slow
        || !COPY_SHARE.reached_by(ns, facts.activity_ns)
        || !COPY_BYTES.reached_by(bytes, calls)
    {
        return None;
    }
    let kinds: Vec<&str> = copies.iter().map(|copies| copies.kind.as_str()).collect();
    let evidence = format!(
        "{} copies take {} of the GPU's kernel and copy time: {} in {}, {} ({} from or to pageable memory, {} blocking).",
        kinds.join(" and "),
        facts::percent(ns, facts.activity_ns),
        facts::ns(ns),
        facts::counted(calls, "copy", "copies"),
        facts::rate(bytes as f64 / (ns.max(1) as f64 / 1e9), "B/s"),
        table::count(pageable).text(),
        table::count(blocking).text(),
    );
    let mut finding = rule.finding(Some(&function.name), ns, evidence);
    if is_pageable {
        "Copy from and to page-locked memory (CudaContext::alloc_pinned): it is faster, and the copy can run beside kernels and \
         the host."
            .clone_into(&mut finding.advice);
    } else if is_blocking {
        "Queue the copy on a stream (cuMemcpyHtoDAsync, cuMemcpyDtoHAsync) and wait only where the data is used."
            .clone_into(&mut finding.advice);
    }
    Some(finding)
}

const PIECES: Threshold = Threshold {
    what: "copies between host and device per call, and kernels per call",
    value: 4.0,
    unit: Unit::Count,
    why: "one copy in, some kernels and one copy out leave nothing to overlap with; four make pieces",
};

const PIECE: Threshold = Threshold {
    what: "mean time of these copies",
    value: 10_000.0,
    unit: Unit::Ns,
    why: "shorter copies cost their start, which no other stream takes away; those of 04_train_digits take about 2 µs",
};

const ALONE: Threshold = Threshold {
    what: "share of these copies' time in which no kernel ran on the device",
    value: 0.3,
    unit: Unit::Share,
    why: "of copies that already run beside kernels, on whatever stream, little can be won. Not half: of a function inside that is \
          called from elsewhere too all calls are in this share, as those of 03_streams that overlap",
};

const OVERLAP_SHARE: Threshold = Threshold {
    what: "the smaller of that time and the kernels' in the time of all kernels, copies and memsets",
    value: 0.05,
    unit: Unit::Share,
    why: "this is the most that overlapping can win",
};

/// Copies wait for kernels and kernels for copies.
pub(super) static ONE_STREAM: Rule = Rule {
    id: FindingRule::OneStream,
    title: "Everything of a call on one stream",
    when: "Each call of a function has all its work on one stream, kernels and copies in several pieces, and for a good part of the \
           copies' time no kernel of any function ran. Its weight is the smaller of the time of the copies without a kernel and the time \
           of the kernels: what would be hidden if they overlapped all the way. Where a function inside is called from elsewhere \
           too, its time is shared out by calls.",
    advice: "If the pieces do not depend on each other, put them on two or three streams in turn, with page-locked memory: what \
             one copies then overlaps with what another computes.",
    thresholds: &[&PIECES, &PIECE, &ALONE, &OVERLAP_SHARE, &facts::INNER],
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
    // The most of any call: one call after the other may have been on different ones.
    if work.work_streams != 1 {
        return None;
    }
    let parts = Parts::of(facts, at)?;
    let (copies, kernels) = (parts.copies_ns as u64, parts.kernels_ns as u64);
    let alone = parts.exposed_ns as u64;
    let smaller = kernels.min(alone);
    let calls = work.busy_calls;
    let could = PIECES.reached_by(parts.copies as u64, calls)
        && PIECES.reached_by(work.launches, calls)
        && PIECE.reached(parts.copies_ns / parts.copies)
        && ALONE.reached_by(alone, copies)
        && OVERLAP_SHARE.reached_by(smaller, facts.activity_ns);
    could.then(|| {
        let evidence = format!(
            "each call has all its work on one stream: about {} of kernels and {} of copies between host and device, of which {} \
             while no kernel ran. They might overlap.",
            facts::ns(kernels),
            facts::ns(copies),
            facts::ns(alone),
        );
        rule.finding(Some(&function.name), smaller, evidence)
    })
}

/// What a function and those inside copied between host and device and computed.
#[derive(Default)]
struct Parts {
    kernels_ns: f64,
    copies: f64,
    copies_ns: f64,
    /// Of that while no kernel ran on the device.
    exposed_ns: f64,
}

impl Parts {
    /// `None` where it was not worked out what else ran beside the copies.
    fn of(facts: &Facts<'_>, at: usize) -> Option<Self> {
        let mut sums = Self::default();
        for (part, share) in facts.parts(at) {
            sums.kernels_ns += facts::kernel_ns(&part.activity.kernels) as f64 * share;
            let copies = part.activity.copies.iter();
            for copies in copies.filter(|copies| facts::to_or_from_host(copies)) {
                sums.copies += copies.times.calls as f64 * share;
                sums.copies_ns += copies.times.total_ns as f64 * share;
                sums.exposed_ns += copies.exposed_ns? as f64 * share;
            }
        }
        Some(sums)
    }
}
