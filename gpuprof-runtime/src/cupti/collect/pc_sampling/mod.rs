//! Samples of the program counters of the devices' warps, by CUPTI's PC sampling.
//!
//! Each multiprocessor stores at a fixed interval where one of its warps is and for what it waits.
//! A thread reads that. Kernels are neither replayed nor serialized.

mod bindings;
mod context_sampler;
mod library;
mod samples;
mod unavailable;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use gpuprof_report::profile::Stalls;
use parking_lot::Mutex;

use self::context_sampler::ContextSampler;
use self::library::PcSamplingLibrary;
pub(crate) use self::samples::{PcSamples, SampledKernel, SamplesByReason};
use self::unavailable::PcSamplingUnavailable;
use super::library::CuptiLibrary;
use super::pm_sampling::{PmSampling, has_driver_ended, relaxed};
use super::{lifecycle, used_contexts};
use crate::os::thread_signals;

/// How often the devices' samples are read.
const READ_PERIOD: Duration = Duration::from_millis(100);
/// How soon a context is found that the program begins to use.
const FIND_PERIOD: Duration = Duration::from_millis(5);
/// How long counters are sampled first, if both are asked for: a device does one or the other.
const COUNTERS_FIRST: Duration = Duration::from_secs(5);
/// How long a call of the program's waits for another context's start or end.
const START_TIMEOUT: Duration = Duration::from_secs(2);
/// As for counters.
const LOCK_TIMEOUT: Duration = Duration::from_millis(100);

/// Sampling in all contexts of the process.
#[derive(Default)]
pub(crate) struct PcSampling {
    /// Of the devices' counters, which are sampled first.
    counters: Arc<PmSampling>,
    /// A session has asked for samples. Registers the exit handler again.
    requested: OnceLock<fn()>,
    library: OnceLock<Option<&'static PcSamplingLibrary>>,
    /// Held during calls of CUPTI, which take up to half a second.
    samplers: Mutex<ContextSamplers>,
    samples: Mutex<PcSamples>,
    /// Why a context is not sampled, or no longer.
    unavailable: Mutex<Vec<PcSamplingUnavailable>>,
    start_ns: AtomicU64,
}

#[derive(Default)]
struct ContextSamplers {
    contexts: Vec<(usize, ContextSampler)>,
    has_thread: bool,
    /// The process is about to end: nothing is started any more.
    is_ending: bool,
    /// When the first context's sampling began.
    began: Option<Instant>,
    /// Time in which samples were taken, until sampling ended.
    sampled: Duration,
}

impl PcSampling {
    pub(crate) fn new(counters: Arc<PmSampling>) -> Self {
        Self {
            counters,
            ..Self::default()
        }
    }

    /// From now on every context that the program uses is sampled. `register` registers the exit
    /// handler again, which ends the sampling.
    pub(crate) fn request(self: &Arc<Self>, register: fn()) {
        self.requested.get_or_init(|| {
            let sampling = Arc::clone(self);
            let run = move || relaxed(|| while sampling.serve() {});
            // Without the thread the reader does its work, less often.
            let thread = thread_signals::spawn("gpuprof-stalls", run);
            self.samplers.lock().has_thread = thread.is_ok();
            register
        });
        used_contexts::watch();
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.requested.get().is_some()
    }

    /// Starts and reads what there is, and waits for the rest of the period. Returns whether there
    /// is more to come.
    fn serve(&self) -> bool {
        let began = Instant::now();
        let period = {
            let mut samplers = self.samplers.lock();
            let is_callable = lifecycle::callable_library().is_some();
            if samplers.is_ending || !is_callable || has_driver_ended() {
                samplers.has_thread = false;
                return false;
            }
            self.advance(&mut samplers);
            if samplers.contexts.is_empty() {
                FIND_PERIOD
            } else {
                READ_PERIOD
            }
        };
        thread::sleep(period.saturating_sub(began.elapsed()));
        true
    }

    /// Starts sampling in contexts that wait for it, and reads those that are sampled.
    fn advance(&self, samplers: &mut ContextSamplers) {
        if self.counters.gives_way(COUNTERS_FIRST) {
            self.start_waiting(samplers);
            self.read(samplers);
        }
    }

    fn start_waiting(&self, samplers: &mut ContextSamplers) {
        if let Some(cupti) = lifecycle::callable_library() {
            for context in used_contexts::take() {
                self.start(cupti, samplers, context);
            }
        }
    }

    /// Inside a call of the program's, which uses a context for the first time: what it launches is
    /// sampled from the beginning.
    pub(crate) fn meet_context(&self) {
        if self.is_requested()
            && !self.counters.needs_devices()
            && let Some(mut samplers) = self.samplers.try_lock_for(START_TIMEOUT)
            && !samplers.is_ending
        {
            self.start_waiting(&mut samplers);
        }
    }

    fn start(&self, cupti: &CuptiLibrary, samplers: &mut ContextSamplers, context: usize) {
        if samplers.contexts.iter().any(|(known, _)| *known == context) {
            return;
        }
        let began = Instant::now();
        let open = || PcSamplingLibrary::open(cupti).map(|library| &*Box::leak(Box::new(library)));
        let Some(library) = *self.library.get_or_init(open) else {
            self.refuse(PcSamplingUnavailable::NoFunctions);
            return;
        };
        let started = ContextSampler::start(library, context, &mut self.samples.lock());
        match started {
            Ok(sampler) => {
                samplers.contexts.push((context, sampler));
                samplers.began.get_or_insert_with(Instant::now);
                let ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                self.start_ns.fetch_max(ns, Relaxed);
            }
            Err(error) => self.refuse(PcSamplingUnavailable::CallFailed(error)),
        }
        if let Some(register) = self.requested.get() {
            register();
        }
    }

