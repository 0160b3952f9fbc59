//! Clocks, asked of NVML: whether a device ran below them, and why.
//!
//! NVML only tells here: nothing is ever set. It counts devices in another order than CUDA, so they are found by UUID. Where it
//! is missing or does not answer, nothing is said. Must not import span, report or cupti.

use std::ffi::OsStr;
use std::time::Duration;

use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::Clock;
use parking_lot::Mutex;

use gpuprof_report::profile::{Device, Throttle};

/// The name that a driver installs; the one without a version comes with development packages only.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// What holds clocks down although there is work, by the names of the report. An idle device, clocks that someone set and a
/// display are no such reasons.
const REASONS: [(ThrottleReasons, &str); 6] = [
    (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
    (
        ThrottleReasons::HW_THERMAL_SLOWDOWN,
        "hardware thermal slowdown",
    ),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, "thermal slowdown"),
    (ThrottleReasons::SW_POWER_CAP, "power cap"),
    (ThrottleReasons::SYNC_BOOST, "sync boost"),
];

/// The process's: `None` before the first look, then what opening the library gave.
static CLOCKS: Mutex<Option<Option<Clocks>>> = Mutex::new(None);

/// Asks for the present state of `devices`. The first time opens the library, which may take some milliseconds: not for a thread of the
/// program.
pub(crate) fn look(devices: &[Device]) {
    let mut clocks = CLOCKS.lock();
    if let Some(clocks) = clocks.get_or_insert_with(Clocks::open) {
        clocks.sample(devices);
    }
}

/// The devices that were held down in any look of this window, as far as can be told within `limit`.
pub(crate) fn told(limit: Duration) -> Vec<Throttle> {
    let clocks = CLOCKS.try_lock_for(limit);
    let open = clocks.as_ref().and_then(|clocks| clocks.as_ref()?.as_ref());
    open.map_or_else(Vec::new, |clocks| clocks.throttled().to_vec())
}

/// Begins a new window. Who looks just now may still tell of the one before.
pub(crate) fn forget() {
    if let Some(Some(Some(clocks))) = CLOCKS.try_lock().as_deref_mut() {
        clocks.forget();
    }
}

/// The library, opened, and what it has said so far.
#[derive(Debug)]
pub struct Clocks {
    nvml: Nvml,
    seen: Vec<Throttle>,
}

impl Clocks {
    /// Opens NVML; `None` where there is none. Takes some milliseconds with a real driver.
    #[must_use]
    pub fn open() -> Option<Self> {
        let library = OsStr::new(LIBRARY);
        let nvml = Nvml::builder().lib_path(library).init().ok()?;
        let seen = Vec::new();
        Some(Self { nvml, seen })
    }

    /// Asks for the present state of `devices` and keeps what holds one down.
    pub fn sample(&mut self, devices: &[Device]) {
        for device in devices {
            if let Some(throttle) = self.ask(device) {
                self.keep(throttle);
            }
        }
    }

    /// The devices that were held down in any sample since the last [`forget`](Self::forget).
    #[must_use]
    pub fn throttled(&self) -> &[Throttle] {
        &self.seen
    }

    /// Begins anew, for a new window.
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    /// `None` where nothing holds the device down, or NVML does not know it.
    fn ask(&self, device: &Device) -> Option<Throttle> {
        let found = self.nvml.device_by_uuid(device.uuid.as_str()).ok()?;
        let now = found.current_throttle_reasons().ok()?;
        let reasons: Vec<String> = REASONS
            .iter()
            .filter(|(reason, _)| now.contains(*reason))
            .map(|(_, name)| (*name).to_owned())
            .collect();
        (!reasons.is_empty()).then(|| Throttle {
            device: device.ordinal,
            reasons,
            sm_clock_mhz: found.clock_info(Clock::SM).unwrap_or(0),
            max_sm_clock_mhz: found.max_clock_info(Clock::SM).unwrap_or(0),
        })
    }

    fn keep(&mut self, new: Throttle) {
        let Some(known) = self
            .seen
            .iter_mut()
            .find(|known| known.device == new.device)
        else {
            self.seen.push(new);
            return;
        };
        for reason in new.reasons {
            if !known.reasons.contains(&reason) {
                known.reasons.push(reason);
            }
        }
        known.max_sm_clock_mhz = known.max_sm_clock_mhz.max(new.max_sm_clock_mhz);
        // 0 is "not known", which any clock is better than.
        if new.sm_clock_mhz > 0
            && (known.sm_clock_mhz == 0 || new.sm_clock_mhz < known.sm_clock_mhz)
        {
            known.sm_clock_mhz = new.sm_clock_mhz;
        }
    }
}
