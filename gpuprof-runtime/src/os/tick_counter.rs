//! The processor's tick counter: the fastest clock that all processors of a machine share.

/// Whether the counter runs at one rate, whatever the processor's clock does and while it sleeps.
#[cfg(target_arch = "x86_64")]
pub(crate) fn is_invariant() -> bool {
    use std::arch::x86_64::__cpuid;
    /// Leaf "Advanced Power Management Information".
    const POWER: u32 = 0x8000_0007;
    /// Bit of EDX: the time stamp counter is invariant.
    const INVARIANT_TSC: u32 = 1 << 8;
    let leaf = |number| {
        // SAFETY: every x86_64 processor has the instruction. Newer Rust declares it safe.
        #[allow(unused_unsafe)]
        unsafe {
            __cpuid(number)
        }
    };
    leaf(0x8000_0000).eax >= POWER && leaf(POWER).edx & INVARIANT_TSC != 0
}

/// The architecture's system counter always does.
#[cfg(target_arch = "aarch64")]
pub(crate) fn is_invariant() -> bool {
    true
}

/// No counter is known for this architecture.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) fn is_invariant() -> bool {
    false
}

/// The counter's value.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn read() -> u64 {
    // SAFETY: every x86_64 processor has the instruction, and it only reads a register.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The counter's value.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(crate) fn read() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets programs read this register, which has no effect.
    unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

/// Not called, as the counter is not usable.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
pub(crate) fn read() -> u64 {
    0
}
