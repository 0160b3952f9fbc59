//! Whether the device is throttled while samples are taken.

use std::time::{Duration, Instant};

use gpuprof_report::profile::Device;
use gpuprof_runtime::nvml;

/// How often NVML is asked, which takes some 0.1 ms.
const INTERVAL: Duration = Duration::from_millis(50);

/// NVML, if there is one.
pub(crate) struct DeviceClocks {
    nvml: Option<nvml::NvmlClocks>,
    device: Device,
    asked: Instant,
}

impl DeviceClocks {
    pub(crate) fn open(device: &Device) -> Self {
        Self {
            nvml: nvml::NvmlClocks::open(),
            device: device.clone(),
            asked: Instant::now(),
        }
    }

    /// Whether it is time to ask.
    pub(crate) fn is_due(&self) -> bool {
        self.nvml.is_some() && self.asked.elapsed() >= INTERVAL
    }

    /// Whether the device is throttled now.
    pub(crate) fn is_throttled(&mut self) -> bool {
        self.asked = Instant::now();
        let Some(nvml) = &mut self.nvml else {
            return false;
        };
        nvml.reset();
        nvml.record_throttled(std::slice::from_ref(&self.device));
        !nvml.throttled().is_empty()
    }

    pub(crate) fn sm_clock_mhz(&self) -> Option<u32> {
        self.nvml.as_ref()?.sm_clock_mhz(&self.device)
    }
}
