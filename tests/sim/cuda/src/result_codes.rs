//! The result codes of the driver API with their names and texts (`CUresult`; API reference, Data
//! types used by CUDA driver).

use std::ffi::CStr;

/// The result of a driver function: a value, or the code that its caller gets.
pub(crate) type Answer<T = ()> = Result<T, Code>;

/// A `CUresult` other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Code(pub(crate) i32);

/// The names and texts of the codes that the simulator knows.
const KNOWN: &[(i32, &CStr, &CStr)] = &[
    (0, c"CUDA_SUCCESS", c"no error"),
    (1, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (2, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (3, c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
    (4, c"CUDA_ERROR_DEINITIALIZED", c"driver shutting down"),
    (
        100,
        c"CUDA_ERROR_NO_DEVICE",
        c"no CUDA-capable device is detected",
    ),
    (101, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
    (
        201,
        c"CUDA_ERROR_INVALID_CONTEXT",
        c"invalid device context",
    ),
    (
        215,
        c"CUDA_ERROR_UNSUPPORTED_LIMIT",
        c"limit is not supported on this architecture",
    ),
    (301, c"CUDA_ERROR_FILE_NOT_FOUND", c"file not found"),
    (
        400,
        c"CUDA_ERROR_INVALID_HANDLE",
        c"invalid resource handle",
    ),
    (
        401,
        c"CUDA_ERROR_ILLEGAL_STATE",
        c"the operation cannot be performed in the present state",
    ),
    (500, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
    (600, c"CUDA_ERROR_NOT_READY", c"device not ready"),
    (
        700,
        c"CUDA_ERROR_ILLEGAL_ADDRESS",
        c"an illegal memory access was encountered",
    ),
    (
        709,
        c"CUDA_ERROR_CONTEXT_IS_DESTROYED",
        c"context is destroyed",
    ),
    (716, c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address"),
    (800, c"CUDA_ERROR_NOT_PERMITTED", c"operation not permitted"),
    (801, c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported"),
    (
        900,
        c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        c"operation not permitted when stream is capturing",
    ),
    (
        901,
        c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        c"operation failed due to a previous error during capture",
    ),
    (
        902,
        c"CUDA_ERROR_STREAM_CAPTURE_MERGE",
        c"operation would result in a merge of separate capture sequences",
    ),
    (
        903,
        c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
        c"capture was not ended in the same stream as it began",
    ),
    (
        904,
        c"CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
        c"capturing stream has unjoined work",
    ),
    (
        905,
        c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
        c"dependency created on uncaptured work in another stream",
    ),
    (
        906,
        c"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        c"operation would make the legacy stream depend on a capturing blocking stream",
    ),
    (
        907,
        c"CUDA_ERROR_CAPTURED_EVENT",
        c"operation not permitted on an event last recorded in a capturing stream",
    ),
    (
        908,
        c"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
        c"attempt to terminate a thread-local capture sequence from another thread",
    ),
    (
        910,
        c"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
        c"the graph update was not performed because it included changes which violated \
          constraints",
    ),
    (999, c"CUDA_ERROR_UNKNOWN", c"unknown error"),
];

impl Code {
    pub(crate) const INVALID_VALUE: Code = Code(1);
    pub(crate) const OUT_OF_MEMORY: Code = Code(2);
    pub(crate) const NOT_INITIALIZED: Code = Code(3);
    pub(crate) const DEINITIALIZED: Code = Code(4);
    pub(crate) const NO_DEVICE: Code = Code(100);
    pub(crate) const INVALID_DEVICE: Code = Code(101);
    pub(crate) const INVALID_CONTEXT: Code = Code(201);
    pub(crate) const UNSUPPORTED_LIMIT: Code = Code(215);
    pub(crate) const FILE_NOT_FOUND: Code = Code(301);
    pub(crate) const INVALID_HANDLE: Code = Code(400);
    pub(crate) const ILLEGAL_STATE: Code = Code(401);
    pub(crate) const NOT_FOUND: Code = Code(500);
    pub(crate) const NOT_READY: Code = Code(600);
    pub(crate) const ILLEGAL_ADDRESS: Code = Code(700);
    pub(crate) const CONTEXT_IS_DESTROYED: Code = Code(709);
    pub(crate) const MISALIGNED_ADDRESS: Code = Code(716);
    pub(crate) const NOT_PERMITTED: Code = Code(800);
    pub(crate) const NOT_SUPPORTED: Code = Code(801);
    pub(crate) const STREAM_CAPTURE_UNSUPPORTED: Code = Code(900);
    pub(crate) const STREAM_CAPTURE_INVALIDATED: Code = Code(901);
    pub(crate) const STREAM_CAPTURE_MERGE: Code = Code(902);
    pub(crate) const STREAM_CAPTURE_UNMATCHED: Code = Code(903);
    pub(crate) const STREAM_CAPTURE_UNJOINED: Code = Code(904);
    pub(crate) const STREAM_CAPTURE_ISOLATION: Code = Code(905);
    pub(crate) const STREAM_CAPTURE_IMPLICIT: Code = Code(906);
    pub(crate) const CAPTURED_EVENT: Code = Code(907);
    pub(crate) const STREAM_CAPTURE_WRONG_THREAD: Code = Code(908);
    pub(crate) const GRAPH_EXEC_UPDATE_FAILURE: Code = Code(910);
    pub(crate) const UNKNOWN: Code = Code(999);
}

/// The name and the text of `code`, if the simulator knows it.
pub(crate) fn describe(code: i32) -> Option<(&'static CStr, &'static CStr)> {
    KNOWN
        .iter()
        .find(|known| known.0 == code)
        .map(|known| (known.1, known.2))
}
