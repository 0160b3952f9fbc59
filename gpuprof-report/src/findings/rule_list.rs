//! The list of rules.

use super::rule::Rule;
use super::{below_roofline, copies, double_precision, host_time, kernels, whole_run};

/// Every rule. Findings of the same weight are sorted in this order.
pub const RULES: [&Rule; 12] = [
    &double_precision::DOUBLE_PRECISION,
    &kernels::LAUNCH_BOUND,
    &copies::HOST_COPIES,
    &copies::ONE_STREAM,
    &host_time::SYNCHRONIZATION,
    &kernels::UNDERUSED,
    &below_roofline::ROOFLINE,
    &kernels::ONE_KERNEL,
    &host_time::FIRST_CALL,
    &whole_run::SPREAD,
    &whole_run::UNATTRIBUTED,
    &whole_run::THROTTLED,
];
