//! Why there is no kernel tier in this process, as one line that says what to do.
//!
//! Must import nothing that calls CUPTI.

use std::fmt;

use super::constants::{
    INSUFFICIENT_PRIVILEGES, MULTIPLE_SUBSCRIBERS, NOT_COMPATIBLE, NOT_INITIALIZED, Status,
    UNKNOWN, VIRTUALIZED_PRIVILEGES,
};

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No libcupti anywhere.
    NotFound,
    /// The user's choice cannot be opened.
    Chosen {
        path: String,
        error: String,
    },
    /// A function that gpuprof cannot do without is not there.
    Lacks {
        library: String,
        symbol: &'static str,
    },
    TooOld {
        library: String,
        version: u32,
    },
    /// A call failed.
    Answered {
        library: String,
        call: &'static str,
        status: Status,
        name: String,
    },
    /// The system has no thread left.
    NoThread,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("kernels are not recorded (GPUPROF_CUPTI): ")?;
        match self {
            Self::NotFound => f.write_str(
                "libcupti is not found. It is in the CUDA toolkit (extras/CUPTI/lib64), or comes with `pip install nvidia-cuda-cupti` \
                 (CUDA 12: nvidia-cuda-cupti-cu12); GPUPROF_CUPTI_LIBRARY=PATH tells where it lies",
            ),
            Self::Chosen { path, error } => {
                // The loader's own words begin with the path, most times.
                let reason = error.strip_prefix(path.as_str()).unwrap_or(error);
                let reason = reason.trim_start_matches([':', ' ']);
                write!(f, "GPUPROF_CUPTI_LIBRARY={path} cannot be opened ({reason})")
            }
            Self::Lacks { library, symbol } => write!(
                f,
                "{library} has no {symbol}; libcupti of CUDA 12.0 or newer has it"
            ),
            Self::TooOld { library, version } => write!(
                f,
                "{library} is of version {version}, older than CUDA 12.0 (18); GPUPROF_CUPTI_LIBRARY=PATH names a newer one"
            ),
            Self::Answered {
                library,
                call,
                status,
                name,
            } => {
                f.write_str(advice(*status))?;
                write!(f, " ({call} of {library} answered {status}, {name})")
            }
            Self::NoThread => f.write_str("the system has no thread left to read them"),
        }
    }
}

/// What a status most likely means, and what to do.
fn advice(status: Status) -> &'static str {
    match status {
        MULTIPLE_SUBSCRIBERS => {
            "another profiler, such as nsys, ncu or cuda-gdb, has CUPTI, which serves one at a time; run without it, or without \
             GPUPROF_CUPTI"
        }
        INSUFFICIENT_PRIVILEGES | VIRTUALIZED_PRIVILEGES => {
            "this user may not profile; the machine's administrator can permit it: https://developer.nvidia.com/ERR_NVGPUCTRPERM"
        }
        NOT_INITIALIZED | NOT_COMPATIBLE | UNKNOWN => {
            "CUPTI does not start; it needs an NVIDIA driver, of its own CUDA version or newer, and GPUPROF_CUPTI_LIBRARY=PATH names \
             another libcupti"
        }
        _ => "CUPTI refuses",
    }
}
