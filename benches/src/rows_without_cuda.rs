//! The rows that make no CUDA call: the bare calls, and gpuprof's spans around the same body.
//!
//! Every row is one function that is never inlined, so that rows differ only in the function.

use std::hint::black_box;
use std::time::Instant;

use gpuprof::gpu_profile;

use crate::loop_under_test::{Function, body};

// The file itself, because the runtime exports no part of it.
#[path = "../../gpuprof-runtime/src/os/own_work.rs"]
#[expect(dead_code, reason = "a row needs only the guard")]
mod own_work;

use own_work::OwnWork;

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

/// None of its parameters has a stream, so each call looks for the enclosing span's stream; here
/// there is none.
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

/// The re-entry guard of a call with a stream: the check at its start, then gpuprof's own work at
/// its start and at its end.
#[inline(never)]
fn guard(argument: u64) -> u64 {
    if own_work::is_here() {
        own_work::count_skipped();
        return body(argument);
    }
    drop(black_box(OwnWork::begin()));
    let result = body(argument);
    drop(black_box(OwnWork::begin()));
    result
}

/// The rows that need only this process, by name.
pub(crate) const ROWS: [(&str, Function); 6] = [
    ("nothing", nothing),
    ("raw-tsc", raw_tsc),
    ("instant", instant),
    ("span", span),
    ("span-cpu", span_cpu),
    ("guard", guard),
];
