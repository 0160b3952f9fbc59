//! Samples of the devices' hardware counters, by CUPTI's PM sampling.
//!
//! A device stores the values of its counters at a fixed interval, whatever runs. A thread decodes
//! them, and the CUPTI reader takes them from there. Nothing is launched, replayed or serialized
//! for it.

mod bindings;
#[cfg(all(test, chips))]
mod chips;
mod device_sampler;
mod host;
pub(crate) mod in_turn;
mod library;
pub(crate) mod listed;
pub(crate) mod metrics;
mod refused;
mod results;
mod samplers;
mod turns;
mod unavailable;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use gpuprof_report::profile::DeviceCounters;
use gpuprof_report::setting_values::Counters;
use parking_lot::Mutex;

use self::device_sampler::DeviceSampler;
use self::library::SamplingLibrary;
use self::listed::MetricList;
pub(crate) use self::results::SamplingEvent;
use self::results::{PmSamplingResults, bit};
use self::samplers::Samplers;
use self::unavailable::PmSamplingUnavailable;
use super::library::CuptiLibrary;
use super::{lifecycle, used_contexts};
use crate::driver::Driver;
use crate::os::thread_signals;

/// How often the devices' samples are decoded: there is room for those of twice this time.
const DECODE_PERIOD: Duration = Duration::from_millis(100);

/// How long the reader waits for the thread that decodes or starts a device, and a thread of the
/// program for what is known: in a forked child the locks may be held forever.
const LOCK_TIMEOUT: Duration = Duration::from_millis(100);
/// The same for the reader: while another set of metrics is started.
const CHANGE_TIMEOUT: Duration = Duration::from_millis(500);
/// The same for a thread of the program that starts a device.
const START_TIMEOUT: Duration = Duration::from_secs(2);

/// Sampling on all devices of the process.
#[derive(Default)]
pub(crate) struct PmSampling {
    requested: OnceLock<Request>,
    /// Samples are asked for.
    is_on: AtomicBool,
    /// The devices on which sampling was started, or was to be: one bit each.
    met: AtomicU64,
    /// The devices sample something else now.
    has_given_way: AtomicBool,
    library: OnceLock<Result<&'static SamplingLibrary, PmSamplingUnavailable>>,
    /// Held during calls of CUPTI, which take up to half a second.
    samplers: Mutex<Samplers>,
    results: PmSamplingResults,
}

/// A session has asked for samples.
struct Request {
    /// Registers the exit handler again: NVIDIA's libraries make static objects in the first calls,
    /// which are destroyed before what was registered earlier, and a call after that corrupts the
    /// heap (H100, CUDA 13.0).
    register: fn(),
    by_context: bool,
    counters: Counters,
    /// Lives as long as the process, like the samples of it.
    list: &'static MetricList,
}

impl PmSampling {
    /// From now on every device that is met is sampled; `by_context`: also one of which a call uses
    /// a context. `register` registers the exit handler again, which ends the sampling.
    pub(crate) fn request(&self, counters: &Counters, by_context: bool, register: fn()) {
        if by_context {
            used_contexts::watch();
        }
        self.requested.get_or_init(|| Request {
            register,
            by_context,
            counters: counters.clone(),
            list: Box::leak(Box::new(MetricList::new(counters.listed()))),
        });
        self.is_on.store(true, Relaxed);
    }

    /// Ends the sampling, until it is requested again. Returns whether it was on.
    pub(crate) fn suspend(&self) -> bool {
        let was_on = self.is_on.swap(false, Relaxed);
        if was_on {
            // A device that is being started holds the lock.
            self.stop();
            self.results.clear();
            self.met.store(0, Relaxed);
            // Calls of the program meet them again.
            used_contexts::forget_all();
            self.has_given_way.store(false, Relaxed);
        }
        was_on
    }

    /// Starts sampling on a device on which CUDA is initialized, unless it was started before or
    /// counters are off. Takes some hundred ms.
    pub(crate) fn start_device(self: &Arc<Self>, ordinal: u32) {
        if self.is_first(ordinal) {
            self.start(ordinal);
        }
    }

