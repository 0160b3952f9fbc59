//! How long modelled work takes: what a test set, else the environment, else a roofline of the
//! device under the host's clock and round numbers under the virtual clock.

use std::collections::BTreeMap;

use crate::clock;
use crate::device;
use crate::kernels::Work;

/// The name that stands for all copies.
const COPY: &str = "memcpy";
/// The name that stands for all memsets.
const MEMSET: &str = "memset";
/// The default duration of a launch under the virtual clock.
const VIRTUAL_KERNEL_NS: u64 = 10_000;
/// The default duration of an event record under the host's clock.
const HOST_EVENT_NS: u64 = 1_500;
/// The default step of elapsed times under the host's clock (API reference, cuEventElapsedTime: "a
/// resolution of around 0.5 microseconds").
const HOST_RESOLUTION_NS: u64 = 500;
/// The start-up time of any work in the roofline.
const START_NS: f64 = 2_000.0;

/// The durations that were set.
pub(crate) struct Durations {
    by_name: BTreeMap<String, u64>,
    event: Option<u64>,
    event_under_load: Option<u64>,
    resolution: Option<u64>,
    /// `GPUPROF_SIM_KERNEL_NS`, read once.
    environment: Option<Option<u64>>,
}

/// The memories between which a copy transfers.
#[derive(Clone, Copy)]
pub(crate) enum CopyRoute {
    /// Between host and device.
    Host,
    /// Within the device.
    Device,
}

impl Durations {
    pub(crate) const fn new() -> Durations {
        Durations {
            by_name: BTreeMap::new(),
            event: None,
            event_under_load: None,
            resolution: None,
            environment: None,
        }
    }

    /// Sets the duration in ns of a kernel, of "memcpy", of "memset", or of all kernels with "".
    pub(crate) fn set(&mut self, name: &str, ns: u64) {
        self.by_name.insert(name.to_owned(), ns);
    }

    /// Sets the stream time of one event record, in ns.
    pub(crate) fn set_event(&mut self, ns: u64) {
        self.event = Some(ns);
    }

    /// Sets the stream time of one event record while other streams of its device have work, in ns.
    pub(crate) fn set_event_under_load(&mut self, ns: u64) {
        self.event_under_load = Some(ns);
    }

    /// The stream time of one event record, in ns. `is_loaded`: other streams of its device have
    /// work.
    pub(crate) fn event(&self, is_loaded: bool) -> u64 {
        let loaded = self.event_under_load.filter(|_| is_loaded);
        loaded.or(self.event).unwrap_or(if clock::is_virtual() {
            0
        } else {
            HOST_EVENT_NS
        })
    }

    /// Sets the step of elapsed times, in ns; with 0 or 1 they are exact.
    pub(crate) fn set_resolution(&mut self, ns: u64) {
        self.resolution = Some(ns);
    }

    /// The step of elapsed times, in ns.
    pub(crate) fn resolution(&self) -> u64 {
        self.resolution.unwrap_or(if clock::is_virtual() {
            0
        } else {
            HOST_RESOLUTION_NS
        })
    }

    /// The duration of a launch, in ns.
    pub(crate) fn kernel(&mut self, name: &str, work: Work) -> u64 {
        let own = self.by_name.get(name).copied().or(work.ns);
        if let Some(ns) = own.or_else(|| self.by_name.get("").copied()) {
            return ns;
        }
        let environment = self.environment.get_or_insert_with(|| {
            std::env::var("GPUPROF_SIM_KERNEL_NS")
                .ok()
                .and_then(|text| text.parse().ok())
        });
        if let Some(ns) = environment {
            return *ns;
        }
        if clock::is_virtual() {
            VIRTUAL_KERNEL_NS
        } else {
            roofline(work)
        }
    }

    /// The duration of a copy of `bytes`, in ns.
    pub(crate) fn copy(&self, bytes: usize, way: CopyRoute) -> u64 {
        self.transfer(
            COPY,
            match way {
                CopyRoute::Host => bytes as f64 / device::HOST_BYTES_PER_NS,
                CopyRoute::Device => 2.0 * bytes as f64 / device::PEAK_BYTES_PER_NS,
            },
        )
    }

    /// The duration of a memset of `bytes`, in ns.
    pub(crate) fn memset(&self, bytes: usize) -> u64 {
        self.transfer(MEMSET, bytes as f64 / device::PEAK_BYTES_PER_NS)
    }

    fn transfer(&self, name: &str, ns: f64) -> u64 {
        match self.by_name.get(name) {
            Some(ns) => *ns,
            None if clock::is_virtual() => 0,
            None => (START_NS + ns).round() as u64,
        }
    }
}

/// Start-up plus the longest of memory, f32 and f64 time, in ns (Williams, Waterman and Patterson,
/// "Roofline", 2009).
fn roofline(work: Work) -> u64 {
    let memory = work.bytes / device::PEAK_BYTES_PER_NS;
    (START_NS + memory.max(work.arithmetic_ns())).round() as u64
}

#[cfg(test)]
mod tests {
    use super::{Work, roofline};

    /// 320.064 bytes, 8141 f32 and 254 f64 flops per ns.
    #[test]
    fn the_roofline_takes_the_longest_term() {
        let work = |bytes, f32_flops, f64_flops| {
            roofline(Work {
                bytes,
                f32_flops,
                f64_flops,
                ..Work::default()
            })
        };
        assert_eq!(work(0.0, 0.0, 0.0), 2_000);
        assert_eq!(work(320_064_000.0, 1e6, 1e3), 1_002_000);
        assert_eq!(work(1e3, 8_140_800_000.0, 1e3), 1_002_000);
        assert_eq!(work(1e3, 1e3, 254_400_000.0), 1_002_000);
    }
}
