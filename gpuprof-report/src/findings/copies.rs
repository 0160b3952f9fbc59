//! Rules about copies between host and device: slow ones, and many small ones.

use super::candidate::{About, FindingCandidate};
use super::host_time::HostTime;
use super::memory::exposed_ns;
use super::profile_facts::ProfileFacts;
use super::profile_index::{scaled, sum};
use super::rule::FindingCheck;
use super::thresholds::{
    COPY_SHARE, HOST_SHARE, PAGE_LOCKED_COPY_SHARE, PAGEABLE_OR_BLOCKING_SHARE, SMALL_COPIES,
    SMALL_COPY,
};
use super::wording;
use crate::profile::CopyStats;

/// Copies between host and device.
#[derive(Clone, Copy, Debug, Default)]
struct HostCopies {
    calls: u64,
    ns: u64,
    bytes: u64,
    exposed_ns: u64,
    pageable_calls: u64,
    pageable_ns: u64,
    blocking_calls: u64,
}

impl HostCopies {
    fn of(copies: &[CopyStats]) -> Self {
        let between: Vec<&CopyStats> = copies
            .iter()
            .filter(|copies| copies.kind.is_between_host_and_device())
            .collect();
        let sum = |of: fn(&CopyStats) -> u64| sum(between.iter().copied(), of);
        Self {
            calls: sum(|copies| copies.times.calls),
            ns: sum(|copies| copies.times.total_ns),
            bytes: sum(|copies| copies.bytes),
            exposed_ns: sum(exposed_ns),
            pageable_calls: sum(|copies| copies.pageable_calls),
            pageable_ns: sum(|copies| copies.pageable_ns),
            blocking_calls: sum(|copies| copies.blocking_calls),
        }
    }

    fn plus(self, other: Self, share: f64) -> Self {
        let plus = |one: u64, other: u64| one.saturating_add(scaled(other, share));
        Self {
            calls: plus(self.calls, other.calls),
            ns: plus(self.ns, other.ns),
            bytes: plus(self.bytes, other.bytes),
            exposed_ns: plus(self.exposed_ns, other.exposed_ns),
            pageable_calls: plus(self.pageable_calls, other.pageable_calls),
            pageable_ns: plus(self.pageable_ns, other.pageable_ns),
            blocking_calls: plus(self.blocking_calls, other.blocking_calls),
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(other.calls),
            ns: self.ns.saturating_sub(other.ns),
            bytes: self.bytes.saturating_sub(other.bytes),
            exposed_ns: self.exposed_ns.saturating_sub(other.exposed_ns),
            pageable_calls: self.pageable_calls.saturating_sub(other.pageable_calls),
            pageable_ns: self.pageable_ns.saturating_sub(other.pageable_ns),
            blocking_calls: self.blocking_calls.saturating_sub(other.blocking_calls),
        }
    }

    fn are_small(&self) -> bool {
        !SMALL_COPY.reached_by(self.bytes, self.calls)
    }
}

pub(super) fn host_copies(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    rule.of_functions(facts, |_, function| {
        let copies = HostCopies::of(&function.activity.copies);
        let is_pageable = are_pageable(&function.activity.copies);
        // Only the number of the blocking copies is known, not their time.
        let is_blocking =
            PAGEABLE_OR_BLOCKING_SHARE.reached_by(copies.blocking_calls, copies.calls);
        let is_slow = is_pageable
            || is_blocking
            || PAGE_LOCKED_COPY_SHARE.reached_by(copies.ns, facts.activity_ns);
        if !is_slow || !COPY_SHARE.reached_by(copies.ns, facts.activity_ns) || copies.are_small() {
            return None;
        }
        let kind = if is_pageable {
            "pageable "
        } else if is_blocking {
            "blocking "
        } else {
            ""
        };
        let evidence = format!(
            "{} of GPU time in {kind}copies: {}, {}, {}",
            wording::percent(copies.ns, facts.activity_ns),
            wording::counted(copies.calls, "copy", "copies"),
            wording::bytes(copies.bytes),
            wording::bytes_per_s(copies.bytes, copies.ns),
        );
        let advice = if is_pageable {
            "copy from and to page-locked memory: CudaContext::alloc_pinned"
        } else if is_blocking {
            "queue it on a stream (cuMemcpyHtoDAsync, cuMemcpyDtoHAsync) and wait where it is used"
        } else {
            "keep the data on the GPU, or copy on another stream (CudaContext::new_stream)"
        };
        let about = if is_pageable || is_blocking {
            About::SlowCopies
        } else {
            About::Copies
        };
        Some((about, evidence, advice, copies.exposed_ns))
    })
}

/// Whether most of the time of copies between host and device is that of pageable ones.
pub(super) fn are_pageable(copies: &[CopyStats]) -> bool {
    let copies = HostCopies::of(copies);
    PAGEABLE_OR_BLOCKING_SHARE.reached_by(copies.pageable_ns, copies.ns)
}

pub(super) fn small_copies(rule: &FindingCheck, facts: &ProfileFacts<'_>) -> Vec<FindingCandidate> {
    let wall_ns = facts.profile.wall_ns;
    rule.of_host_times(facts, |time| {
        let copies = copies_in(facts, time);
        let calls = &time.copies;
        let applies = SMALL_COPIES.reached(copies.calls as f64)
            && copies.are_small()
            && HOST_SHARE.reached_by(calls.saved_ns, wall_ns);
        applies.then(|| {
            let waiting = copies.blocking_calls.max(copies.pageable_calls);
            let is_waiting = PAGEABLE_OR_BLOCKING_SHARE.reached_by(waiting, copies.calls);
            let kind = if is_waiting { "blocking " } else { "" };
            let evidence = format!(
                "{} of the wall in {} {kind}copies of {}, {} per call",
                wording::percent(calls.ns, wall_ns),
                wording::count(copies.calls),
                wording::bytes(copies.bytes / copies.calls.max(1)),
                wording::ns(calls.ns / calls.calls.max(1)),
            );
            let advice = if is_waiting {
                "copy less often, or into CudaContext::alloc_pinned memory, which does not wait"
            } else {
                "pack them into one memcpy_htod or memcpy_dtoh, or keep the values on the GPU"
            };
            (evidence, advice, calls.saved_ns)
        })
    })
}

/// The copies of a function and its nested functions, or outside of every function.
fn copies_in(facts: &ProfileFacts<'_>, time: &HostTime) -> HostCopies {
    match time.function {
        Some(at) => {
            let parts = facts.parts(at).into_iter();
            parts.fold(HostCopies::default(), |copies, (_, part, share)| {
                copies.plus(HostCopies::of(&part.activity.copies), share)
            })
        }
        None => facts
            .functions()
            .map(|(_, function)| HostCopies::of(&function.activity.copies))
            .fold(HostCopies::of(&facts.profile.copies), HostCopies::minus),
    }
}
