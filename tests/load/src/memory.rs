//! How much memory this process holds.

use std::fs;

/// Resident bytes, added up page by page: the running total that the system also keeps may be off by megabytes.
pub(crate) fn resident() -> u64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").expect("Linux tells");
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok())
        .expect("a number of kB")
        << 10
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
