//! What NVML reports: whether a device ran below its maximum clock under load, and why; and the
//! PCIe link of each device.
//!
//! NVML is only queried, never asked to change a setting. Its device order differs from CUDA's, so
//! devices are matched by UUID. If NVML is missing or a query fails, the device is omitted.

mod library;

use std::time::{Duration, Instant};

use gpuprof_report::profile::{Device, Throttle, ThrottleReason};
use parking_lot::Mutex;

use self::library::Nvml;

/// The reasons that lower clocks under load, by their bits in `nvmlClocksEventReasons` (nvml.h).
/// Omitted are an idle device, clocks that a user set, and the display's clock.
const REASONS: [(u64, ThrottleReason); 6] = [
    (0x08, ThrottleReason::HardwareSlowdown),
    (0x40, ThrottleReason::HardwareThermalSlowdown),
    (0x80, ThrottleReason::PowerBrake),
    (0x20, ThrottleReason::ThermalSlowdown),
    (0x04, ThrottleReason::PowerCap),
    (0x10, ThrottleReason::SyncBoost),
];

/// Bytes per second of a PCIe lane in one direction by generation (PCI Express Base
/// Specification): transfers per second less the encoding, which is 8b/10b, from generation 3 on
/// 128b/130b, and in generation 6 units with 242 of 256 bytes.
const LANES: [(u32, u64); 6] = [
    (1, 250_000_000),
    (2, 500_000_000),
    (3, 984_615_385),
    (4, 1_969_230_769),
    (5, 3_938_461_538),
    (6, 7_562_500_000),
];

/// What NVML has reported of the devices in the polls of a window.
///
/// `None` before the first poll, then the result of opening NVML.
#[derive(Debug, Default)]
pub(crate) struct PolledClocks(Mutex<Option<Option<NvmlClocks>>>);

impl PolledClocks {
    /// Queries the present state of `devices`. The first call opens NVML, which takes milliseconds,
    /// so this is not for a thread of the program.
    pub(crate) fn poll(&self, devices: &[Device]) {
        let mut clocks = self.0.lock();
        if let Some(clocks) = clocks.get_or_insert_with(NvmlClocks::open) {
            clocks.record_throttled(devices);
        }
    }

    /// The devices that were throttled in any poll of this window. Empty if another thread polls
    /// for longer than `limit`.
    pub(crate) fn throttled(&self, limit: Duration) -> Vec<Throttle> {
        let clocks = self.0.try_lock_for(limit);
        let open = clocks.as_ref().and_then(|clocks| clocks.as_ref()?.as_ref());
        open.map_or_else(Vec::new, NvmlClocks::throttled)
    }

    /// Fills in the PCIe links of devices that a poll has seen. Omitted if another thread polls for
    /// longer than `limit`.
    pub(crate) fn add_links(&self, devices: &mut [Device], limit: Duration) {
        let clocks = self.0.try_lock_for(limit);
        if let Some(open) = clocks.as_ref().and_then(|clocks| clocks.as_ref()?.as_ref()) {
            for device in devices {
                device.peak_link_bytes_per_s = open.link_bytes_per_s(device);
            }
        }
    }

    /// Starts a new window. A poll that is running now may still add to it.
    pub(crate) fn reset(&self) {
        if let Some(Some(Some(clocks))) = self.0.try_lock().as_deref_mut() {
            clocks.reset();
        }
    }
}

/// NVML, opened, and what it has reported of each device.
#[derive(Debug)]
pub struct NvmlClocks {
    nvml: Nvml,
    devices: Vec<SampledDevice>,
    /// The link of each device by UUID, `None` if NVML does not report it.
    links: Vec<(String, Option<u64>)>,
    /// The latest sample of all devices, or the beginning of the window.
    sampled_until: Instant,
}

/// The samples of one device. Each counts for the time since the one before.
#[derive(Debug)]
struct SampledDevice {
    /// The sums of its times are in `sampled` and `throttled`.
    throttle: Throttle,
    sampled: Duration,
    throttled: Duration,
    /// The integral of the SM clock over `throttled`, MHz · s.
    clock_integral: f64,
}

impl NvmlClocks {
    /// Opens NVML, which takes milliseconds with a real driver. `None` if it is not installed.
    #[must_use]
    pub fn open() -> Option<Self> {
        Some(Self {
            nvml: Nvml::open()?,
            devices: Vec::new(),
            links: Vec::new(),
            sampled_until: Instant::now(),
        })
    }

