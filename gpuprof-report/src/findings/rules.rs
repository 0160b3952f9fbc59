//! The list of rules.

use super::rule::Rule;
use super::{copies, double_precision, host, kernels, program, roofline};

/// Every rule. Findings of the same weight are sorted in this order.
pub const RULES: [&Rule; 12] = [
    &double_precision::DOUBLE_PRECISION,
    &kernels::LAUNCH_BOUND,
    &copies::HOST_COPIES,
    &copies::ONE_STREAM,
    &host::SYNCHRONIZATION,
    &kernels::UNDERUSED,
    &roofline::ROOFLINE,
    &kernels::ONE_KERNEL,
    &host::FIRST_CALL,
    &program::SPREAD,
    &program::UNATTRIBUTED,
    &program::THROTTLED,
];
