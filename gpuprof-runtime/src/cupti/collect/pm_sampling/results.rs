//! What is known of the sampled devices, and their decoded samples: behind a lock that is held for
//! moments, never during a call of CUPTI.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use gpuprof_report::profile::DeviceCounters;
use parking_lot::Mutex;

use super::metrics::PmSample;
use super::unavailable::PmSamplingUnavailable;

/// The bit of a device. `None` beyond 64, which are more than CUDA shows to a process.
pub(super) fn bit(device: u32) -> Option<u64> {
    1_u64.checked_shl(device)
}

/// What happened on a sampled device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SamplingEvent {
    /// Sampling was started at `time` of CUPTI's clock, which took `ns`.
    Started {
        time: u64,
        ns: u64,
    },
    Sample(PmSample),
    /// The interval was doubled at `time`: samples came too fast.
    Widened {
        time: u64,
    },
}

#[derive(Debug, Default)]
pub(super) struct PmSamplingResults {
    devices: Mutex<Vec<DeviceResults>>,
    /// The devices of which samples come, one bit each.
    sampled: AtomicU64,
}

#[derive(Debug)]
struct DeviceResults {
    /// Without what follows from samples.
    facts: DeviceCounters,
    since: Instant,
    /// Not read yet, in order of time.
    events: Vec<SamplingEvent>,
    unavailable: Option<(PmSamplingUnavailable, Option<Duration>)>,
    /// Why metrics of the user's list are not sampled.
    refusals: Vec<String>,
}

impl PmSamplingResults {
    /// Whether samples come of a device.
    pub(super) fn is_sampled(&self, device: u32) -> bool {
        bit(device).is_some_and(|bit| self.sampled.load(Relaxed) & bit != 0)
    }

    /// A device on which sampling was started, or could not be.
    pub(super) fn start(
        &self,
        facts: DeviceCounters,
        started: Result<SamplingEvent, PmSamplingUnavailable>,
    ) {
        let (events, unavailable) = match started {
            Ok(event) => {
                self.sampled
                    .fetch_or(bit(facts.device).unwrap_or(0), Relaxed);
                (vec![event], None)
            }
            Err(unavailable) => (Vec::new(), Some((unavailable, None))),
        };
        self.devices.lock().push(DeviceResults {
            facts,
            since: Instant::now(),
            events,
            unavailable,
            refusals: Vec::new(),
        });
    }

    /// Forgets all devices.
    pub(super) fn clear(&self) {
        self.sampled.store(0, Relaxed);
        self.devices.lock().clear();
    }

    fn with<R>(&self, device: u32, f: impl FnOnce(&mut DeviceResults) -> R) -> Option<R> {
        let mut devices = self.devices.lock();
        let mut devices = devices.iter_mut();
        devices.find(|of| of.facts.device == device).map(f)
    }

    /// How many events of a device are not read yet.
    pub(super) fn waiting(&self, device: u32) -> usize {
        self.with(device, |of| of.events.len()).unwrap_or(0)
    }

    pub(super) fn add(&self, device: u32, events: impl IntoIterator<Item = SamplingEvent>) {
        self.with(device, |of| of.events.extend(events));
    }

    /// Adds what is known of a device.
    pub(super) fn describe(&self, device: u32, describe: impl FnOnce(&mut DeviceCounters)) {
        self.with(device, |of| describe(&mut of.facts));
    }

    /// Why metrics of the user's list are not sampled on a device.
    pub(super) fn refuse(&self, device: u32, lines: Vec<String>) {
        self.with(device, |of| of.refusals.extend(lines));
    }

    /// These lines of all devices. Empty if the lock was not free within `limit`.
    pub(super) fn refusals(&self, limit: Duration) -> Vec<String> {
        let Some(devices) = self.devices.try_lock_for(limit) else {
            return Vec::new();
        };
        let lines = devices.iter().flat_map(|of| of.refusals.clone());
        lines.collect()
    }

    /// The device is sampled no more.
    pub(super) fn fail(&self, device: u32, unavailable: PmSamplingUnavailable) {
        self.sampled.fetch_and(!bit(device).unwrap_or(0), Relaxed);
        self.with(device, |of| {
            of.unavailable = Some((unavailable, Some(of.since.elapsed())));
        });
    }

    /// How many devices could not be sampled, or are no longer.
    pub(super) fn ended(&self) -> usize {
        let devices = self.devices.lock();
        devices.iter().filter(|of| of.unavailable.is_some()).count()
    }

    /// For how long the device is sampled that was started first.
    pub(super) fn longest(&self) -> Duration {
        let devices = self.devices.lock();
        let sampled = devices.iter().filter(|of| of.unavailable.is_none());
        let times = sampled.map(|of| of.since.elapsed());
        times.max().unwrap_or_default()
    }

    /// No device is sampled any more, because something else is.
    pub(super) fn give_way(&self) {
        self.sampled.store(0, Relaxed);
        for of in &mut *self.devices.lock() {
            let gave_way = PmSamplingUnavailable::GaveWay;
            of.unavailable
                .get_or_insert((gave_way, Some(of.since.elapsed())));
        }
    }

    /// Removes what was not read yet, with the devices.
    pub(super) fn take(&self) -> Vec<(u32, Vec<SamplingEvent>)> {
        let mut devices = self.devices.lock();
        let taken = devices
            .iter_mut()
            .map(|of| (of.facts.device, std::mem::take(&mut of.events)));
        taken.collect()
    }

    /// The devices that are or were sampled. Empty if the lock was not free within `limit`.
    pub(super) fn devices(&self, limit: Duration) -> Vec<DeviceCounters> {
        let Some(devices) = self.devices.try_lock_for(limit) else {
            return Vec::new();
        };
        let sampled = devices.iter().filter(|of| !of.facts.chip.is_empty());
        sampled.map(|of| of.facts.clone()).collect()
    }

    /// Why devices are not sampled, or no longer: after how long. Empty if the lock was not free
    /// within `limit`.
    pub(super) fn unavailable(
        &self,
        limit: Duration,
    ) -> Vec<(PmSamplingUnavailable, Option<Duration>)> {
        let Some(devices) = self.devices.try_lock_for(limit) else {
            return Vec::new();
        };
        let unavailable = devices.iter().filter_map(|of| of.unavailable.clone());
        unavailable.collect()
    }
}
