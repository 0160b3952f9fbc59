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
mod unavailable;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use gpuprof_report::profile::DeviceCounters;
use parking_lot::Mutex;

use self::device_sampler::DeviceSampler;
use self::library::SamplingLibrary;
use self::metrics::Sample;
use self::unavailable::Unavailable;
use super::lifecycle;
use crate::os::thread_signals;

/// How often the devices' samples are decoded: there is room for those of twice this time.
const DECODE_PERIOD: Duration = Duration::from_millis(50);

/// A session has asked for samples.
static REQUESTED: AtomicBool = AtomicBool::new(false);
static LIBRARY: OnceLock<Result<SamplingLibrary, Unavailable>> = OnceLock::new();
static DEVICES: Mutex<Vec<SampledDevice>> = Mutex::new(Vec::new());

/// A device on which sampling was started, or was to be.
struct SampledDevice {
    /// What is known of it, without what follows from samples.
    facts: DeviceCounters,
    state: State,
}

enum State {
    /// Boxed, as it is several times larger than the rest.
    Sampling(Box<DeviceSampler>),
    /// The process ends.
    Stopped,
    Unavailable(Unavailable),
}

/// From now on every device that is met is sampled.
pub(crate) fn request() {
    REQUESTED.store(true, Relaxed);
}

/// Whether a session has asked for samples.
pub(crate) fn is_requested() -> bool {
    REQUESTED.load(Relaxed)
}

/// Starts sampling on a device on which CUDA is initialized, unless it was started before or nobody
/// asked for it. Takes some hundred ms.
pub(crate) fn start_device(ordinal: u32) {
    if !is_requested() {
        return;
    }
    let Some(subscription) = lifecycle::subscription() else {
        return;
    };
    let began = Instant::now();
    let library = LIBRARY.get_or_init(|| SamplingLibrary::open(subscription.library));
    let mut devices = DEVICES.lock();
    if devices.iter().any(|device| device.facts.device == ordinal) {
        return;
    }
    let mut facts = DeviceCounters::default();
    facts.device = ordinal;
    let library = library.as_ref().map_err(Unavailable::clone);
    let state = match library.and_then(|library| DeviceSampler::start(library, ordinal)) {
        Ok(sampler) => {
            facts.chip.clone_from(&sampler.chip);
            (facts.metrics, facts.omitted) = sampler.metrics();
            start_decoding(&devices);
            State::Sampling(Box::new(sampler))
        }
        Err(unavailable) => State::Unavailable(unavailable),
    };
    facts.start_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    devices.push(SampledDevice { facts, state });
}

/// Starts the thread that decodes, unless it does so for one of `devices` already.
fn start_decoding(devices: &[SampledDevice]) {
    let is_sampled = |device: &SampledDevice| matches!(device.state, State::Sampling(_));
    if !devices.iter().any(is_sampled) {
        // Without the thread the reader decodes, less often.
        let _ = thread_signals::spawn("gpuprof-counters", || {
            while decode() {
                thread::sleep(DECODE_PERIOD);
            }
        });
    }
}

/// Decodes what the devices have stored. Returns whether any is sampled still.
fn decode() -> bool {
    let mut is_sampled = false;
    for SampledDevice { state, .. } in &mut *DEVICES.lock() {
        if let State::Sampling(sampler) = state {
            is_sampled = true;
            if let Err(error) = sampler.decode() {
                *state = State::Unavailable(error.into());
            }
        }
    }
    is_sampled
}

/// Gives the samples so far, with the ordinals of their devices, to `each`.
pub(super) fn poll(each: &mut dyn FnMut(u32, Sample)) {
    for SampledDevice { facts, state } in &mut *DEVICES.lock() {
        if let State::Sampling(sampler) = state {
            let result = sampler.poll(&mut |sample| each(facts.device, sample));
            facts.overflows = sampler.overflows;
            if let Err(error) = result {
                *state = State::Unavailable(error.into());
            }
        }
    }
}

/// Ends sampling on all devices.
pub(super) fn stop() {
    for device in &mut *DEVICES.lock() {
        if matches!(device.state, State::Sampling(_)) {
            device.state = State::Stopped;
        }
    }
}

/// What is known of the sampled devices, without what follows from samples.
pub(crate) fn devices() -> Vec<DeviceCounters> {
    let devices = DEVICES.lock();
    let sampled = devices
        .iter()
        .filter(|device| !device.facts.metrics.is_empty());
    sampled.map(|device| device.facts.clone()).collect()
}

/// Why devices are not sampled: one line for each reason.
pub(crate) fn notes() -> Vec<String> {
    let Some(subscription) = lifecycle::subscription() else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for device in &*DEVICES.lock() {
        if let State::Unavailable(unavailable) = &device.state {
            let line = unavailable.line(|status| subscription.library.status_name(status));
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}
