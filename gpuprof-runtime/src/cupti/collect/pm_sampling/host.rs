//! The host side of PM sampling: which metrics fit into one pass, their configuration, and their
//! values from the raw counters.

use std::ffi::{CStr, c_char};

use gpuprof_report::profile::Metric;

use super::bindings::{
    HostAddMetrics, HostConfigImage, HostConfigSize, HostDeinitialize, HostEvaluate,
    HostInitialize, HostPasses, OpaqueObject, PM_SAMPLING,
};
use super::library::SamplingLibrary;
use super::metrics::{Integrals, METRICS, MetricNames, SOURCES};
use super::unavailable::PmSamplingUnavailable;
use crate::cupti::collect::library::CallError;

/// The metrics of a chip that are sampled together.
pub(super) struct Host {
    library: &'static SamplingLibrary,
    object: OpaqueObject,
    /// The configuration for the device.
    pub(super) config: Vec<u8>,
    /// The sampled ones of [`SOURCES`] by index, and the addresses of their names.
    sources: Vec<usize>,
    pub(super) names: Vec<*const c_char>,
}

// SAFETY: the names are constants, and the object is used by one thread at a time, which CUPTI
// permits.
unsafe impl Send for Host {}

/// The chip, and which of its counters can be used.
pub(super) struct AvailableCounters<'a> {
    pub(super) name: &'a CStr,
    /// Empty: all of them.
    pub(super) availability: &'a [u8],
}

impl AvailableCounters<'_> {
    fn availability(&self) -> *const u8 {
        if self.availability.is_empty() {
            return std::ptr::null();
        }
        self.availability.as_ptr()
    }
}

impl Host {
    /// Chooses as many of [`SOURCES`] as fit into one pass, in their order.
    pub(super) fn choose(
        library: &'static SamplingLibrary,
        chip: &AvailableCounters<'_>,
    ) -> Result<Self, PmSamplingUnavailable> {
        let mut chosen: Option<Self> = None;
        for (index, MetricNames { names, .. }) in SOURCES.iter().enumerate() {
            let before = chosen.as_ref();
            // A host object that has refused a metric refuses all that follow (H200, CUDA 13.0).
            let with = |name: &&CStr| {
                let mut host = Self::initialize(library, chip)?;
                if let Some(before) = before {
                    host.sources.clone_from(&before.sources);
                    host.names.clone_from(&before.names);
                }
                host.sources.push(index);
                host.names.push(name.as_ptr());
                Ok(host.configure()?.then_some(host))
            };
            let mut fits = None;
            for name in *names {
                match with(name) {
                    Ok(Some(host)) => {
                        fits = Some(host);
                        break;
                    }
                    // The first call would have failed for any metric.
                    Err(HostUnavailable(error)) if chosen.is_none() && index == 0 => {
                        return Err(error.into());
                    }
                    Ok(None) | Err(_) => {}
                }
            }
            chosen = fits.or(chosen);
        }
        let chip = || chip.name.to_string_lossy().into_owned();
        chosen.ok_or_else(|| PmSamplingUnavailable::NoMetrics { chip: chip() })
    }

    fn initialize(
        library: &'static SamplingLibrary,
        chip: &AvailableCounters<'_>,
    ) -> Result<Self, HostUnavailable> {
        let mut parameters = HostInitialize {
            profiler: PM_SAMPLING,
            chip: chip.name.as_ptr(),
            availability: chip.availability(),
            ..HostInitialize::default()
        };
        library
            .host_initialize(&mut parameters)
            .map_err(HostUnavailable)?;
        Ok(Self {
            library,
            object: parameters.host,
            config: Vec::new(),
            sources: Vec::new(),
            names: Vec::new(),
        })
    }

    /// Makes the configuration; returns whether it fits into one pass. A chip without one of the
    /// metrics does not.
    fn configure(&mut self) -> Result<bool, HostUnavailable> {
        let mut metrics = HostAddMetrics {
            host: self.object,
            names: self.names.as_ptr(),
            count: self.names.len(),
            ..HostAddMetrics::default()
        };
        if self.library.host_add_metrics(&mut metrics).is_err() {
            return Ok(false);
        }
        Ok(self.make_config().is_ok_and(|passes| passes == 1))
    }

    fn make_config(&mut self) -> Result<usize, CallError> {
        let mut size = HostConfigSize {
            host: self.object,
            ..HostConfigSize::default()
        };
        self.library.host_config_size(&mut size)?;
        self.config.resize(size.size, 0);
        let mut image = HostConfigImage {
            host: self.object,
            size: self.config.len(),
            image: self.config.as_mut_ptr(),
            ..HostConfigImage::default()
        };
        self.library.host_config_image(&mut image)?;
        let mut passes = HostPasses {
            size: self.config.len(),
            image: self.config.as_mut_ptr(),
            ..HostPasses::default()
        };
        self.library.host_passes(&mut passes)?;
        Ok(passes.passes)
    }

    /// The sampled metrics, and the others.
    pub(super) fn metrics(&self) -> (Vec<Metric>, Vec<Metric>) {
        let all = SOURCES.iter().enumerate();
        let (sampled, omitted): (Vec<_>, Vec<_>) =
            all.partition(|(index, _)| self.sources.contains(index));
        let metrics = |of: Vec<(usize, &MetricNames)>| of.iter().map(|(_, of)| of.metric).collect();
        (metrics(sampled), metrics(omitted))
    }

    /// The values of sample `index`, which took `ns`.
    pub(super) fn evaluate(
        &self,
        data: &[u8],
        index: usize,
        ns: u64,
    ) -> Result<Integrals, CallError> {
        let mut values = [0.0; METRICS];
        let mut parameters = HostEvaluate {
            host: self.object,
            image: data.as_ptr(),
            size: data.len(),
            index,
            names: self.names.as_ptr(),
            count: self.names.len(),
            values: values.as_mut_ptr(),
            ..HostEvaluate::default()
        };
        self.library.host_evaluate(&mut parameters)?;
        let mut integrals = [f64::NAN; METRICS];
        for (&source, value) in self.sources.iter().zip(values) {
            if let (Some(of), Some(integral)) = (SOURCES.get(source), integrals.get_mut(source)) {
                let over_time = if of.metric.is_bytes_per_s() {
                    1.0
                } else {
                    ns as f64
                };
                *integral = value * of.scale * over_time;
            }
        }
        Ok(integrals)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let mut parameters = HostDeinitialize {
            host: self.object,
            ..HostDeinitialize::default()
        };
        let _ = self.library.host_deinitialize(&mut parameters);
    }
}

/// The chip is unknown, or the host library is missing.
struct HostUnavailable(CallError);
