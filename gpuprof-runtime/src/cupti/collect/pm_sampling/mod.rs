//! Samples of the devices' hardware counters, by CUPTI's PM sampling.
//!
//! A device stores the values of its counters at a fixed interval, whatever runs. A thread decodes
//! them, and the CUPTI reader takes them from there. Nothing is launched, replayed or serialized
//! for it.

mod bindings;
mod device_sampler;
mod host;
mod library;
pub(crate) mod metrics;
mod results;
mod samplers;
mod unavailable;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use gpuprof_report::profile::DeviceCounters;
use parking_lot::Mutex;

use self::device_sampler::DeviceSampler;
use self::library::SamplingLibrary;
use self::results::{RESULTS, bit};
pub(crate) use self::results::{SamplingEvent, is_sampled};
use self::samplers::Samplers;
use self::unavailable::Unavailable;
use super::library::CuptiLibrary;
use super::lifecycle;
use crate::driver::Driver;
use crate::os::thread_signals;

/// How often the devices' samples are decoded: there is room for those of twice this time.
const DECODE_PERIOD: Duration = Duration::from_millis(100);

/// How long the reader waits for the thread that decodes or starts a device, and a thread of the
/// program for what is known: in a forked child the locks may be held forever.
const LOCK_TIMEOUT: Duration = Duration::from_millis(100);

/// A session has asked for samples.
static REQUESTED: AtomicBool = AtomicBool::new(false);
/// The devices on which sampling was started, or was to be: one bit each.
static MET: AtomicU64 = AtomicU64::new(0);
static LIBRARY: OnceLock<Result<SamplingLibrary, Unavailable>> = OnceLock::new();
/// Held during calls of CUPTI, which take up to half a second.
static SAMPLERS: Mutex<Samplers> = Mutex::new(Samplers::NONE);

/// From now on every device that is met is sampled.
pub(crate) fn request() {
    REQUESTED.store(true, Relaxed);
}

/// Starts sampling on a device on which CUDA is initialized, unless it was started before or nobody
/// asked for it. Takes some hundred ms.
pub(crate) fn start_device(ordinal: u32) {
    if is_first(ordinal) {
        start(ordinal);
    }
}

/// The same in a thread of its own.
pub(crate) fn start_device_later(ordinal: u32) {
    if is_first(ordinal) {
        // Without the thread nothing is sampled.
        let _ = thread_signals::spawn("gpuprof-counters", move || relaxed(|| start(ordinal)));
    }
}

/// Whether sampling is to be started on a device.
fn is_first(ordinal: u32) -> bool {
    REQUESTED.load(Relaxed)
        && bit(ordinal).is_some_and(|bit| {
            MET.load(Relaxed) & bit == 0 && MET.fetch_or(bit, Relaxed) & bit == 0
        })
}

fn start(ordinal: u32) {
    let began = Instant::now();
    let Some(time) = lifecycle::now() else {
        return;
    };
    let mut samplers = SAMPLERS.lock();
    // Whoever ends sampling waits for the lock.
    let Some(cupti) = lifecycle::callable_library() else {
        return;
    };
    let mut facts = DeviceCounters::default();
    facts.device = ordinal;
    let started = sampler(cupti, ordinal).map(|sampler| {
        facts.chip.clone_from(&sampler.chip);
        (facts.metrics, facts.omitted) = sampler.metrics();
        samplers.add(ordinal, sampler);
        let ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        SamplingEvent::Started { time, ns }
    });
    let is_sampled = started.is_ok();
    RESULTS.lock().start(facts, started);
    if is_sampled && !samplers.has_thread {
        // Without the thread the reader decodes, less often.
        let decoding = || relaxed(|| while decode() {});
        samplers.has_thread = thread_signals::spawn("gpuprof-counters", decoding).is_ok();
    }
}

fn sampler(cupti: &CuptiLibrary, ordinal: u32) -> Result<DeviceSampler, Unavailable> {
    let library = LIBRARY.get_or_init(|| SamplingLibrary::open(cupti));
    DeviceSampler::start(library.as_ref().map_err(Unavailable::clone)?, ordinal)
}

/// Runs `f` so that no call of the driver in it can disturb a capture elsewhere, if that is
/// possible.
fn relaxed(f: impl Fn()) {
    let relaxed = Driver::met().map(|driver| driver.relaxed(&f));
    if !matches!(relaxed, Some(Ok(()))) {
        f();
    }
}

/// Decodes what the devices have stored, and waits for the rest of the period. Returns whether
/// there is more to come.
fn decode() -> bool {
    let began = Instant::now();
    {
        let mut samplers = SAMPLERS.lock();
        // The last samples are decoded by the reader, which knows when CUPTI may be called.
        let is_callable = lifecycle::callable_library().is_some() && !has_driver_ended();
        if !is_callable || !samplers.decode() {
            samplers.has_thread = false;
            return false;
        }
    }
    thread::sleep(DECODE_PERIOD.saturating_sub(began.elapsed()));
    true
}

fn has_driver_ended() -> bool {
    Driver::met().is_some_and(Driver::has_ended)
}

/// Gives what happened on the devices to `each`; `all`: also what they have stored.
pub(super) fn poll(all: bool, each: &mut dyn FnMut(u32, SamplingEvent)) {
    if !has_driver_ended()
        && let Some(mut samplers) = SAMPLERS.try_lock_for(LOCK_TIMEOUT)
        && (all || !samplers.has_thread)
    {
        samplers.decode();
    }
    let taken = RESULTS.lock().take();
    for (device, events) in taken {
        events.into_iter().for_each(|event| each(device, event));
    }
}

/// Ends sampling on all devices.
pub(super) fn stop() {
    SAMPLERS.lock().stop(has_driver_ended());
}

/// What is known of the sampled devices, without what follows from samples.
pub(crate) fn devices() -> Vec<DeviceCounters> {
    let results = RESULTS.try_lock_for(LOCK_TIMEOUT);
    results.map_or_else(Vec::new, |results| results.devices())
}

/// Why devices are not sampled, or no longer: one line for each reason.
pub(crate) fn notes() -> Vec<String> {
    let (Some(subscription), Some(results)) = (
        lifecycle::subscription(),
        RESULTS.try_lock_for(LOCK_TIMEOUT),
    ) else {
        return Vec::new();
    };
    let status_name = |status| subscription.library.status_name(status);
    let lines = results.unavailable();
    let mut lines: Vec<String> = lines
        .map(|(reason, sampled_for)| reason.line(sampled_for, status_name))
        .collect();
    lines.dedup();
    lines
}
