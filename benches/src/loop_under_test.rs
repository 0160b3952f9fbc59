//! The loop that calls each function under test, and the body that all these functions have.

use std::hint::black_box;

/// Calls `function` `calls` times. All rows share this loop at one address: two copies of a loop of
/// one nanosecond can differ by half of that because of their alignment.
#[inline(never)]
pub(crate) fn repeat(function: Function, calls: u64) {
    let function = black_box(function);
    for argument in 0..calls {
        black_box(function(black_box(argument)));
    }
}

/// A function under test.
pub(crate) type Function = fn(u64) -> u64;

/// The body of every function under test.
#[inline(always)]
pub(crate) fn body(argument: u64) -> u64 {
    black_box(argument).wrapping_add(1)
}
