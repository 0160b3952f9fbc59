//! The host side of PM sampling: which metrics fit into one pass, their configuration, and their
//! values from the raw counters.

use std::ffi::{CStr, c_char, c_int};

use gpuprof_report::profile::{DeviceCounters, Metric};

use super::bindings::{
    HostAddMetrics, HostBaseMetrics, HostConfigImage, HostConfigSize, HostDeinitialize,
    HostEvaluate, HostInitialize, HostPasses, OpaqueObject, PM_SAMPLING,
};
use super::in_turn::{COUNTERS, IN_TURN_METRICS};
use super::library::SamplingLibrary;
use super::listed::{Form, ListedMetric, MetricList, Reason, RefusedMetric};
use super::metrics::{CounterNames, Integrals, METRICS, MetricSet, SOURCES};
use super::unavailable::PmSamplingUnavailable;
use crate::cupti::collect::library::CallError;

/// The metrics of a chip that are sampled together.
pub(super) struct Host {
    library: &'static SamplingLibrary,
    object: OpaqueObject,
    /// The configuration for the device.
    pub(super) config: Vec<u8>,
    /// The sampled metrics by index in [`Integrals`], and the addresses of their names.
    sources: Vec<(usize, Form)>,
    pub(super) names: Vec<*const c_char>,
    /// The user's list, and what of it is not sampled.
    pub(super) listed: &'static [ListedMetric],
    pub(super) refused: Vec<RefusedMetric>,
    /// The counters of the set, by index, that the chip has, but not in one pass with the others.
    without_room: Vec<usize>,
}

