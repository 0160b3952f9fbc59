//! How busy each device was during the whole window.

use crate::figures::{Sum, figures};

figures! {
    /// How busy one device was, by CUPTI's records or, without them, by the GPU spans.
    ///
    /// Time is counted once however many streams were busy.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct GpuBusy {
        /// CUDA ordinal.
        pub device: u32 = special;
        /// With CUPTI: time during which at least one kernel, copy or memset ran, ns. Without: time
        /// during which at least one GPU span was open, ns, at most the wall time.
        pub busy_ns: u64 = sum;
        /// Whether `busy_ns` is scaled up from a sample. JSON omits this if not.
        pub is_estimated: bool = special, unless default;
        /// Half the width of the 95 % confidence interval of `busy_ns`, ns; `None` if it is exact,
        /// the sample is too small to tell, or `is_partial`.
        pub busy_ci95_ns: Option<u64> = special;
        /// Whether the device was busy for `busy_ns` at most, because sampled spans that may have
        /// overlapped, as on several streams, count by their sum.
        pub is_upper_bound: bool = any;
        /// Whether calls without a GPU time are missing from `busy_ns`. JSON omits this if not.
        pub is_partial: bool = any, unless default;
        /// The part that CUPTI's records show; `None` without CUPTI, or if activities whose records
        /// arrived too late ran for more than 1 % of the busy time. Less is left out of `busy_ns`
        /// and of these times.
        pub records: Option<BusyRecords> = special;
    }
}

figures! {
    /// What CUPTI's records show of a device's busy and idle time.
    ///
    /// Idle time is the time between two activities of a window in which nothing ran on the device;
    /// the time before the first and after the last one is not in it. An idle period after which an
    /// activity of an unknown CUDA call ran is only in `gaps`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct BusyRecords {
        /// Time during which at least one kernel ran, ns.
        pub kernel_ns: u64 = sum;
        /// Time during which only copies or memsets ran, ns.
        pub copy_only_ns: u64 = sum;
        /// Idle periods.
        pub gaps: u64 = sum;
        /// Idle time before the host began the CUDA call that ended the period, ns: the device
        /// waited for the host.
        pub idle_host_ns: u64 = sum;
        /// Idle time from the beginning of that call to the start of its activity, ns: the launch
        /// itself. The whole period, if the call was in progress when the period began. If it had
        /// returned already, for twice the shortest launch seen on the device.
        pub idle_launch_ns: u64 = sum;
        /// Idle time beyond that, if the call had returned before the period began, ns: its
        /// activity was queued, and waited for an event or for the device to start it. The call of
        /// a graph's node is the graph launch, so idle time between the nodes of one launch is in
        /// here.
        pub idle_queued_ns: u64 = sum;
    }
}

impl BusyRecords {
    /// Time during which at least one kernel, copy or memset ran, ns.
    #[must_use]
    pub fn busy_ns(&self) -> u64 {
        self.kernel_ns.saturating_add(self.copy_only_ns)
    }

    /// Adds `other`.
    pub fn add(&mut self, other: &Self) {
        Sum::add(self, other);
    }
}
