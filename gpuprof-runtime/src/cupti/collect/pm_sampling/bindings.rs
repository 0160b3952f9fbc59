//! The parameters of CUPTI's host profiler and PM sampling functions, as `cupti_profiler_host.h`,
//! `cupti_pmsampling.h` and `cupti_target.h` of CUDA 12.6 to 13.5 declare them.

use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

use crate::cupti::collect::bindings::CuptiResult;
use crate::cupti::collect::parameters::parameters;

/// `CUpti_Profiler_Host_Object` and `CUpti_PmSampling_Object`: opaque.
pub(super) type OpaqueObject = *mut c_void;

/// `CUPTI_PROFILER_TYPE_PM_SAMPLING`.
pub(super) const PM_SAMPLING: c_int = 1;
/// `cuptiGetVersion` of CUDA 12.6, the first with PM sampling.
pub(super) const MIN_VERSION: u32 = 24;
/// `cuptiGetVersion` of CUDA 12.8, the first that reads [`SetConfig::append`].
pub(super) const APPEND_VERSION: u32 = 26;

/// `CUPTI_ERROR_OUT_OF_MEMORY`: returned by `cuptiPmSamplingDecodeData` if samples came faster than
/// they were decoded (H200, CUDA 13.0).
pub(super) const OUT_OF_MEMORY: CuptiResult = 8;
/// `CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL`.
pub(super) const COUNTER_DATA_FULL: c_int = 1;
/// `CUPTI_ERROR_INVALID_CHIP_NAME`.
pub(super) const INVALID_CHIP_NAME: CuptiResult = 46;

/// `CUpti_PmSampling_TriggerMode`.
pub(super) mod trigger {
    use std::ffi::c_int;

    /// The interval is in cycles of the system clock, which varies.
    pub(in crate::cupti::collect::pm_sampling) const SYSCLK: c_int = 0;
    /// The interval is in ns. Not on Turing and GA100.
    pub(in crate::cupti::collect::pm_sampling) const TIME: c_int = 1;
}

parameters! {
    ProfilerInitialize {}

    ChipName {
        device: usize,
        name: *const c_char,
    }

    /// The first call, without an image, gives the size.
    Availability {
        device: usize,
        size: usize,
        image: *mut u8,
    }

    HostInitialize {
        profiler: c_int,
        chip: *const c_char,
        availability: *const u8,
        host: OpaqueObject,
    }

    HostDeinitialize {
        host: OpaqueObject,
    }

    HostAddMetrics {
        host: OpaqueObject,
        names: *const *const c_char,
        count: usize,
    }

    /// The names stay valid as long as the host object.
    HostBaseMetrics {
        host: OpaqueObject,
        kind: c_int,
        names: *const *const c_char,
        count: usize,
    }

    HostConfigSize {
        host: OpaqueObject,
        size: usize,
    }

    HostConfigImage {
        host: OpaqueObject,
        size: usize,
        image: *mut u8,
    }

    HostPasses {
        size: usize,
        image: *mut u8,
        passes: usize,
    }

    HostEvaluate {
        host: OpaqueObject,
        image: *const u8,
        size: usize,
        index: usize,
        names: *const *const c_char,
        count: usize,
        values: *mut f64,
    }

    Enable {
        device: usize,
        object: OpaqueObject,
    }

    Disable {
        object: OpaqueObject,
    }

    SetConfig {
        object: OpaqueObject,
        size: usize,
        image: *const u8,
        hardware_buffer_bytes: usize,
        interval: u64,
        trigger: c_int,
        append: c_int,
    }

    Start {
        object: OpaqueObject,
    }

    Stop {
        object: OpaqueObject,
    }

    DataSize {
        object: OpaqueObject,
        names: *const *const c_char,
        count: usize,
        max_samples: u32,
        size: usize,
    }

    DataInitialize {
        object: OpaqueObject,
        size: usize,
        image: *mut u8,
    }

    Decode {
        object: OpaqueObject,
        image: *mut u8,
        size: usize,
        stop_reason: c_int,
        overflow: u8,
    }

    DataInfo {
        image: *const u8,
        size: usize,
        total: usize,
        populated: usize,
        completed: usize,
    }

    SampleInfo {
        object: OpaqueObject,
        image: *const u8,
        size: usize,
        index: usize,
        start: u64,
        end: u64,
    }
}

impl SetConfig {
    /// Its size before CUDA 12.8.
    pub(super) const BYTES_WITHOUT_APPEND: usize = offset_of!(Self, append);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The macros `…_STRUCT_SIZE` of the headers.
    #[test]
    fn parameters_have_the_sizes_of_the_headers() {
        let sizes = [
            (ProfilerInitialize::BYTES, 16),
            (ChipName::BYTES, 32),
            (Availability::BYTES, 40),
            (HostInitialize::BYTES, 48),
            (HostDeinitialize::BYTES, 24),
            (HostAddMetrics::BYTES, 40),
            (HostBaseMetrics::BYTES, 48),
            (HostConfigSize::BYTES, 32),
            (HostConfigImage::BYTES, 40),
            (HostPasses::BYTES, 40),
            (HostEvaluate::BYTES, 72),
            (Enable::BYTES, 32),
            (Disable::BYTES, 24),
            (SetConfig::BYTES, 64),
            (SetConfig::BYTES_WITHOUT_APPEND, 60),
            (Start::BYTES, 24),
            (Stop::BYTES, 24),
            (DataSize::BYTES, 56),
            (DataInitialize::BYTES, 40),
            (Decode::BYTES, 45),
            (DataInfo::BYTES, 56),
            (SampleInfo::BYTES, 64),
        ];
        for (index, (ours, header)) in sizes.into_iter().enumerate() {
            assert_eq!(ours, header, "number {index}");
        }
    }
}
