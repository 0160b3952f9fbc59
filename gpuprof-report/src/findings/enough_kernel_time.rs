//! Which functions have enough kernel time to judge their rate of stated work.

use super::profile_facts::ProfileFacts;
use super::profile_index::{copy_ns, kernel_ns, sum};
use super::thresholds::{KERNEL_SHARE_OF_FUNCTION, RATED_CALLS, RATED_MEAN, RATED_SHARE};
use crate::profile::Function;

/// Whether the function has enough kernel time and timed calls for a meaningful rate.
pub(super) fn is_rated(facts: &ProfileFacts<'_>, function: &Function) -> bool {
    let Some(gpu) = &function.gpu else {
        return false;
    };
    let kernels = kernel_ns(&function.activity.kernels);
    let copies = copy_ns(&function.activity.copies);
    let launches = sum(&function.activity.kernels, |kernel| kernel.times.calls);
    RATED_SHARE.reached_by(kernels, facts.activity_ns)
        && RATED_CALLS.reached(gpu.timed_calls as f64)
        && RATED_MEAN.reached(kernels as f64 / launches.max(1) as f64)
        && KERNEL_SHARE_OF_FUNCTION.reached_by(kernels, kernels.saturating_add(copies))
}
