//! The functions of libcupti for PM sampling, and the library of NVIDIA's that they need.

use std::path::PathBuf;

use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};

use super::bindings::{
    Availability, ChipName, DataInfo, DataInitialize, DataSize, Decode, Disable, Enable,
    HostAddMetrics, HostBaseMetrics, HostConfigImage, HostConfigSize, HostDeinitialize,
    HostEvaluate, HostInitialize, HostPasses, MIN_VERSION, OpaqueObject, ProfilerInitialize,
    SampleInfo, SetConfig, Start, Stop,
};
use super::unavailable::PmSamplingUnavailable;
use crate::cupti::collect::library::{CallError, CuptiLibrary};
use crate::cupti::collect::parameters::functions;

functions! {
    SamplingLibrary { version: u32 };
    profiler_initialize = "cuptiProfilerInitialize"(ProfilerInitialize),
    chip_name = "cuptiDeviceGetChipName"(ChipName),
    availability = "cuptiPmSamplingGetCounterAvailability"(Availability),
    host_initialize = "cuptiProfilerHostInitialize"(HostInitialize),
    host_deinitialize = "cuptiProfilerHostDeinitialize"(HostDeinitialize),
    host_add_metrics = "cuptiProfilerHostConfigAddMetrics"(HostAddMetrics),
    host_base_metrics = "cuptiProfilerHostGetBaseMetrics"(HostBaseMetrics),
    host_config_size = "cuptiProfilerHostGetConfigImageSize"(HostConfigSize),
    host_config_image = "cuptiProfilerHostGetConfigImage"(HostConfigImage),
    host_passes = "cuptiProfilerHostGetNumOfPasses"(HostPasses),
    host_evaluate = "cuptiProfilerHostEvaluateToGpuValues"(HostEvaluate),
    enable = "cuptiPmSamplingEnable"(Enable),
    disable = "cuptiPmSamplingDisable"(Disable),
    set_config = "cuptiPmSamplingSetConfig"(SetConfig),
    start = "cuptiPmSamplingStart"(Start),
    stop = "cuptiPmSamplingStop"(Stop),
    data_size = "cuptiPmSamplingGetCounterDataSize"(DataSize),
    data_initialize = "cuptiPmSamplingCounterDataImageInitialize"(DataInitialize),
    decode = "cuptiPmSamplingDecodeData"(Decode),
    data_info = "cuptiPmSamplingGetCounterDataInfo"(DataInfo),
    sample_info = "cuptiPmSamplingCounterDataGetSampleInfo"(SampleInfo),
}

/// libcupti looks for them where the dynamic linker does, and not in its own folder (CUDA 13.5):
/// unless they are loaded before, it returns NOT_INITIALIZED.
const NEEDED: [&str; 2] = ["libnvperf_host.so", "libnvperf_target.so"];

impl SamplingLibrary {
    /// The functions of `cupti` for host objects alone, which need no driver.
    #[cfg(all(test, chips))]
    pub(super) fn of_hosts(cupti: &CuptiLibrary) -> Option<Self> {
        let library = Self::load(cupti)?;
        load_needed(cupti);
        Some(library)
    }

    /// The functions of `cupti`, which has subscribed.
    pub(super) fn open(cupti: &CuptiLibrary) -> Result<Self, PmSamplingUnavailable> {
        let library = Self::load(cupti).filter(|library| library.version >= MIN_VERSION);
        let library = library.ok_or_else(|| PmSamplingUnavailable::TooOld {
            library: cupti.name.clone(),
            version: cupti.version,
        })?;
        load_needed(cupti);
        let mut parameters = ProfilerInitialize::default();
        library.profiler_initialize(&mut parameters)?;
        Ok(library)
    }
}

impl SamplingLibrary {
    /// The object that stands for sampling on the device; there can be one at a time.
    pub(super) fn object(&self, device: u32) -> Result<OpaqueObject, CallError> {
        let mut parameters = Enable {
            device: device as usize,
            ..Enable::default()
        };
        self.enable(&mut parameters)?;
        Ok(parameters.object)
    }

    /// Which counters of the device can be used.
    pub(super) fn counters(&self, device: u32) -> Result<Vec<u8>, CallError> {
        let mut parameters = Availability {
            device: device as usize,
            ..Availability::default()
        };
        self.availability(&mut parameters)?;
        let mut image = vec![0; parameters.size];
        parameters.image = image.as_mut_ptr();
        self.availability(&mut parameters)?;
        Ok(image)
    }
}

fn load_needed(cupti: &CuptiLibrary) {
    for name in NEEDED {
        load_beside(cupti.folder(), name);
    }
}

/// Loads a library from libcupti's folder, for good. If there is none, libcupti finds it elsewhere,
/// or says what it lacks.
fn load_beside(folder: Option<PathBuf>, name: &str) {
    let Some(path) = folder.map(|folder| folder.join(name)) else {
        return;
    };
    // SAFETY: the library is NVIDIA's, and libcupti would load it as well.
    if let Ok(library) = unsafe { Library::open(Some(path), RTLD_LAZY | RTLD_LOCAL) } {
        std::mem::forget(library);
    }
}
