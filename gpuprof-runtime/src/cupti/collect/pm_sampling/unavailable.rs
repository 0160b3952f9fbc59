//! Why the counters of a device are not sampled, as one line that also says what to do.

use std::fmt;
use std::time::Duration;

use super::bindings::INVALID_CHIP_NAME;
use crate::cupti::collect::bindings::{
    CuptiResult, INSUFFICIENT_PRIVILEGES, NOT_INITIALIZED, VIRTUALIZED_PRIVILEGES,
};
use crate::cupti::collect::library::CallError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PmSamplingUnavailable {
    TooOld {
        library: String,
        version: u32,
    },
    CallFailed(CallError),
    /// The chip has none of the metrics, or none in a single pass.
    NoMetrics {
        chip: String,
    },
    /// Samples come too fast at the widest interval.
    TooSlow {
        interval_ns: u64,
    },
    /// The device samples stalls now.
    GaveWay,
}

impl From<CallError> for PmSamplingUnavailable {
    fn from(error: CallError) -> Self {
        Self::CallFailed(error)
    }
}

impl PmSamplingUnavailable {
    /// One line for the report, of a device that was sampled for some time or not at all.
    /// `status_name` names a status of CUPTI.
    pub(super) fn line(
        &self,
        sampled_for: Option<Duration>,
        status_name: impl Fn(CuptiResult) -> String,
    ) -> String {
        let reason = Reason(self, status_name);
        match sampled_for {
            None => format!("hardware counters are not sampled (GPUPROF_COUNTERS): {reason}"),
            Some(time) => format!(
                "sampling of hardware counters stopped after {:.1} s (GPUPROF_COUNTERS): {reason}",
                time.as_secs_f64()
            ),
        }
    }
}

struct Reason<'a, F>(&'a PmSamplingUnavailable, F);

impl<F: Fn(CuptiResult) -> String> fmt::Display for Reason<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(unavailable, status_name) = self;
        match unavailable {
            PmSamplingUnavailable::TooOld { library, version } => write!(
                f,
                "{library} has version {version}, and sampling needs that of CUDA 12.6 (24) or \
                 newer; set GPUPROF_CUPTI_LIBRARY=PATH to a newer one"
            ),
            PmSamplingUnavailable::CallFailed(CallError { call, status }) => {
                f.write_str(advice(*status))?;
                write!(f, " ({call} returned {status}, {})", status_name(*status))
            }
            PmSamplingUnavailable::NoMetrics { chip } => {
                write!(
                    f,
                    "the chip {chip} has none of the metrics in a single pass"
                )
            }
            PmSamplingUnavailable::GaveWay => f.write_str(
                "the rest of the run is for stalls (GPUPROF_STALLS); a device samples one or the \
                 other",
            ),
            PmSamplingUnavailable::TooSlow { interval_ns } => write!(
                f,
                "samples come faster than they can be decoded even at {} ms; leave a processor to \
                 gpuprof's threads",
                interval_ns / 1_000_000
            ),
        }
    }
}

/// The likely cause of a status, and what to do.
fn advice(status: CuptiResult) -> &'static str {
    match status {
        INSUFFICIENT_PRIVILEGES | VIRTUALIZED_PRIVILEGES => {
            "this user may not read them; run as root, or let the administrator set the driver's \
             option NVreg_RestrictProfilingToAdminUsers=0: \
             https://developer.nvidia.com/ERR_NVGPUCTRPERM"
        }
        NOT_INITIALIZED => {
            "libcupti finds no libnvperf_host.so, which lies beside it in the CUDA toolkit; set \
             GPUPROF_CUPTI_LIBRARY=PATH to a libcupti that has it"
        }
        INVALID_CHIP_NAME => {
            "this libcupti does not know the chip; set GPUPROF_CUPTI_LIBRARY=PATH to a newer one"
        }
        _ => {
            "the device cannot sample them, or another tool does (Nsight, DCGM); stop it and run \
             again"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CallError, Duration, PmSamplingUnavailable};

    #[test]
    fn each_reason_says_what_to_do() {
        let failed = |status| {
            let call = "cuptiPmSamplingEnable";
            PmSamplingUnavailable::CallFailed(CallError { call, status })
                .line(None, |_| "NAME".to_owned())
        };
        assert!(failed(35).contains("https://developer.nvidia.com/ERR_NVGPUCTRPERM"));
        assert!(failed(15).contains("libnvperf_host.so"));
        assert!(failed(46).contains("newer one"));
        assert!(failed(999).ends_with("(cuptiPmSamplingEnable returned 999, NAME)"));
        let too_old = PmSamplingUnavailable::TooOld {
            library: "libcupti.so.12".to_owned(),
            version: 23,
        };
        let line = too_old.line(None, |_| String::new());
        assert!(line.contains("version 23"));
        let too_slow = PmSamplingUnavailable::TooSlow {
            interval_ns: 5_000_000,
        };
        let line = too_slow.line(Some(Duration::from_millis(1_240)), |_| String::new());
        assert!(line.starts_with("sampling of hardware counters stopped after 1.2 s"));
        assert!(line.contains("even at 5 ms"));
    }
}
