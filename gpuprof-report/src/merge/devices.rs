//! The devices of several profiles, and how busy each was.

use super::rows::RowsByName;
use super::totals::Uncertainty;
use super::windows::{WallClockRange, covered};
use crate::figures::Sum;
use crate::profile::{Device, DeviceCounters, GpuBusy, Profile, Throttle};

/// Devices with new ordinals, in the order in which they are found.
///
/// A device is known by its UUID; without one, by its host, ordinal and name. Rows that are of a
/// device, such as those of kernels, are of all devices of its model: a table of 1,000 ranks has as
/// many rows as that of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Devices {
    rows: RowsByName<DeviceTotals>,
    /// The ordinal of the first device of each model.
    models: RowsByName<u32>,
}

#[derive(Clone, Debug, Default)]
struct DeviceTotals {
    device: Device,
    busy: Option<BusyTotals>,
    throttle: Option<ThrottleTotals>,
    counters: Option<DeviceCounters>,
}

#[derive(Clone, Debug, Default)]
struct BusyTotals {
    sums: GpuBusy,
    uncertainty: Uncertainty,
    windows: Vec<WallClockRange>,
}

#[derive(Clone, Debug, Default)]
struct ThrottleTotals {
    sums: Throttle,
    /// Of the mean clock, MHz · ns, and the ns that it is over.
    clock: f64,
    clock_ns: f64,
}

/// The merged ordinals of one profile's devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Ordinals(Vec<MergedOrdinal>);

#[derive(Clone, Copy, Debug)]
struct MergedOrdinal {
    old: u32,
    /// Of the device itself.
    own: u32,
    /// Of the first device of its model.
    model: u32,
}

impl Ordinals {
    fn find(&self, ordinal: u32) -> Option<&MergedOrdinal> {
        self.0.iter().find(|merged| merged.old == ordinal)
    }

    /// The ordinal of the device itself. One that the profile does not list stays as it is.
    pub(super) fn own(&self, ordinal: u32) -> u32 {
        self.find(ordinal).map_or(ordinal, |merged| merged.own)
    }

    /// The ordinal of the device that stands for all of its model. An ordinal that the profile does
    /// not list stays as it is.
    pub(super) fn of_model(&self, ordinal: u32) -> u32 {
        self.find(ordinal).map_or(ordinal, |merged| merged.model)
    }
}

impl Devices {
    /// Adds the devices of a profile, their busy times and their clocks.
    pub(super) fn add(&mut self, profile: &Profile) -> Ordinals {
        let mut ordinals = Ordinals::default();
        for device in &profile.devices {
            let name = if device.uuid.is_empty() || device.simulated {
                format!("{}\n{}", profile.host, device.name)
            } else {
                device.uuid.clone()
            };
            let number = if device.uuid.is_empty() || device.simulated {
                device.ordinal
            } else {
                0
            };
            let at = self.rows.position(&name, number, || DeviceTotals {
                device: device.clone(),
                ..DeviceTotals::default()
            });
            let Some(own) = at else { continue };
            if let Some(totals) = self.rows.get_mut(own) {
                totals.device.ordinal = own;
            }
            // The parts of one GPU that MIG makes differ in their multiprocessors.
            let multiprocessors = device.sm_count.unwrap_or(0);
            let model = self
                .models
                .position(&device.name, multiprocessors, || own)
                .and_then(|at| self.models.get(at).copied());
            ordinals.0.push(MergedOrdinal {
                old: device.ordinal,
                own,
                model: model.unwrap_or(own),
            });
        }
        let window = WallClockRange::of(profile);
        for busy in &profile.gpu_busy {
            if let Some(totals) = self.totals(&ordinals, busy.device) {
                totals.add_busy(busy, window);
            }
        }
        for throttle in &profile.throttled {
            if let Some(totals) = self.totals(&ordinals, throttle.device) {
                totals.throttle.get_or_insert_default().add(throttle);
            }
        }
        for counters in &profile.counters {
            if let Some(totals) = self.totals(&ordinals, counters.device) {
                totals.counters.get_or_insert_default().add(counters);
            }
        }
        ordinals
    }

    fn totals(&mut self, ordinals: &Ordinals, ordinal: u32) -> Option<&mut DeviceTotals> {
        let own = ordinals.find(ordinal)?.own;
        self.rows.get_mut(own)
    }

    pub(super) fn dropped(&self) -> u64 {
        self.rows.dropped
    }

    /// The devices by ordinal.
    pub(super) fn devices(&self) -> Vec<Device> {
        self.rows.iter().map(|row| row.device.clone()).collect()
    }

    /// How busy they were, by ordinal.
    pub(super) fn busy(&self) -> Vec<GpuBusy> {
        let busy = self.rows.iter().filter_map(|row| {
            let busy = row.busy.as_ref()?;
            Some(busy.stats(row.device.ordinal))
        });
        busy.collect()
    }

    /// How the hardware counters of those that were sampled were, by ordinal.
    pub(super) fn counters(&self) -> Vec<DeviceCounters> {
        let sampled = self.rows.iter().filter_map(|row| {
            Some(DeviceCounters {
                device: row.device.ordinal,
                ..row.counters.clone()?
            })
        });
        sampled.collect()
    }

    /// Those that were throttled, by ordinal.
    pub(super) fn throttled(&self) -> Vec<Throttle> {
        let throttled = self.rows.iter().filter_map(|row| {
            let totals = row.throttle.as_ref()?;
            let mean = totals.clock / totals.clock_ns;
            Some(Throttle {
                device: row.device.ordinal,
                mean_sm_clock_mhz: mean.is_finite().then(|| mean.round() as u32),
                ..totals.sums.clone()
            })
        });
        throttled.collect()
    }
}

impl DeviceTotals {
    fn add_busy(&mut self, busy: &GpuBusy, window: WallClockRange) {
        let is_first = self.busy.is_none();
        let totals = self.busy.get_or_insert_default();
        totals.sums.add(busy);
        if busy.is_estimated || busy.busy_ci95_ns.is_some() {
            totals.uncertainty.add(busy.busy_ci95_ns);
        }
        // `None` once a part lacks them.
        match (totals.sums.records.as_mut(), &busy.records) {
            (Some(sum), Some(more)) => sum.add(more),
            _ if is_first => totals.sums.records = busy.records,
            _ => totals.sums.records = None,
        }
        totals.windows.push(window);
    }
}

impl BusyTotals {
    /// Processes that used a device at the same time may have kept it busy at the same time: then
    /// the sum of their busy times is an upper bound.
    fn stats(&self, device: u32) -> GpuBusy {
        let (wall_ns, overlap) = covered(self.windows.clone());
        let busy_ns = self.sums.busy_ns;
        GpuBusy {
            device,
            busy_ns: if overlap && self.sums.records.is_none() {
                busy_ns.min(wall_ns)
            } else {
                busy_ns
            },
            is_estimated: self.uncertainty.is_estimated,
            busy_ci95_ns: (self.uncertainty.half_width()).filter(|_| !self.sums.is_partial),
            is_upper_bound: self.sums.is_upper_bound || overlap,
            is_partial: self.sums.is_partial,
            records: self.sums.records,
        }
    }
}

impl ThrottleTotals {
    fn add(&mut self, throttle: &Throttle) {
        self.sums.add(throttle);
        if let Some(mean) = throttle.mean_sm_clock_mhz {
            self.clock += f64::from(mean) * throttle.throttled_ns as f64;
            self.clock_ns += throttle.throttled_ns as f64;
        }
    }
}
