//! Why program counters are not sampled, as one line that also says what to do.

use super::context_sampler::ContextSampler;
use super::samples::{MAX_PCS, PcSamples};
use crate::cupti::collect::bindings::{
    CuptiResult, INSUFFICIENT_PRIVILEGES, VIRTUALIZED_PRIVILEGES,
};
use crate::cupti::collect::library::CallError;
use crate::cupti::collect::used_contexts::MAX_CONTEXTS;

/// `CUPTI_ERROR_HARDWARE_BUSY`: the device samples counters (H100, CUDA 13.0).
const HARDWARE_BUSY: CuptiResult = 26;
/// `CUPTI_ERROR_NOT_SUPPORTED`.
const NOT_SUPPORTED: CuptiResult = 27;

/// The note of a run that asks for counters too, and was too short for both.
pub(super) const ONLY_COUNTERS: &str = "stalls are not sampled: a device samples either counters \
    or stalls, and the first 5 s are for counters; ask for stalls alone to have them earlier";

/// The note about contexts beyond the limit.
pub(super) fn too_many_contexts() -> String {
    format!("stalls are sampled in the first {MAX_CONTEXTS} contexts of the program alone")
}

/// The notes about samples that were lost.
pub(super) fn losses(samples: &PcSamples) -> Vec<String> {
    let (full, left_out, cycles) = (samples.full, samples.left_out, samples.period_cycles);
    let full = (full > 0).then(|| {
        format!(
            "a device had no room for more samples of stalls {full}x, and lost those since they \
             were last read"
        )
    });
    let rarely = (cycles > ContextSampler::FIRST_PERIOD_CYCLES).then(|| {
        format!(
            "stalls are sampled each {cycles} cycles, because a device had no room for more samples"
        )
    });
    let left_out = (left_out > 0).then(|| {
        format!(
            "{left_out} samples of stalls are left out: they are in more than {MAX_PCS} \
             instructions"
        )
    });
    full.into_iter().chain(rarely).chain(left_out).collect()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PcSamplingUnavailable {
    /// libcupti lacks the functions.
    NoFunctions,
    /// A context could not be sampled.
    NotStarted(CallError),
    /// A context was sampled until this call failed.
    Ended(CallError),
}

impl PcSamplingUnavailable {
    /// One line for the report. `status_name` names a status of CUPTI.
    pub(super) fn line(&self, status_name: impl Fn(CuptiResult) -> String) -> String {
        let reason = match self {
            Self::NoFunctions => "this libcupti has no PC sampling; set \
                                  GPUPROF_CUPTI_LIBRARY=PATH to that of a newer CUDA toolkit"
                .to_owned(),
            Self::NotStarted(CallError { call, status })
            | Self::Ended(CallError { call, status }) => {
                format!(
                    "{} ({call} returned {status}, {})",
                    advice(*status),
                    status_name(*status)
                )
            }
        };
        let what = match self {
            Self::Ended(_) => "stalls are no longer sampled in a context",
            _ => "stalls are not sampled",
        };
        format!("{what} (GPUPROF_STALLS): {reason}")
    }
}

/// The likely cause of a status, and what to do.
fn advice(status: CuptiResult) -> &'static str {
    match status {
        INSUFFICIENT_PRIVILEGES | VIRTUALIZED_PRIVILEGES => {
            "this user may not sample; run as root, or let the administrator set the driver's \
             option NVreg_RestrictProfilingToAdminUsers=0: \
             https://developer.nvidia.com/ERR_NVGPUCTRPERM"
        }
        HARDWARE_BUSY => "another tool samples the device (Nsight, DCGM); stop it and run again",
        NOT_SUPPORTED => "the device or its driver has no PC sampling",
        _ => "the context cannot be sampled",
    }
}

#[cfg(test)]
mod tests {
    use super::{CallError, PcSamplingUnavailable};

    #[test]
    fn each_reason_says_what_to_do() {
        let failed = |status| {
            let call = "cuptiPCSamplingEnable";
            PcSamplingUnavailable::NotStarted(CallError { call, status })
                .line(|_| "NAME".to_owned())
        };
        assert!(failed(35).contains("https://developer.nvidia.com/ERR_NVGPUCTRPERM"));
        assert!(failed(26).contains("another tool"));
        assert!(failed(27).contains("has no PC sampling"));
        assert!(failed(999).ends_with("(cuptiPCSamplingEnable returned 999, NAME)"));
        let line = PcSamplingUnavailable::NoFunctions.line(|_| String::new());
        assert!(line.contains("GPUPROF_CUPTI_LIBRARY=PATH"));
    }
}
