//! Bounds on the memory of the attribution. Every collection that grows with the number of records
//! or calls has its limit here.
//!
//! Calls and records are forgotten by number, never by age: a record may arrive minutes after its
//! launch. What gets lost by a limit is counted and reported.

/// Latest CUDA calls of which records may still arrive: 4 MiB, and 12 MiB if all are graph
/// launches.
pub(crate) const MAX_RECENT_CUDA_CALLS: usize = 1 << 16;

/// Older CUDA calls whose first record has not arrived: 4 MiB. A later record of a call beyond
/// either limit is unattributed.
pub(crate) const MAX_AWAITED_CUDA_CALLS: usize = 1 << 16;

/// Activities whose CUDA call is unknown: 5 MiB. Beyond it, the older half is unattributed.
pub(crate) const MAX_ORPHANS: usize = 1 << 15;

/// Latest ended calls of profiled functions that stay open, and closed calls that are remembered
/// for late records: 20 MiB and 5 MiB.
pub(crate) const MAX_ENDED_CALLS: usize = 1 << 16;

/// Older ended calls that stay open because records of their CUDA calls are awaited: 20 MiB.
pub(crate) const MAX_AWAITED_CALLS: usize = 1 << 16;

/// Calls that have not ended: 20 MiB. Beyond it, those without recent activity are forgotten.
pub(crate) const MAX_RUNNING_CALLS: usize = 1 << 16;

/// Intervals of all open calls together: 16 MiB.
pub(crate) const MAX_TOTAL_INTERVALS: usize = 1 << 20;

/// Intervals and captured calls of all graph launches: 8 MiB. Beyond it, the oldest are finished.
pub(crate) const MAX_REPLAY_SIZE: usize = 1 << 18;

/// Finished captured calls that are remembered for late records: 4 MiB.
pub(crate) const MAX_COUNTED_REPLAYS: usize = 1 << 19;

/// Activities of a device in a window that wait for those that ran before them: 6 MiB. Beyond it,
/// the earlier half is finished.
pub(crate) const MAX_PENDING_ACTIVITIES: usize = 1 << 16;

/// Rows of kernels. Beyond it, further kernels of a call path are one row per device.
pub(crate) const MAX_KERNEL_ROWS: usize = 1 << 16;

/// Rows of copies. Beyond it, further ones of a replay count in the rows of the captured call path.
pub(crate) const MAX_COPY_ROWS: usize = 1 << 16;

/// Pairs of a captured call path and a launching one.
pub(crate) const MAX_REPLAY_ROWS: usize = 1 << 16;

/// Live allocations by address: 12 MiB. Beyond it, live memory is not that of a function.
pub(crate) const MAX_LIVE_ALLOCATIONS: usize = 1 << 18;

/// Frees of unknown memory whose allocation may come late: 160 KiB. Beyond it, all are forgotten.
pub(crate) const MAX_UNKNOWN_FREES: usize = 1 << 12;

/// Memory records that wait for earlier ones: 6 MiB. Beyond it, the earlier half is counted.
pub(crate) const MAX_PENDING_MEMORY: usize = 1 << 16;

/// Profiled calls in which graph nodes were captured: 16 MiB. Beyond it, calls whose nodes were not
/// launched lately are forgotten.
pub(crate) const MAX_CAPTURED_CALLS: usize = 1 << 18;

/// Nodes of all graphs: 16 MiB. Beyond it, graphs that were not launched lately are forgotten.
pub(crate) const MAX_NODES: usize = 1 << 20;

/// Owners of graph nodes before an update: 8 MiB.
pub(crate) const MAX_FORMER_OWNERS: usize = 1 << 18;

/// Begins and ends of captures.
pub(crate) const MAX_CAPTURE_MARKS: usize = 4_096;

/// Begins and ends of windows and of their pauses: 1.5 MiB. Work launched before the oldest belongs
/// to no window.
pub(crate) const MAX_WINDOW_CHANGES: usize = 1 << 16;

/// Samples of a device's hardware counters that wait for the records of what ran meanwhile: 13 MiB.
/// Beyond it, the earlier half is joined; at 100 µs that is what is older than 3.3 s.
pub(crate) const MAX_PENDING_SAMPLES: usize = 1 << 16;

/// Activities that wait for samples: 18 MiB. Beyond it, the earlier half of the samples is joined,
/// and if that frees no room, the earlier half of the activities gets none.
pub(crate) const MAX_PENDING_SAMPLED_ACTIVITIES: usize = 1 << 18;

/// Samples of a device on the time line: 13 MiB. Beyond it, two neighbours become one.
pub(crate) const MAX_RECORDED_SAMPLES: usize = 1 << 16;

/// CUDA calls after which one is forgotten in any case: correlation ids have 32 bits, and are given
/// anew.
const MAX_AGE: u32 = 1 << 30;

/// Records of one moment, which come from several threads, are at most so many ids out of order.
const MAX_DISORDER: u32 = 1 << 20;

/// Whether a CUDA call was made more than [`MAX_AGE`] calls before the call `latest`.
pub(crate) fn is_long_before(correlation: u32, latest: u32) -> bool {
    (MAX_AGE..u32::MAX - MAX_DISORDER).contains(&latest.wrapping_sub(correlation))
}
