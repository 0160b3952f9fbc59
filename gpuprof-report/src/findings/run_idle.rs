//! Idle time of the whole run: what advice to the host can save at most.

use super::thresholds::MAX_MISSING_RECORDS;
use crate::profile::{BusyRecords, Profile};

/// Idle time of the device that was busy for the longest: no advice to the host can save more.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunIdleTime {
    /// Wall time minus the busy time of the device, ns.
    pub(super) total_ns: u64,
    /// The part of it between two activities, ns.
    pub(super) between_ns: u64,
    /// What CUPTI's records show of that part.
    pub(super) records: BusyRecords,
}

impl RunIdleTime {
    /// `None` without records of every device, or if too many records are missing: a kernel
    /// without a record looks like idle time.
    pub(super) fn for_profile(profile: &Profile) -> Option<Self> {
        let cupti = profile.cupti.as_ref()?;
        let missing = cupti.dropped_records.saturating_add(cupti.unfinished);
        if missing as f64 > MAX_MISSING_RECORDS.0 * cupti.records.max(1) as f64 {
            return None;
        }
        if profile.gpu_busy.iter().any(|busy| busy.records.is_none()) {
            return None;
        }
        let busiest = profile.gpu_busy.iter().max_by_key(|busy| busy.busy_ns)?;
        let records = busiest.records?;
        let total_ns = profile.wall_ns.saturating_sub(busiest.busy_ns);
        let between = [
            records.idle_host_ns,
            records.idle_launch_ns,
            records.idle_queued_ns,
        ];
        let between_ns = between.into_iter().fold(0, u64::saturating_add);
        Some(Self {
            total_ns,
            between_ns: between_ns.min(total_ns),
            records,
        })
    }

    /// Idle time before the first and after the last activity, ns.
    pub(super) fn ends_ns(&self) -> u64 {
        self.total_ns - self.between_ns
    }
}