    /// The same on the device of the current context, inside a call of the program's that uses it
    /// for the first time.
    pub(crate) fn meet_context(self: &Arc<Self>) {
        if self
            .requested
            .get()
            .is_some_and(|request| request.by_context)
            && let Some(Ok(device)) = Driver::loaded().map(Driver::device)
            && let Ok(ordinal) = u32::try_from(device.0)
        {
            self.start_device(ordinal);
        }
    }

    /// The same in a thread of its own.
    pub(crate) fn start_device_later(self: &Arc<Self>, ordinal: u32) {
        if self.is_first(ordinal) {
            let sampling = Arc::clone(self);
            let start = move || relaxed(|| sampling.start(ordinal));
            // Without the thread nothing is sampled.
            let _ = thread_signals::spawn("gpuprof-counters", start);
        }
    }

    /// Whether sampling is to be started on a device.
    fn is_first(&self, ordinal: u32) -> bool {
        let met = &self.met;
        self.is_on.load(Relaxed)
            && !self.has_given_way.load(Relaxed)
            && bit(ordinal).is_some_and(|bit| {
                met.load(Relaxed) & bit == 0 && met.fetch_or(bit, Relaxed) & bit == 0
            })
    }

    fn start(self: &Arc<Self>, ordinal: u32) {
        let began = Instant::now();
        let (Some(time), Some(request)) = (lifecycle::now(), self.requested.get()) else {
            return;
        };
        // The thread that decodes may wait for the driver, which waits for the program's call.
        let Some(mut samplers) = self.samplers.try_lock_for(START_TIMEOUT) else {
            let bit = bit(ordinal).unwrap_or(0);
            self.met.fetch_and(!bit, Relaxed);
            return;
        };
        // Ending the sampling waits for the lock, and giving way does.
        let is_over =
            samplers.is_ending || self.has_given_way.load(Relaxed) || !self.is_on.load(Relaxed);
        let Some(cupti) = lifecycle::callable_library().filter(|_| !is_over) else {
            return;
        };
        let mut facts = DeviceCounters::default();
        facts.device = ordinal;
        let started = self.sampler(cupti, ordinal, request.list).map(|sampler| {
            sampler.describe(&mut facts);
            samplers.add(ordinal, sampler);
            let ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            SamplingEvent::Started { time, ns }
        });
        let is_sampled = started.is_ok();
        self.register_exit_handler();
        self.results.start(facts, started);
        if is_sampled && !samplers.has_thread {
            let sampling = Arc::clone(self);
            let decoding = move || relaxed(|| while sampling.decode() {});
            // Without the thread the reader decodes, less often.
            samplers.has_thread = thread_signals::spawn("gpuprof-counters", decoding).is_ok();
        }
    }

    fn sampler(
        &self,
        cupti: &CuptiLibrary,
        ordinal: u32,
        list: &'static MetricList,
    ) -> Result<DeviceSampler, PmSamplingUnavailable> {
        let open = || SamplingLibrary::open(cupti).map(|library| &*Box::leak(Box::new(library)));
        let library = self.library.get_or_init(open).clone()?;
        DeviceSampler::start(library, ordinal, list)
    }

    fn register_exit_handler(&self) {
        if let Some(request) = self.requested.get() {
            (request.register)();
        }
    }

    /// The process is about to end: waits at most `limit` for a call of CUPTI's that is under way.
    /// From then on the reader alone makes any, until the exit handler ends the sampling.
    pub(crate) fn prepare_to_end(&self, limit: Duration) {
        if self.requested.get().is_some()
            && let Some(mut samplers) = self.samplers.try_lock_for(limit)
        {
            samplers.is_ending = true;
            self.register_exit_handler();
        }
    }

    /// Decodes what the devices have stored, and waits for the rest of the period. Returns whether
    /// there is more to come.
    fn decode(&self) -> bool {
        let began = Instant::now();
        {
            let mut samplers = self.samplers.lock();
            // The last samples are decoded by the reader, which knows when CUPTI may be called.
            let is_callable = lifecycle::callable_library().is_some()
                && !samplers.is_ending
                && !has_driver_ended();
            if !is_callable || !samplers.decode(&self.results, true) {
                samplers.has_thread = false;
                return false;
            }
        }
        thread::sleep(DECODE_PERIOD.saturating_sub(began.elapsed()));
        true
    }

