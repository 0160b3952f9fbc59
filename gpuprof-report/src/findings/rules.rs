//! The list of rules.

use super::rule::Rule;
use super::{below_roofline, copies, double_precision, host, kernels, program};

/// Every rule. Findings of the same weight are sorted in this order.
pub const RULES: [&Rule; 12] = [
    &double_precision::DOUBLE_PRECISION,
    &kernels::LAUNCH_BOUND,
    &copies::HOST_COPIES,
    &copies::ONE_STREAM,
    &host::SYNCHRONIZATION,
    &kernels::UNDERUSED,
    &below_roofline::ROOFLINE,
    &kernels::ONE_KERNEL,
    &host::FIRST_CALL,
    &program::SPREAD,
    &program::UNATTRIBUTED,
    &program::THROTTLED,
];