// SAFETY: the names live as long as the process, and the object is used by one thread at a time,
// which CUPTI permits.
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
    /// Chooses as many of the listed metrics as fit into one pass, and then of [`SOURCES`], in
    /// their order.
    pub(super) fn choose(
        library: &'static SamplingLibrary,
        chip: &AvailableCounters<'_>,
        list: &'static MetricList,
    ) -> Result<Self, PmSamplingUnavailable> {
        let mut chosen = Self::initialize(library, chip)?;
        chosen.listed = &list.metrics;
        let mut refused = list.unusable.clone();
        for (index, metric) in list.metrics.iter().enumerate() {
            let (name, c_name) = (metric.name.clone(), metric.c_name());
            let source = (SOURCES.len() + index, metric.form);
            let reason = match chosen.with(chip, source, c_name) {
                Ok(host) => {
                    chosen = host;
                    continue;
                }
                Err(Reason::ManyPasses) if Self::fits_alone(library, chip, c_name) => {
                    Reason::NoRoom(chosen.listed_names().collect())
                }
                Err(reason) => reason,
            };
            refused.push(RefusedMetric { name, reason });
        }
        let mut chosen = chosen.with_set(chip, MetricSet::First);
        if chosen.names.is_empty() {
            let chip = chip.name.to_string_lossy().into_owned();
            return Err(PmSamplingUnavailable::NoMetrics { chip });
        }
        chosen.refused = refused;
        Ok(chosen)
    }

    /// As many of the second set as fit into one pass.
    pub(super) fn choose_in_turn(
        library: &'static SamplingLibrary,
        chip: &AvailableCounters<'_>,
    ) -> Option<Self> {
        let nothing = Self::initialize(library, chip).ok()?;
        let chosen = nothing.with_set(chip, MetricSet::InTurn);
        (!chosen.names.is_empty()).then_some(chosen)
    }

    /// The same with as many of a set as fit into one pass, in their order.
    fn with_set(self, chip: &AvailableCounters<'_>, set: MetricSet) -> Self {
        let mut chosen = self;
        let mut without_room = Vec::new();
        for (index, counter) in counters(set).enumerate() {
            let source = (index, counter.form);
            let mut needs_room = false;
            let mut names = counter.names.iter();
            let fitting = names.find_map(|name| match chosen.with(chip, source, name) {
                Ok(host) => Some(host),
                Err(reason) => {
                    needs_room |= matches!(reason, Reason::ManyPasses);
                    None
                }
            });
            match fitting {
                Some(host) => chosen = host,
                None if needs_room => without_room.push(index),
                None => {}
            }
        }
        chosen.without_room = without_room;
        chosen
    }

    /// Whether a metric needs one pass if nothing else is sampled.
    pub(super) fn fits_alone(
        library: &'static SamplingLibrary,
        chip: &AvailableCounters<'_>,
        name: &CStr,
    ) -> bool {
        let nothing = Self::initialize(library, chip);
        nothing.is_ok_and(|nothing| nothing.with(chip, (0, Form::Count), name).is_ok())
    }

    /// The names of the chip's base metrics of one kind, by [`KINDS`](super::listed::KINDS).
    pub(super) fn base_metrics(
        library: &'static SamplingLibrary,
        chip: &AvailableCounters<'_>,
        kind: c_int,
    ) -> Result<Vec<String>, CallError> {
        let host = Self::initialize(library, chip)?;
        let mut metrics = HostBaseMetrics {
            host: host.object,
            kind,
            ..HostBaseMetrics::default()
        };
        library.host_base_metrics(&mut metrics)?;
        if metrics.count == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: CUPTI has `count` addresses there, as long as the host object.
        let names = unsafe { std::slice::from_raw_parts(metrics.names, metrics.count) };
        let names = names.iter().map(|name| {
            // SAFETY: each is that of a NUL-terminated string of the same life.
            let name = unsafe { CStr::from_ptr(*name) };
            name.to_string_lossy().into_owned()
        });
        Ok(names.collect())
    }

    fn initialize(
        library: &'static SamplingLibrary,
        chip: &AvailableCounters<'_>,
    ) -> Result<Self, CallError> {
        let mut parameters = HostInitialize {
            profiler: PM_SAMPLING,
            chip: chip.name.as_ptr(),
            availability: chip.availability(),
            ..HostInitialize::default()
        };
        library.host_initialize(&mut parameters)?;
        Ok(Self {
            library,
            object: parameters.host,
            config: Vec::new(),
            sources: Vec::new(),
            names: Vec::new(),
            listed: &[],
            refused: Vec::new(),
            without_room: Vec::new(),
        })
    }

    /// The same with one more metric, if all fit into one pass: with a new object, because one that
    /// has refused a metric refuses all that follow (H200, CUDA 13.0).
    fn with(
        &self,
        chip: &AvailableCounters<'_>,
        source: (usize, Form),
        name: &CStr,
    ) -> Result<Self, Reason> {
        let host = Self::initialize(self.library, chip);
        let mut host = host.map_err(|_| Reason::NotAccepted)?;
        host.listed = self.listed;
        host.sources.clone_from(&self.sources);
        host.names.clone_from(&self.names);
        host.sources.push(source);
        host.names.push(name.as_ptr());
        let fits = host.fits()?;
        fits.then_some(host).ok_or(Reason::ManyPasses)
    }

    /// Makes the configuration; returns whether it fits into one pass.
    fn fits(&mut self) -> Result<bool, Reason> {
        let mut metrics = HostAddMetrics {
            host: self.object,
            names: self.names.as_ptr(),
            count: self.names.len(),
            ..HostAddMetrics::default()
        };
        let added = self.library.host_add_metrics(&mut metrics);
        added.map_err(|_| Reason::NotAccepted)?;
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

    /// Writes which metrics are sampled.
    pub(super) fn describe(&self, facts: &mut DeviceCounters) {
        for (index, (metric, _)) in SOURCES.iter().enumerate() {
            self.describe_metric(*metric, &[index], facts);
        }
        facts.listed = self.listed_names().collect();
    }

    /// The same of the second set.
    pub(super) fn describe_in_turn(&self, facts: &mut DeviceCounters) {
        for of in &IN_TURN_METRICS {
            let counters: Vec<_> = of.counters().collect();
            self.describe_metric(of.metric, &counters, facts);
        }
    }

    /// Writes whether a metric is sampled that is made of these counters, and why not.
    fn describe_metric(&self, metric: Metric, counters: &[usize], facts: &mut DeviceCounters) {
        let is_there = |index: &usize| self.counts(*index);
        if counters.iter().all(is_there) {
            facts.metrics.push(metric);
            return;
        }
        facts.omitted.push(metric);
        let is_known = |index: &usize| is_there(index) || self.without_room.contains(index);
        if counters.iter().all(is_known) {
            facts.without_room.push(metric);
        } else {
            facts.lacking.push(metric);
        }
    }

    fn counts(&self, index: usize) -> bool {
        self.sources.iter().any(|(known, _)| *known == index)
    }

    /// The names of the listed metrics that are sampled.
    fn listed_names(&self) -> impl Iterator<Item = String> {
        let listed = self
            .sources
            .iter()
            .filter_map(|(index, _)| self.listed(*index));
        listed.map(|metric| metric.name.clone())
    }

    fn listed(&self, source: usize) -> Option<&'static ListedMetric> {
        self.listed.get(source.checked_sub(SOURCES.len())?)
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
        for ((source, form), value) in self.sources.iter().zip(values) {
            if let Some(integral) = integrals.get_mut(*source) {
                *integral = form.integral(value, ns as f64);
            }
        }
        Ok(integrals)
    }
}

fn counters(set: MetricSet) -> impl Iterator<Item = &'static CounterNames> {
    let (first, in_turn): (&[(Metric, CounterNames)], &[CounterNames]) = match set {
        MetricSet::First => (&SOURCES, &[]),
        MetricSet::InTurn => (&[], &COUNTERS),
    };
    first.iter().map(|(_, counter)| counter).chain(in_turn)
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
