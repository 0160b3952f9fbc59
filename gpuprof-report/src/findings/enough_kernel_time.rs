//! Which functions have enough kernel time to judge their rate of stated work.

use super::profile_facts::{self, Facts};
use super::threshold::{Threshold, Unit};
use crate::profile::Function;

pub(super) const RATED_SHARE: Threshold = Threshold {
    what: "share of the function's kernels in the time of all kernels, copies and memsets",
    value: 0.1,
    unit: Unit::Share,
    why: "a smaller share is not worth a change. The GPU self time is not the reference: that of \
          run_version in 02_convolution is mostly a wait for the host, which depends on how slow \
          the host is",
};

pub(super) const RATED_CALLS: Threshold = Threshold {
    what: "timed calls",
    value: 5.0,
    unit: Unit::Count,
    why: "the first calls can be slow for reasons of their own",
};

pub(super) const RATED_MEAN: Threshold = Threshold {
    what: "mean time of its kernels",
    value: 20_000.0,
    unit: Unit::Ns,
    why: "start and end of a kernel take a few µs, which distorts the rate of a shorter one",
};

pub(super) const KERNEL_SHARE_OF_FUNCTION: Threshold = Threshold {
    what: "share of kernels in the function's own kernel and copy time",
    value: 0.5,
    unit: Unit::Share,
    why: "copies to and from the host are limited by PCIe, not by the peaks that the stated work \
          is compared with",
};

/// Whether the function has enough kernel time and timed calls for a meaningful rate.
pub(super) fn is_rated(facts: &Facts<'_>, function: &Function) -> bool {
    let Some(gpu) = &function.gpu else {
        return false;
    };
    let kernels = profile_facts::kernel_ns(&function.activity.kernels);
    let copies = profile_facts::copy_ns(&function.activity.copies);
    let launches: u64 = function
        .activity
        .kernels
        .iter()
        .map(|kernel| kernel.times.calls)
        .sum();
    RATED_SHARE.reached_by(kernels, facts.activity_ns)
        && RATED_CALLS.reached(gpu.timed_calls as f64)
        && RATED_MEAN.reached(kernels as f64 / launches.max(1) as f64)
        && KERNEL_SHARE_OF_FUNCTION.reached_by(kernels, kernels.saturating_add(copies))
}
