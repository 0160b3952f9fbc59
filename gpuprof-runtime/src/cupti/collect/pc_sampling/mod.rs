//! Samples of the program counters of the devices' warps, by CUPTI's PC sampling.
//!
//! Each multiprocessor stores at a fixed interval where one of its warps is and for what it waits.
//! A thread reads that. Kernels are neither replayed nor serialized.

mod bindings;
mod clock;
mod context_sampler;
mod library;
mod outcome;
mod sampled_stalls;
mod samples;
mod unavailable;
mod windows;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use self::clock::SamplingClock;
use self::context_sampler::{ContextSampler, FIRST_PERIOD, KnownReasons};
use self::library::PcSamplingLibrary;
pub(crate) use self::sampled_stalls::SampledStalls;
use self::samples::PcSamples;
pub(crate) use self::samples::{SampledKernel, SamplesByReason};
use self::unavailable::PcSamplingUnavailable;
use super::call_gate::{self, Calls};
use super::library::CuptiLibrary;
use super::pm_sampling::{PmSampling, has_driver_ended, relaxed};
use super::{lifecycle, used_contexts};
use crate::driver::Driver;
use crate::os::thread_signals;

/// How often the devices' samples are read.
const READ_PERIOD: Duration = Duration::from_millis(100);
/// How long counters are sampled first, if both are asked for: a device does one or the other.
const COUNTERS_FIRST: Duration = Duration::from_secs(5);
/// How long a call of the program's waits for the thread that reads, and an end for a moment
/// without launches.
const START_TIMEOUT: Duration = Duration::from_secs(2);
/// As for counters.
const LOCK_TIMEOUT: Duration = Duration::from_millis(100);

/// Sampling in all contexts of the process.
#[derive(Default)]
pub(crate) struct PcSampling {
    /// Of the devices' counters, which are sampled first.
    counters: Arc<PmSampling>,
    /// Set when a session asks for samples first. Registers the exit handler again.
    register: OnceLock<fn()>,
    /// Samples are asked for.
    is_requested: AtomicBool,
    library: OnceLock<Option<&'static PcSamplingLibrary>>,
    /// Held during calls of CUPTI, which take up to a second.
    samplers: Mutex<ContextSamplers>,
    samples: Mutex<PcSamples>,
    reasons: KnownReasons,
    clock: Mutex<SamplingClock>,
    /// Samples are of the part of the program that is measured.
    is_counting: AtomicBool,
    /// A window has begun while `samplers` was locked: what is read next is of the one before.
    is_stale: AtomicBool,
    /// Why a context is not sampled, or no longer.
    unavailable: Mutex<Vec<PcSamplingUnavailable>>,
    /// Time that all starts took, ns.
    start_ns: AtomicU64,
}

