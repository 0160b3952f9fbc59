//! Why CUPTI is unavailable in this process, as one line that also says what to do.

use std::fmt;
use std::io;

use super::bindings::{
    CuptiResult, INSUFFICIENT_PRIVILEGES, MULTIPLE_SUBSCRIBERS, NOT_COMPATIBLE, NOT_INITIALIZED,
    UNKNOWN, VIRTUALIZED_PRIVILEGES,
};
use gpuprof_report::profile::CUPTI_UNAVAILABLE;
use gpuprof_report::sanitize;

/// Characters of a subscriber's name that a message shows.
const MAX_HOLDER: usize = 60;

#[derive(Debug)]
pub(crate) enum CuptiUnavailable {
    NotFound,
    /// The library that the user named cannot be opened.
    CannotOpen {
        path: String,
        error: String,
    },
    MissingFunction {
        library: String,
        symbol: &'static str,
    },
    TooOld {
        library: String,
        version: u32,
    },
    CallFailed {
        library: String,
        call: &'static str,
        status: CuptiResult,
        name: String,
        /// Who has subscribed, by its own name; empty if that is unknown.
        holder: String,
    },
    /// Before CUPTI was started.
    ProcessEnds,
    /// The CUPTI reader thread could not be started.
    NoThread {
        error: io::Error,
    },
}

impl fmt::Display for CuptiUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CUPTI_UNAVAILABLE)?;
        match self {
            Self::NotFound => f.write_str(
                "libcupti is not found. Install the CUDA toolkit (extras/CUPTI/lib64) or run \
                 `pip install nvidia-cuda-cupti` (CUDA 12: nvidia-cuda-cupti-cu12); \
                 set GPUPROF_CUPTI_LIBRARY=PATH if it is elsewhere",
            ),
            Self::CannotOpen { path, error } => {
                // The loader's own message usually begins with the path.
                let reason = error
                    .strip_prefix(path.as_str())
                    .unwrap_or(error)
                    .trim_start_matches([':', ' ']);
                write!(f, "cannot open GPUPROF_CUPTI_LIBRARY={path} ({reason})")
            }
            Self::ProcessEnds => f.write_str("the program ends"),
            Self::MissingFunction { library, symbol } => write!(
                f,
                "{library} has no {symbol}; use libcupti of CUDA 12.0 or newer"
            ),
            Self::TooOld { library, version } => write!(
                f,
                "{library} has version {version}, older than CUDA 12.0 (18); \
                 set GPUPROF_CUPTI_LIBRARY=PATH to a newer one"
            ),
            Self::CallFailed {
                library,
                call,
                status,
                name,
                holder,
            } => {
                if !holder.is_empty() {
                    write!(
                        f,
                        "{} has subscribed: ",
                        sanitize::quoted(holder, MAX_HOLDER)
                    )?;
                }
                f.write_str(advice(*status))?;
                write!(f, " ({call} of {library} returned {status}, {name})")
            }
            Self::NoThread { error } => {
                write!(
                    f,
                    "could not start the thread that reads CUPTI's records: {error}"
                )
            }
        }
    }
}

/// The likely cause of a status, and what to do.
fn advice(status: CuptiResult) -> &'static str {
    match status {
        MULTIPLE_SUBSCRIBERS => {
            "another profiler, such as nsys, ncu, cuda-gdb or torch.profiler, uses CUPTI and does \
             not share it (which takes libcupti 13.3); run without it, or without \
             gpuprof's records"
        }
        INSUFFICIENT_PRIVILEGES | VIRTUALIZED_PRIVILEGES => {
            "this user may not profile; the machine's administrator can permit it: \
             https://developer.nvidia.com/ERR_NVGPUCTRPERM"
        }
        NOT_INITIALIZED | NOT_COMPATIBLE | UNKNOWN => {
            "CUPTI does not start; the NVIDIA driver must support libcupti's CUDA version or \
             newer; set GPUPROF_CUPTI_LIBRARY=PATH to use another libcupti"
        }
        _ => "a CUPTI call failed",
    }
}