    /// Gives what happened on the devices to `each`; `all`: also what they have stored, at once,
    /// because somebody waits for it.
    pub(super) fn poll(&self, all: bool, each: &mut dyn FnMut(u32, SamplingEvent)) {
        if !has_driver_ended()
            && let Some(mut samplers) = self.samplers.try_lock_for(CHANGE_TIMEOUT)
            && (all || !samplers.has_thread)
        {
            samplers.decode(&self.results, !all);
        }
        for (device, events) in self.results.take() {
            events.into_iter().for_each(|event| each(device, event));
        }
    }

    /// Ends sampling on all devices.
    pub(super) fn stop(&self) {
        self.samplers.lock().stop(has_driver_ended());
    }

    /// Whether a device was met that is, or was, to be sampled.
    pub(super) fn has_devices(&self) -> bool {
        self.met.load(Relaxed) != 0
    }

    /// Whether devices sample counters, or are going to.
    pub(super) fn needs_devices(&self) -> bool {
        let met = self.met.load(Relaxed).count_ones() as usize;
        self.is_on.load(Relaxed)
            && !self.has_given_way.load(Relaxed)
            && (met == 0 || self.results.ended() < met)
    }

    /// Whether the devices can sample something else. Ends this sampling after `most`.
    pub(super) fn gives_way(&self, most: Duration) -> bool {
        if !self.needs_devices() {
            return true;
        }
        let is_over = self.results.longest() >= most;
        if is_over {
            let mut samplers = self.samplers.lock();
            self.has_given_way.store(true, Relaxed);
            samplers.decode(&self.results, false);
            samplers.stop(has_driver_ended());
            self.results.give_way();
        }
        is_over
    }

    /// Whether samples come of a device.
    pub(crate) fn is_sampled(&self, device: u32) -> bool {
        self.results.is_sampled(device)
    }

    /// What is known of the sampled devices, without what follows from samples.
    pub(crate) fn devices(&self) -> Vec<DeviceCounters> {
        self.results.devices(LOCK_TIMEOUT)
    }

    /// Why devices are not sampled, or no longer, and why metrics of the list `counters` are not:
    /// one line for each reason.
    pub(crate) fn notes(&self, counters: &Counters) -> Vec<String> {
        let Some(subscription) = lifecycle::subscription() else {
            return Vec::new();
        };
        let status_name = |status| subscription.library.status_name(status);
        let unavailable = self.results.unavailable(LOCK_TIMEOUT).into_iter();
        let unavailable =
            unavailable.map(|(reason, sampled_for)| reason.line(sampled_for, status_name));
        let first = self
            .requested
            .get()
            .filter(|first| first.counters != *counters);
        let other_list = first.and_then(|first| other_list(&first.counters, counters));
        let mut lines: Vec<String> = Vec::new();
        for line in unavailable
            .chain(self.results.refusals(LOCK_TIMEOUT))
            .chain(other_list)
        {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}

/// A line for the metrics of a list that are not in the first one.
fn other_list(first: &Counters, counters: &Counters) -> Option<String> {
    let others = counters
        .listed()
        .iter()
        .filter(|name| !first.listed().contains(name));
    let others: Vec<&str> = others.map(String::as_str).collect();
    (!others.is_empty()).then(|| {
        format!(
            "not sampled are {}: sampling began before, with another list (GPUPROF_COUNTERS)",
            others.join(", ")
        )
    })
}

/// Runs `f` so that no call of the driver in it can disturb a capture elsewhere, if that is
/// possible.
pub(crate) fn relaxed(mut f: impl FnMut()) {
    let relaxed = Driver::loaded().map(|driver| driver.relaxed(&mut f));
    if !matches!(relaxed, Some(Ok(()))) {
        f();
    }
}

pub(super) fn has_driver_ended() -> bool {
    Driver::loaded().is_some_and(Driver::has_ended)
}
