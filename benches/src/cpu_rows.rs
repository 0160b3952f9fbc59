//! The CPU rows: the bare calls, and gpuprof's spans around the same body.
//!
//! Every row is one function that is never inlined, and all are called by one loop, so that rows
//! differ only in the function.

use std::hint::black_box;
use std::time::Instant;

use gpuprof::gpu_profile;

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

/// A read of the counter behind profilers' clocks, without a barrier.
#[inline(always)]
fn counter() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86_64 has the instruction, which only reads.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: user code may read the virtual counter on Linux, which has no side effect.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }
}

#[inline(never)]
fn nothing(argument: u64) -> u64 {
    body(argument)
}

#[inline(never)]
fn raw_tsc(argument: u64) -> u64 {
    let start = counter();
    let result = body(argument);
    black_box(counter().wrapping_sub(start));
    result
}

#[inline(never)]
fn instant(argument: u64) -> u64 {
    let start = Instant::now();
    let result = body(argument);
    black_box(start.elapsed());
    result
}

/// Without its own stream it inherits its caller's, and looks for it.
#[gpu_profile(name = "bench/span")]
#[inline(never)]
fn span(argument: u64) -> u64 {
    body(argument)
}

#[gpu_profile(name = "bench/cpu", cpu)]
#[inline(never)]
fn span_cpu(argument: u64) -> u64 {
    body(argument)
}

/// The rows that need only this process, by name.
pub(crate) const ROWS: [(&str, Function); 5] = [
    ("nothing", nothing),
    ("raw-tsc", raw_tsc),
    ("instant", instant),
    ("span", span),
    ("span-cpu", span_cpu),
];
