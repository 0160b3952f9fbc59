//! The functions of libcupti for PC sampling.

use super::bindings::{Configure, Disable, Enable, GetData, ReasonCount, Reasons, Start, Stop};
use crate::cupti::collect::library::CuptiLibrary;
use crate::cupti::collect::parameters::functions;

functions! {
    PcSamplingLibrary;
    enable = "cuptiPCSamplingEnable"(Enable),
    disable = "cuptiPCSamplingDisable"(Disable),
    start = "cuptiPCSamplingStart"(Start),
    stop = "cuptiPCSamplingStop"(Stop),
    configure = "cuptiPCSamplingSetConfigurationAttribute"(Configure),
    reason_count = "cuptiPCSamplingGetNumStallReasons"(ReasonCount),
    reasons = "cuptiPCSamplingGetStallReasons"(Reasons),
    get_data = "cuptiPCSamplingGetData"(GetData),
}

impl PcSamplingLibrary {
    /// The functions of `cupti`; `None` if it lacks one.
    pub(super) fn open(cupti: &CuptiLibrary) -> Option<Self> {
        Self::load(cupti)
    }
}
