//! `CUptiResult` (`cupti_result.h` of CUDA 13).

use std::ffi::CStr;

/// The result of a function: a value, or the code that its caller gets.
pub(crate) type Answer<T = ()> = Result<T, Code>;

/// A `CUptiResult` other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) u32);

impl Code {
    pub(crate) const INVALID_PARAMETER: Code = Code(1);
    pub(crate) const INVALID_DEVICE: Code = Code(2);
    pub(crate) const INVALID_OPERATION: Code = Code(7);
    pub(crate) const OUT_OF_MEMORY: Code = Code(8);
    pub(crate) const MAX_LIMIT_REACHED: Code = Code(12);
    pub(crate) const NOT_COMPATIBLE: Code = Code(14);
    pub(crate) const NOT_INITIALIZED: Code = Code(15);
    pub(crate) const INVALID_METRIC_NAME: Code = Code(17);
    pub(crate) const QUEUE_EMPTY: Code = Code(18);
    pub(crate) const INVALID_KIND: Code = Code(21);
    pub(crate) const INVALID_MODULE: Code = Code(24);
    pub(crate) const HARDWARE_BUSY: Code = Code(26);
    pub(crate) const NOT_SUPPORTED: Code = Code(27);
    pub(crate) const MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: Code = Code(39);
    pub(crate) const INVALID_CHIP_NAME: Code = Code(46);
    pub(crate) const UNKNOWN: Code = Code(999);
}

const NAMES: &[(u32, &CStr)] = &[
    (0, c"CUPTI_SUCCESS"),
    (1, c"CUPTI_ERROR_INVALID_PARAMETER"),
    (2, c"CUPTI_ERROR_INVALID_DEVICE"),
    (3, c"CUPTI_ERROR_INVALID_CONTEXT"),
    (4, c"CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID"),
    (5, c"CUPTI_ERROR_INVALID_EVENT_ID"),
    (6, c"CUPTI_ERROR_INVALID_EVENT_NAME"),
    (7, c"CUPTI_ERROR_INVALID_OPERATION"),
    (8, c"CUPTI_ERROR_OUT_OF_MEMORY"),
    (9, c"CUPTI_ERROR_HARDWARE"),
    (10, c"CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT"),
    (11, c"CUPTI_ERROR_API_NOT_IMPLEMENTED"),
    (12, c"CUPTI_ERROR_MAX_LIMIT_REACHED"),
    (13, c"CUPTI_ERROR_NOT_READY"),
    (14, c"CUPTI_ERROR_NOT_COMPATIBLE"),
    (15, c"CUPTI_ERROR_NOT_INITIALIZED"),
    (16, c"CUPTI_ERROR_INVALID_METRIC_ID"),
    (17, c"CUPTI_ERROR_INVALID_METRIC_NAME"),
    (18, c"CUPTI_ERROR_QUEUE_EMPTY"),
    (19, c"CUPTI_ERROR_INVALID_HANDLE"),
    (20, c"CUPTI_ERROR_INVALID_STREAM"),
    (21, c"CUPTI_ERROR_INVALID_KIND"),
    (22, c"CUPTI_ERROR_INVALID_EVENT_VALUE"),
    (23, c"CUPTI_ERROR_DISABLED"),
    (24, c"CUPTI_ERROR_INVALID_MODULE"),
    (25, c"CUPTI_ERROR_INVALID_METRIC_VALUE"),
    (26, c"CUPTI_ERROR_HARDWARE_BUSY"),
    (27, c"CUPTI_ERROR_NOT_SUPPORTED"),
    (28, c"CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED"),
    (29, c"CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE"),
    (
        30,
        c"CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES",
    ),
    (31, c"CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS"),
    (32, c"CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED"),
    (33, c"CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED"),
    (34, c"CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE"),
    (35, c"CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"),
    (36, c"CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED"),
    (37, c"CUPTI_ERROR_OPENACC_UNDEFINED_ROUTINE"),
    (38, c"CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED"),
    (39, c"CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"),
    (
        40,
        c"CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
    ),
    (41, c"CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED"),
    (42, c"CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED"),
    (43, c"CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED"),
    (44, c"CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED"),
    (45, c"CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED"),
    (46, c"CUPTI_ERROR_INVALID_CHIP_NAME"),
    (47, c"CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS"),
    (999, c"CUPTI_ERROR_UNKNOWN"),
];

pub(crate) fn name(code: u32) -> Option<&'static CStr> {
    NAMES
        .iter()
        .find(|(known, _)| *known == code)
        .map(|(_, name)| *name)
}
