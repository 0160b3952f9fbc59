//! Resident memory of this process.

use std::{fs, io};

/// Resident bytes, summed over all pages: the system's running total may be off by megabytes.
pub(crate) fn resident() -> u64 {
    let rollup =
        fs::read_to_string("/proc/self/smaps_rollup").expect("Linux has /proc/self/smaps_rollup");
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok())
        .expect("a number of kB")
        << 10
}

/// Makes the allocator keep freed memory until the process ends.
///
/// Otherwise glibc returns free memory at any time, also during the warm-up, and requests it again
/// later, which looks like growth.
pub(crate) fn retain_freed_memory() -> io::Result<()> {
    // SAFETY: the parameter is one of glibc's, and no other thread runs yet.
    match unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX) } {
        0 => Err(io::Error::other("mallopt refused M_TRIM_THRESHOLD")),
        _ => Ok(()),
    }
}

/// The resident memory at a point in time, to measure growth from it.
#[derive(Clone, Copy)]
pub(crate) struct ResidentMemory(u64);

impl ResidentMemory {
    pub(crate) fn now() -> Self {
        Self(resident())
    }

    /// Growth since then, in bytes.
    pub(crate) fn growth(self) -> u64 {
        resident().saturating_sub(self.0)
    }
}
