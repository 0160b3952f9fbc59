//! How much memory this process holds.

use std::{fs, io};

/// Resident bytes, added up page by page: the running total of the system may be off by megabytes.
pub(crate) fn resident() -> u64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").expect("Linux tells");
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok())
        .expect("a number of kB")
        << 10
}

/// Has the allocator keep what it once had from the system, for the rest of the process.
///
/// It would return free memory whenever it likes, also in the warm-up, and ask for it again later:
/// growth that nobody caused.
pub(crate) fn keep_freed() -> io::Result<()> {
    // SAFETY: the parameter is one of glibc's, and no other thread runs yet.
    match unsafe { libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX) } {
        0 => Err(io::Error::other("mallopt refused M_TRIM_THRESHOLD")),
        _ => Ok(()),
    }
}

/// Resident memory since a moment.
#[derive(Clone, Copy)]
pub(crate) struct Since(u64);

impl Since {
    pub(crate) fn now() -> Self {
        Self(resident())
    }

    /// Bytes more than then.
    pub(crate) fn growth(self) -> u64 {
        resident().saturating_sub(self.0)
    }
}
