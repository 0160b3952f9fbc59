//! The GPU activity of one call: when anything ran, how much, and where.

use super::interval_union::IntervalUnion;
use super::row_totals::StreamIds;
use crate::cupti::collect::record::ActivityRecord;

/// When and where a kernel, copy or memset ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActivityInterval {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_kernel: bool,
    /// Context and stream number.
    pub(crate) stream: (u32, u32),
    pub(crate) device: u32,
}

impl From<&ActivityRecord> for ActivityInterval {
    fn from(activity: &ActivityRecord) -> Self {
        let span = activity.span();
        Self {
            start: span.start,
            end: span.end,
            is_kernel: matches!(activity, ActivityRecord::Kernel(_)),
            stream: (span.context, span.stream),
            device: span.device,
        }
    }
}

/// The GPU activity of a call and its nested calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallActivity {
    pub(crate) busy: IntervalUnion,
    pub(crate) activities: u64,
    pub(crate) launches: u64,
    pub(crate) streams: StreamIds,
    /// Bit n is device n; bit 63 stands for every device from ordinal 63 up.
    pub(crate) devices: u64,
}

impl CallActivity {
    /// Returns whether the busy time is still exact.
    pub(crate) fn add(&mut self, interval: &ActivityInterval) -> bool {
        self.activities += 1;
        self.launches += u64::from(interval.is_kernel);
        self.streams.add(interval.stream);
        self.devices |= 1 << interval.device.min(u64::BITS - 1);
        self.busy.add(interval.start, interval.end)
    }

    /// Returns whether the busy time is still exact.
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        self.activities += other.activities;
        self.launches += other.launches;
        self.streams.merge(&other.streams);
        self.devices |= other.devices;
        self.busy.merge(&other.busy)
    }
}