    fn refuse(&self, reason: PcSamplingUnavailable) {
        let mut unavailable = self.unavailable.lock();
        if !unavailable.contains(&reason) {
            unavailable.push(reason);
        }
    }

    fn read(&self, samplers: &mut ContextSamplers) {
        samplers.contexts.retain_mut(|(_, sampler)| {
            let read = sampler.read(&mut self.samples.lock());
            if let Err(error) = read {
                self.refuse(PcSamplingUnavailable::CallFailed(error));
            }
            read.is_ok()
        });
    }

    /// The program destroys a context, inside a call of its.
    pub(crate) fn end_context(&self, context: usize) {
        used_contexts::forget(context);
        if !self.is_requested() || lifecycle::callable_library().is_none() {
            return;
        }
        // The thread that reads may wait for the driver, which waits for the program's call.
        let Some(mut samplers) = self.samplers.try_lock_for(START_TIMEOUT) else {
            return;
        };
        let known = samplers
            .contexts
            .iter()
            .position(|(known, _)| *known == context);
        if let Some(at) = known {
            let (_, sampler) = samplers.contexts.swap_remove(at);
            sampler.stop(&mut self.samples.lock());
            samplers.end_if_last();
        }
    }

    /// As [`PmSampling::prepare_to_end`].
    pub(crate) fn prepare_to_end(&self, limit: Duration) {
        if let Some(register) = self.requested.get()
            && let Some(mut samplers) = self.samplers.try_lock_for(limit)
        {
            samplers.is_ending = true;
            register();
        }
    }

    /// Somebody waits for everything that there is.
    pub(super) fn poll(&self) {
        if self.is_requested()
            && !has_driver_ended()
            && let Some(mut samplers) = self.samplers.try_lock_for(LOCK_TIMEOUT)
        {
            if samplers.has_thread || samplers.is_ending {
                self.read(&mut samplers);
            } else {
                self.advance(&mut samplers);
            }
        }
    }

    /// Ends sampling in all contexts.
    pub(super) fn stop(&self) {
        if !self.is_requested() {
            return;
        }
        let mut samplers = self.samplers.lock();
        for (_, sampler) in std::mem::take(&mut samplers.contexts) {
            if has_driver_ended() {
                std::mem::forget(sampler);
            } else {
                sampler.stop(&mut self.samples.lock());
            }
        }
        samplers.end_if_last();
    }

    /// A window begins: earlier samples are not its.
    pub(crate) fn begin_window(&self) {
        if self.is_requested()
            && let Some(mut samplers) = self.samplers.try_lock_for(LOCK_TIMEOUT)
        {
            if !has_driver_ended() && lifecycle::callable_library().is_some() {
                self.read(&mut samplers);
            }
            samplers.sampled = Duration::ZERO;
            samplers.began = samplers.began.map(|_| Instant::now());
            self.samples.lock().clear();
        }
    }

    /// What was sampled, and how; `None` if nothing was, or a lock was held too long.
    pub(crate) fn sampled(&self) -> Option<(Stalls, PcSamples)> {
        let samplers = self.samplers.try_lock_for(LOCK_TIMEOUT)?;
        let sampled = samplers.sampled + samplers.began.map_or(Duration::ZERO, |at| at.elapsed());
        drop(samplers);
        if sampled.is_zero() {
            return None;
        }
        let samples = self.samples.try_lock_for(LOCK_TIMEOUT)?.clone();
        let mut stalls = Stalls::default();
        stalls.period_cycles = ContextSampler::PERIOD_CYCLES;
        stalls.sampled_ns = u64::try_from(sampled.as_nanos()).unwrap_or(u64::MAX);
        stalls.start_ns = self.start_ns.load(Relaxed);
        stalls.other_samples = samples.other;
        stalls.dropped_samples = samples.dropped;
        Some((stalls, samples))
    }

    /// Why nothing is sampled, or not all.
    pub(crate) fn notes(&self) -> Vec<String> {
        let Some(subscription) = lifecycle::subscription().filter(|_| self.is_requested()) else {
            return Vec::new();
        };
        let Some(unavailable) = self.unavailable.try_lock_for(LOCK_TIMEOUT) else {
            return Vec::new();
        };
        let status_name = |status| subscription.library.status_name(status);
        let mut notes: Vec<String> = unavailable
            .iter()
            .map(|reason| reason.line(status_name))
            .collect();
        if notes.is_empty() && self.counters.needs_devices() {
            notes.push(unavailable::ONLY_COUNTERS.to_owned());
        }
        let full = self
            .samples
            .try_lock_for(LOCK_TIMEOUT)
            .map_or(0, |all| all.full);
        if full > 0 {
            notes.push(unavailable::full(full));
        }
        notes
    }
}

impl ContextSamplers {
    /// Stops the clock of the sampling if no context is left.
    fn end_if_last(&mut self) {
        if self.contexts.is_empty()
            && let Some(began) = self.began.take()
        {
            self.sampled += began.elapsed();
        }
    }
}
