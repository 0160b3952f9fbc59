//! Devices and their clocks.

use std::borrow::Cow;

use super::word_enums::{Precision, ThrottleReason};
use crate::figures::figures;

figures! {
    /// One CUDA device.
    #[derive(Clone, Debug, Default, PartialEq)]
    #[non_exhaustive]
    pub struct Device {
        /// CUDA ordinal.
        pub ordinal: u32;
        /// Name that the driver reports.
        pub name: String;
        /// `GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`, as nvidia-smi prints it.
        #[cfg_attr(
            test,
            schemars(regex(pattern = r"^(GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$"))
        )]
        pub uuid: String;
        /// For example `9.0`.
        #[cfg_attr(test, schemars(regex(pattern = r"^[0-9]+\.[0-9]+$")))]
        pub compute_capability: String;
        /// Streaming multiprocessors; `None` if the driver does not report it.
        pub sm_count: Option<u32>;
        /// Total memory, bytes; `None` if the driver does not report it.
        pub memory_bytes: Option<u64>;
        /// Peak memory bandwidth, bytes per second; `None` if it cannot be computed.
        pub peak_bytes_per_s: Option<u64>;
        /// Peak bandwidth of the PCIe link in one direction, bytes per second; `None` without
        /// CUPTI, or if NVML does not report the link. JSON omits it then.
        pub peak_link_bytes_per_s: Option<u64>, unless default;
        /// Peak single-precision rate, FLOP/s, a fused multiply-add counted as two; `None` if it
        /// cannot be computed.
        pub peak_flops_f32: Option<u64>;
        /// Peak double-precision rate, FLOP/s, a fused multiply-add counted as two; `None` if it
        /// cannot be computed.
        pub peak_flops_f64: Option<u64>;
        /// Peak rates of half precision and of the tensor cores, where the compute capability is
        /// known to have them, without sparsity.
        pub peak_flops: Vec<PeakRate>;
        /// Maximum number of resident threads per multiprocessor; `None` if the driver does not
        /// report it.
        pub threads_per_sm: Option<u32>;
        /// Maximum number of resident blocks per multiprocessor; `None` if the driver does not
        /// report it.
        pub blocks_per_sm: Option<u32>;
        /// 32-bit registers per multiprocessor; `None` if the driver does not report it.
        pub registers_per_sm: Option<u32>;
        /// Shared memory per multiprocessor, bytes; `None` if the driver does not report it.
        pub shared_bytes_per_sm: Option<u32>;
        /// Shared memory that the driver reserves per block, bytes; `None` if the driver does not
        /// report the value.
        pub reserved_shared_bytes_per_block: Option<u32>;
        /// CUDA version that the driver supports, for example `13.0`.
        #[cfg_attr(test, schemars(regex(pattern = r"^[0-9]+\.[0-9]+$")))]
        pub driver: String;
        /// Whether this is the simulated device, whose GPU times are modelled and not measured.
        pub simulated: bool;
    }
}

figures! {
    /// A peak rate of a device.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct PeakRate {
        /// Of this precision.
        pub precision: Precision;
        /// Operations per second, a fused multiply-add counted as two.
        pub flops_per_s: u64;
    }
}

impl PeakRate {
    /// This rate.
    #[must_use]
    pub const fn new(precision: Precision, flops_per_s: u64) -> Self {
        Self {
            precision,
            flops_per_s,
        }
    }
}

impl Device {
    /// The peak rate of this precision, FLOP/s; `None` if it is not known.
    #[must_use]
    pub fn peak_flops(&self, precision: Precision) -> Option<u64> {
        let peaks = &self.peak_flops;
        match precision {
            Precision::F32 => self.peak_flops_f32,
            Precision::F64 => self.peak_flops_f64,
            _ => Some(
                peaks
                    .iter()
                    .find(|peak| peak.precision == precision)?
                    .flops_per_s,
            ),
        }
    }

    /// The name; that of a simulated device says so.
    #[must_use]
    pub fn shown_name(&self) -> Cow<'_, str> {
        if self.simulated && !self.name.contains("simulated device") {
            return Cow::Owned(format!("{} (simulated device)", self.name));
        }
        Cow::Borrowed(&self.name)
    }
}

figures! {
    /// A device that ran below its maximum clock, and why, as NVML reports it.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Throttle {
        /// CUDA ordinal.
        pub device: u32 = special;
        /// The reasons that were seen in any sample.
        pub reasons: Vec<ThrottleReason> = union;
        /// Lowest SM clock among the samples with an active throttle reason, MHz; `None` if NVML
        /// does not report it.
        pub sm_clock_mhz: Option<u32> = min;
        /// Maximum SM clock of the device, MHz; `None` if NVML does not report it.
        pub max_sm_clock_mhz: Option<u32> = max;
        /// Mean SM clock over `throttled_ns`, MHz; `None` if NVML does not report it.
        pub mean_sm_clock_mhz: Option<u32> = special;
        /// The part of `sampled_ns` with an active throttle reason, ns.
        pub throttled_ns: u64 = sum;
        /// Time that the samples cover, ns: each covers the time since the one before.
        pub sampled_ns: u64 = sum;
    }
}
