//! The names of all exported functions of CUPTI, so that counts and failures are in plain arrays.

use simbase::control::position;

/// Every exported `cupti*` function.
pub(crate) const NAMES: &[&str] = &[
    "cuptiGetVersion",
    "cuptiGetTimestamp",
    "cuptiGetResultString",
    "cuptiGetCallbackName",
    "cuptiGetGraphNodeId",
    "cuptiSubscribe",
    "cuptiSubscribe_v2",
    "cuptiUnsubscribe",
    "cuptiActivityRegisterCallbacks",
    "cuptiEnableCallback",
    "cuptiActivitySetAttribute",
    "cuptiActivityEnable",
    "cuptiActivityDisable",
    "cuptiActivityEnableDriverApi",
    "cuptiActivityEnableRuntimeApi",
    "cuptiActivityFlushAll",
    "cuptiActivityFlushPeriod",
    "cuptiActivityGetNextRecord",
    "cuptiActivityGetNumDroppedRecords",
    "cuptiActivityRegisterCallbacks_v2",
    "cuptiActivitySetAttribute_v2",
    "cuptiActivityGetAttribute_v2",
    "cuptiActivityEnable_v2",
    "cuptiActivityDisable_v2",
    "cuptiActivityGetNextRecord_v2",
    "cuptiActivityGetNumDroppedRecords_v2",
    "cuptiGetTimestamp_v2",
    "cuptiActivityPushExternalCorrelationId",
    "cuptiActivityPopExternalCorrelationId",
    "cuptiProfilerInitialize",
    "cuptiDeviceGetChipName",
    "cuptiProfilerHostInitialize",
    "cuptiProfilerHostDeinitialize",
    "cuptiProfilerHostConfigAddMetrics",
    "cuptiProfilerHostGetBaseMetrics",
    "cuptiProfilerHostGetConfigImageSize",
    "cuptiProfilerHostGetConfigImage",
    "cuptiProfilerHostGetNumOfPasses",
    "cuptiProfilerHostEvaluateToGpuValues",
    "cuptiPmSamplingGetCounterAvailability",
    "cuptiPmSamplingEnable",
    "cuptiPmSamplingDisable",
    "cuptiPmSamplingSetConfig",
    "cuptiPmSamplingStart",
    "cuptiPmSamplingStop",
    "cuptiPmSamplingGetCounterDataSize",
    "cuptiPmSamplingCounterDataImageInitialize",
    "cuptiPmSamplingDecodeData",
    "cuptiPmSamplingGetCounterDataInfo",
    "cuptiPmSamplingCounterDataGetSampleInfo",
    "cuptiPCSamplingEnable",
    "cuptiPCSamplingDisable",
    "cuptiPCSamplingStart",
    "cuptiPCSamplingStop",
    "cuptiPCSamplingSetConfigurationAttribute",
    "cuptiPCSamplingGetNumStallReasons",
    "cuptiPCSamplingGetStallReasons",
    "cuptiPCSamplingGetData",
    "cuptiGetCubinCrc",
    "cuptiGetSassToSourceCorrelation",
];

/// Which function: an index into [`NAMES`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Symbol(pub(crate) usize);

impl Symbol {
    /// The function `name`, at compile time; a name that is not in the list does not compile.
    pub(crate) const fn named(name: &str) -> Symbol {
        Symbol(position(NAMES, name))
    }

    pub(crate) fn find(name: &str) -> Option<Symbol> {
        NAMES.iter().position(|known| *known == name).map(Symbol)
    }
}
