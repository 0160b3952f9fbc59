//! The parameters and records of CUPTI's PC sampling functions, as `cupti_pcsampling.h` of CUDA
//! 12.0 to 13.5 declares them.

use std::ffi::{c_char, c_int, c_void};

use crate::cupti::collect::parameters::parameters;

/// `CUPTI_ERROR_OUT_OF_MEMORY`: the device had no room for more samples.
pub(super) const OUT_OF_MEMORY: c_int = 8;
/// `CUPTI_STALL_REASON_STRING_SIZE`.
pub(super) const REASON_BYTES: usize = 128;

/// `CUpti_PCSamplingConfigurationAttributeType`.
pub(super) mod attribute {
    use std::ffi::c_int;

    /// The logarithm of the cycles between two samples.
    pub(in super::super) const PERIOD: c_int = 1;
    pub(in super::super) const STALL_REASONS: c_int = 2;
    pub(in super::super) const SCRATCH_BYTES: c_int = 3;
    pub(in super::super) const MODE: c_int = 5;
    /// Sampling begins with `cuptiPCSamplingStart`.
    pub(in super::super) const START_STOP: c_int = 6;
    pub(in super::super) const DATA_BUFFER: c_int = 8;
}

/// `CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS`: kernels are not serialized.
pub(super) const CONTINUOUS: u64 = 1;

/// `CUpti_PCSamplingConfigurationInfo`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Attribute {
    pub(super) kind: c_int,
    pub(super) status: c_int,
    /// A union; each number is at its beginning, and all machines are little-endian.
    pub(super) value: [u64; 3],
}

/// `CUpti_PCSamplingStallReason`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct ReasonSamples {
    pub(super) reason: u32,
    pub(super) samples: u32,
}

/// `CUpti_PCSamplingPCData`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct PcRecord {
    pub(super) bytes: usize,
    pub(super) cubin_crc: u64,
    pub(super) offset: u64,
    pub(super) function_index: u32,
    pub(super) padding: u32,
    /// Allocated by CUPTI, and perhaps the same for many records.
    pub(super) function: *const c_char,
    pub(super) reason_count: usize,
    pub(super) reasons: *mut ReasonSamples,
    pub(super) correlation: u32,
}

/// `CUpti_PCSamplingData`.
#[repr(C)]
pub(super) struct PcData {
    pub(super) bytes: usize,
    /// How many records there is room for.
    pub(super) room: usize,
    pub(super) total_samples: u64,
    pub(super) dropped_samples: u64,
    pub(super) records: usize,
    /// Records for which there was no room.
    pub(super) remaining: usize,
    pub(super) range: u64,
    pub(super) first: *mut PcRecord,
    /// Samples in kernels without records.
    pub(super) other_samples: u64,
    pub(super) is_hardware_buffer_full: u8,
}

parameters! {
    Enable {
        context: *mut c_void,
    }

    Disable {
        context: *mut c_void,
    }

    Start {
        context: *mut c_void,
    }

    Stop {
        context: *mut c_void,
    }

    Configure {
        context: *mut c_void,
        count: usize,
        attributes: *mut Attribute,
    }

    GetData {
        context: *mut c_void,
        data: *mut PcData,
    }

    ReasonCount {
        context: *mut c_void,
        count: *mut usize,
    }

    Reasons {
        context: *mut c_void,
        count: usize,
        indices: *mut u32,
        names: *mut *mut c_char,
    }
}