#[derive(Default)]
struct ContextSamplers {
    contexts: Vec<(usize, ContextSampler)>,
    has_thread: bool,
    /// The process is about to end: nothing is started any more.
    is_ending: bool,
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
        self.register.get_or_init(|| register);
        if !self.is_requested.swap(true, Relaxed) {
            call_gate::count_calls();
            // Calls of the program meet them again, and start the sampling.
            used_contexts::forget_all();
        }
        let mut samplers = self.samplers.lock();
        if !samplers.has_thread && !samplers.is_ending {
            let sampling = Arc::clone(self);
            let run = move || {
                // As the thread that reads records.
                while Driver::loaded().is_none() {
                    if !sampling.serve() {
                        return;
                    }
                }
                relaxed(|| while sampling.serve() {});
            };
            // Without the thread the reader does its work, less often.
            samplers.has_thread = thread_signals::spawn("gpuprof-stalls", run).is_ok();
        }
        drop(samplers);
        used_contexts::watch();
    }

    /// Ends the sampling in the contexts that were used so far. Returns false if calls of the
    /// program's do not return in time: it goes on then.
    pub(crate) fn end(&self) -> bool {
        let is_sampling = || !self.samplers.lock().contexts.is_empty();
        !self.is_requested()
            || !is_sampling()
            || without_launches(START_TIMEOUT, || self.end_all()).is_some()
    }

    /// The same in all contexts, until it is requested again, and forgets what was sampled.
    pub(crate) fn suspend(&self) -> bool {
        let has_ended = self.end();
        if has_ended && self.is_requested.swap(false, Relaxed) {
            used_contexts::forget_all();
            self.unavailable.lock().clear();
            self.start_ns.store(0, Relaxed);
            let _ = self.take_samples();
        }
        has_ended
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.is_requested.load(Relaxed)
    }

    /// Starts and reads what there is, and waits for the rest of the period. Returns whether there
    /// is more to come.
    fn serve(&self) -> bool {
        let began = Instant::now();
        {
            let mut samplers = self.samplers.lock();
            let is_wanted = self.is_requested() && !samplers.is_ending;
            if !is_wanted || lifecycle::callable_library().is_none() || has_driver_ended() {
                samplers.has_thread = false;
                return false;
            }
            if self.counters.gives_way(COUNTERS_FIRST) {
                self.read(&mut samplers);
                drop(samplers);
                self.start_again();
                self.start_waiting();
            }
        }
        thread::sleep(READ_PERIOD.saturating_sub(began.elapsed()));
        true
    }

    /// Starts sampling in the contexts that wait for it.
    fn start_waiting(&self) {
        self.start_each(used_contexts::has_waiting, |cupti, samplers| {
            self.start(cupti, samplers, used_contexts::take()?, FIRST_PERIOD);
            Some(())
        });
    }

    /// Ends sampling whose buffer was full, and starts it again with longer intervals.
    fn start_again(&self) {
        let is_full = |(_, sampler): &(usize, ContextSampler)| sampler.is_full();
        let is_any_full = || {
            let samplers = self.samplers.try_lock_for(LOCK_TIMEOUT);
            samplers.is_some_and(|samplers| samplers.contexts.iter().any(is_full))
        };
        self.start_each(is_any_full, |cupti, samplers| {
            samplers.leave_destroyed();
            let full = samplers.contexts.iter().position(is_full);
            let at = full.filter(|_| !has_driver_ended())?;
            let (context, sampler) = samplers.contexts.swap_remove(at);
            let period = sampler.longer_period();
            self.take(samplers, |_, samples| sampler.stop(samples));
            if !used_contexts::is_destroyed(context) {
                self.start(cupti, samplers, context, period);
            }
            Some(())
        });
    }

    /// Calls `start` between launches as often as something is to be started, unless something else
    /// is in the way, which is then tried again.
    fn start_each(
        &self,
        is_needed: impl Fn() -> bool,
        start: impl Fn(&CuptiLibrary, &mut ContextSamplers) -> Option<()>,
    ) {
        let start = || {
            let mut samplers = self.samplers.try_lock_for(START_TIMEOUT)?;
            let cupti = lifecycle::callable_library().filter(|_| !samplers.is_ending)?;
            start(cupti, &mut samplers)
        };
        while is_needed() && without_launches(Duration::ZERO, start).flatten().is_some() {}
    }

    /// Inside a call of the program's, which uses a context for the first time: what it launches is
    /// sampled from the beginning.
    pub(crate) fn meet_context(&self) {
        if self.is_requested() && !self.counters.needs_devices() {
            self.start_waiting();
        }
    }

    fn start(
        &self,
        cupti: &CuptiLibrary,
        samplers: &mut ContextSamplers,
        context: usize,
        period: u64,
    ) {
        samplers.leave_destroyed();
        if samplers.contexts.iter().any(|(known, _)| *known == context) {
            return;
        }
        let began = Instant::now();
        let open = || PcSamplingLibrary::open(cupti).map(|library| &*Box::leak(Box::new(library)));
        let Some(library) = *self.library.get_or_init(open) else {
            self.refuse(PcSamplingUnavailable::NoFunctions);
            return;
        };
        match ContextSampler::start(library, context, &self.reasons, period) {
            Ok(sampler) => {
                samplers.contexts.push((context, sampler));
                let ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                self.start_ns.fetch_add(ns, Relaxed);
            }
            Err(error) => self.refuse(PcSamplingUnavailable::NotStarted(error)),
        }
        self.set_clock(samplers);
        if let Some(register) = self.register.get() {
            register();
        }
    }

    fn refuse(&self, reason: PcSamplingUnavailable) {
        let mut unavailable = self.unavailable.lock();
        if !unavailable.contains(&reason) {
            unavailable.push(reason);
        }
    }

    /// Time is that of the sampling that counts.
    fn set_clock(&self, samplers: &ContextSamplers) {
        let has_room = samplers.contexts.iter().any(|(_, of)| !of.is_full());
        let runs = has_room && self.is_counting.load(Relaxed);
        self.clock.lock().set_running(runs);
    }

    fn read(&self, samplers: &mut ContextSamplers) {
        samplers.leave_destroyed();
        self.take(samplers, |contexts, samples| {
            contexts.retain_mut(|(_, sampler)| match sampler.read(samples) {
                Ok(()) => true,
                Err(error) => {
                    self.refuse(PcSamplingUnavailable::Ended(error));
                    false
                }
            });
        });
        self.is_stale.store(false, Relaxed);
        self.set_clock(samplers);
    }

    /// Has `each` add samples, where they count.
    fn take(
        &self,
        samplers: &mut ContextSamplers,
        each: impl FnOnce(&mut Vec<(usize, ContextSampler)>, &mut PcSamples),
    ) {
        let mut samples = self.samples.lock();
        if self.is_counting.load(Relaxed) && !self.is_stale.load(Relaxed) {
            each(&mut samplers.contexts, &mut samples);
        } else {
            each(&mut samplers.contexts, &mut PcSamples::default());
        }
    }

    /// The program destroys a context, inside a call of its.
    pub(crate) fn end_context(&self, context: usize) {
        used_contexts::forget(context);
        if !self.is_requested() {
            return;
        }
        let is_it = |(known, _): &(usize, ContextSampler)| *known == context;
        let end = || {
            // The thread that reads may wait for the driver, which waits for the program's call: it
            // then leaves the context alone from now on.
            let Some(mut samplers) = self.samplers.try_lock_for(START_TIMEOUT) else {
                return;
            };
            if let Some(at) = samplers.contexts.iter().position(is_it) {
                let (_, sampler) = samplers.contexts.swap_remove(at);
                self.take(&mut samplers, |_, samples| sampler.stop(samples));
                self.set_clock(&samplers);
            }
        };
        let known = self.samplers.try_lock_for(START_TIMEOUT);
        if known.is_some_and(|samplers| samplers.contexts.iter().any(is_it)) {
            // The call does not count: others may wait for what it holds.
            without_launches(START_TIMEOUT, end).unwrap_or_else(end);
        }
    }

    /// The program unloads a module, inside a call of its: its addresses may soon be another's.
    pub(crate) fn flush(&self) {
        if self.is_requested()
            && let Some(mut samplers) = self.samplers.try_lock_for(START_TIMEOUT)
        {
            self.read(&mut samplers);
        }
    }

    /// The program has loaded a module, inside a call of its.
    pub(crate) fn take_rest(&self) {
        if self.is_requested()
            && let Some(mut samplers) = self.samplers.try_lock_for(START_TIMEOUT)
        {
            self.take(&mut samplers, |contexts, samples| {
                let all = contexts.iter_mut();
                all.for_each(|(_, sampler)| sampler.take_rest(samples));
            });
        }
    }

    /// As [`PmSampling::prepare_to_end`].
    pub(crate) fn prepare_to_end(&self, limit: Duration) {
        if let Some(register) = self.register.get()
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
            self.read(&mut samplers);
            let is_alone = !samplers.has_thread && !samplers.is_ending;
            drop(samplers);
            if is_alone && self.counters.gives_way(COUNTERS_FIRST) {
                self.start_again();
                self.start_waiting();
            }
        }
    }

    /// Ends sampling in all contexts.
    pub(super) fn stop(&self) {
        if self.register.get().is_some() {
            let end = || self.end_all();
            without_launches(START_TIMEOUT, end).unwrap_or_else(end);
        }
    }

    fn end_all(&self) {
        let mut samplers = self.samplers.lock();
        samplers.leave_destroyed();
        self.take(&mut samplers, |contexts, samples| {
            for (_, sampler) in std::mem::take(contexts) {
                if has_driver_ended() {
                    std::mem::forget(sampler);
                } else {
                    sampler.stop(samples);
                }
            }
        });
        self.set_clock(&samplers);
    }
}

/// Starts or ends sampling while no launch runs; `None` if there is no such moment for `time`.
fn without_launches<R>(time: Duration, change: impl FnOnce() -> R) -> Option<R> {
    call_gate::between_calls(time, Calls::WithoutWaits, change)
}

impl ContextSamplers {
    /// Makes no call for contexts that are gone.
    fn leave_destroyed(&mut self) {
        let is_gone =
            |(context, _): &mut (usize, ContextSampler)| used_contexts::is_destroyed(*context);
        self.contexts
            .extract_if(.., is_gone)
            .for_each(std::mem::forget);
    }
}