    /// Queries the present state of `devices`, and records it for the time since the last
    /// sample.
    pub fn record_throttled(&mut self, devices: &[Device]) {
        let now = Instant::now();
        let time = now.saturating_duration_since(self.sampled_until);
        self.sampled_until = now;
        for device in devices {
            if !self.links.iter().any(|(uuid, _)| *uuid == device.uuid) {
                let link = self.query_link(device);
                self.links.push((device.uuid.clone(), link));
            }
            if let Some(sample) = self.query(device) {
                self.add(time, sample);
            }
        }
    }

    /// The devices that were throttled in any sample since the last [`reset`](Self::reset).
    #[must_use]
    pub fn throttled(&self) -> Vec<Throttle> {
        let devices = self.devices.iter();
        let throttled = devices.filter(|device| !device.throttle.reasons.is_empty());
        throttled.map(SampledDevice::totals).collect()
    }

    /// The peak of the device's PCIe link in one direction, bytes per second; `None` before its
    /// first poll.
    #[must_use]
    pub fn link_bytes_per_s(&self, device: &Device) -> Option<u64> {
        let mut links = self.links.iter();
        links.find(|(uuid, _)| *uuid == device.uuid)?.1
    }

    /// Forgets every sample, for a new window.
    pub fn reset(&mut self) {
        self.devices.clear();
        self.sampled_until = Instant::now();
    }

    /// The present clock of the device's SMs, MHz.
    #[must_use]
    pub fn sm_clock_mhz(&self, device: &Device) -> Option<u32> {
        self.nvml.device(&device.uuid)?.sm_clock_mhz()
    }

    fn query_link(&self, device: &Device) -> Option<u64> {
        let found = self.nvml.device(&device.uuid)?;
        let generation = found.max_link_generation()?;
        let lane = LANES.iter().find(|(known, _)| *known == generation);
        let lanes = u64::from(found.max_link_lanes()?);
        lane?.1.checked_mul(lanes).filter(|rate| *rate > 0)
    }

    /// The present state, without reasons if the device is not throttled; `None` if NVML does
    /// not know it.
    fn query(&self, device: &Device) -> Option<Throttle> {
        let found = self.nvml.device(&device.uuid)?;
        let now = found.throttle_reasons()?;
        let reasons: Vec<ThrottleReason> = REASONS
            .iter()
            .filter(|(reason, _)| now & *reason != 0)
            .map(|(_, reason)| *reason)
            .collect();
        let mut throttle = Throttle::default();
        throttle.device = device.ordinal;
        if !reasons.is_empty() {
            throttle.reasons = reasons;
            throttle.sm_clock_mhz = found.sm_clock_mhz();
            throttle.max_sm_clock_mhz = found.max_sm_clock_mhz();
        }
        Some(throttle)
    }

    /// Adds a sample that counts for `time`.
    fn add(&mut self, time: Duration, sample: Throttle) {
        let known = |device: &SampledDevice| device.throttle.device == sample.device;
        let index = self.devices.iter().position(known).unwrap_or_else(|| {
            self.devices.push(SampledDevice::new(sample.device));
            self.devices.len() - 1
        });
        if let Some(device) = self.devices.get_mut(index) {
            device.add(time, sample);
        }
    }
}

impl SampledDevice {
    fn new(ordinal: u32) -> Self {
        let mut throttle = Throttle::default();
        throttle.device = ordinal;
        Self {
            throttle,
            sampled: Duration::ZERO,
            throttled: Duration::ZERO,
            clock_integral: 0.0,
        }
    }

    /// Adds the reasons of a sample and keeps the lowest clock.
    fn add(&mut self, time: Duration, new: Throttle) {
        self.sampled += time;
        if new.reasons.is_empty() {
            return;
        }
        self.throttled += time;
        let clock = new.sm_clock_mhz.unwrap_or(0);
        self.clock_integral += f64::from(clock) * time.as_secs_f64();
        let known = &mut self.throttle;
        for reason in new.reasons {
            if !known.reasons.contains(&reason) {
                known.reasons.push(reason);
            }
        }
        known.max_sm_clock_mhz = known.max_sm_clock_mhz.max(new.max_sm_clock_mhz);
        let clocks = [known.sm_clock_mhz, new.sm_clock_mhz];
        known.sm_clock_mhz = clocks.into_iter().flatten().min();
    }

    fn totals(&self) -> Throttle {
        let mut throttle = self.throttle.clone();
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        throttle.sampled_ns = ns(self.sampled);
        throttle.throttled_ns = ns(self.throttled);
        let mean = self.clock_integral / self.throttled.as_secs_f64();
        let has_mean = throttle.sm_clock_mhz.is_some() && !self.throttled.is_zero();
        throttle.mean_sm_clock_mhz = has_mean.then_some(mean.round() as u32);
        throttle
    }
}
