//! PM sampling: each device with an object samples the counters at an interval while it is started,
//! into a hardware buffer that the client decodes.

use std::collections::BTreeMap;

use simbase::activity::{Activity, ActivityKind};

use crate::counter_model::{CounterModel, Totals};
use crate::result_codes::{Answer, Code};

/// Bytes of the hardware buffer that one sample takes.
const SAMPLE_BYTES: usize = 4096;
/// Cycles of the system clock in 2 ns, as on an H200: 50,000 cycles are 33 µs.
const SYSCLK_CYCLES_PER_2_NS: u64 = 3;
/// How long a device takes to begin with a new object, ns, unless a test sets it. An H100 takes
/// about 300 ms (CUDA 13.0).
const ENABLE_NS: u64 = 10_000;

/// A sample of a device's counters.
#[derive(Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) totals: Totals,
}

/// What `cuptiPmSamplingDecodeData` decodes at a time.
pub(crate) struct Decoded {
    pub(crate) samples: Vec<Sample>,
    /// There were more samples.
    pub(crate) is_full: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    Sysclk,
    Time,
}

struct Sampler {
    device: u32,
    interval: u64,
    capacity: usize,
    /// What is counted.
    counters: Vec<usize>,
    /// When the next sample begins; `None` if it was not started since it was configured.
    next: Option<u64>,
    /// When it was stopped; what it has stored can still be decoded.
    stopped: Option<u64>,
    is_first: bool,
    /// The hardware buffer was full.
    has_overflowed: bool,
}

impl Sampler {
    fn is_running(&self) -> bool {
        self.next.is_some() && self.stopped.is_none()
    }
}

pub(crate) struct Sampling {
    pub(crate) model: CounterModel,
    pub(crate) enable_ns: u64,
    /// How often a thread of a name has made an object.
    pub(crate) enabled_by: BTreeMap<String, u64>,
    samplers: BTreeMap<usize, Sampler>,
    last: usize,
    /// Those whose end was not sampled yet by every device.
    activities: Vec<Activity>,
}

impl Sampling {
    pub(crate) const fn new() -> Sampling {
        Sampling {
            model: CounterModel::new(),
            enable_ns: ENABLE_NS,
            enabled_by: BTreeMap::new(),
            samplers: BTreeMap::new(),
            last: 0,
            activities: Vec::new(),
        }
    }

    /// Adds what a call caused on the devices.
    pub(crate) fn add_activities(&mut self, activities: &[Activity]) {
        let is_work = |activity: &&Activity| {
            !matches!(
                activity.kind,
                ActivityKind::Memory { .. } | ActivityKind::Wait { .. }
            )
        };
        let is_sampled = |activity: &&Activity| self.uses(activity.device);
        let added = activities.iter().filter(is_work).filter(is_sampled);
        let added: Vec<Activity> = added.copied().collect();
        self.activities.extend(added);
    }

    /// Whether the device has an object.
    pub(crate) fn uses(&self, device: u32) -> bool {
        let mut samplers = self.samplers.values();
        samplers.any(|sampler| sampler.device == device)
    }

    /// A new object for a device, which can have one at a time.
    pub(crate) fn enable(&mut self, device: u32) -> Answer<usize> {
        if self.uses(device) {
            return Err(Code::INVALID_OPERATION);
        }
        let thread = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
        *self
            .enabled_by
            .entry(thread.trim_end().to_owned())
            .or_default() += 1;
        self.last += 1;
        let sampler = Sampler {
            device,
            interval: 0,
            capacity: 0,
            counters: Vec::new(),
            next: None,
            stopped: None,
            is_first: true,
            has_overflowed: false,
        };
        self.samplers.insert(self.last, sampler);
        Ok(self.last)
    }

    pub(crate) fn disable(&mut self, object: usize) -> Answer {
        self.samplers
            .remove(&object)
            .ok_or(Code::INVALID_PARAMETER)?;
        Ok(())
    }

    fn sampler(&mut self, object: usize) -> Answer<&mut Sampler> {
        self.samplers
            .get_mut(&object)
            .ok_or(Code::INVALID_PARAMETER)
    }

    /// Sets the interval and the bytes of the hardware buffer of a stopped object, which discards
    /// what it has stored, and its counters for the first time: others are ignored (H100, CUDA
    /// 13.0).
    pub(crate) fn configure(
        &mut self,
        object: usize,
        (trigger, interval): (Trigger, u64),
        bytes: usize,
        counters: Vec<usize>,
    ) -> Answer {
        let sampler = self.sampler(object)?;
        if sampler.is_running() || interval == 0 {
            return Err(Code::INVALID_OPERATION);
        }
        if sampler.counters.is_empty() {
            sampler.counters = counters;
        }
        sampler.next = None;
        sampler.stopped = None;
        sampler.interval = match trigger {
            Trigger::Time => interval,
            Trigger::Sysclk => interval * 2 / SYSCLK_CYCLES_PER_2_NS,
        };
        sampler.capacity = bytes / SAMPLE_BYTES;
        Ok(())
    }

    pub(crate) fn start(&mut self, object: usize, now: u64) -> Answer {
        let sampler = self.sampler(object)?;
        if sampler.is_running() || sampler.interval == 0 {
            return Err(Code::INVALID_OPERATION);
        }
        if sampler.has_overflowed {
            return Err(Code::UNKNOWN);
        }
        sampler.next = Some(now);
        sampler.stopped = None;
        sampler.is_first = true;
        Ok(())
    }

    pub(crate) fn stop(&mut self, object: usize, now: u64) -> Answer {
        let sampler = self.sampler(object)?;
        if !sampler.is_running() {
            return Err(Code::INVALID_OPERATION);
        }
        sampler.stopped = Some(now);
        Ok(())
    }

    /// Decodes all samples that have ended, and discards those beyond `limit`. After the hardware
    /// buffer was full there are none any more (both: H200, CUDA 13.0).
    pub(crate) fn decode(&mut self, object: usize, now: u64, limit: usize) -> Answer<Decoded> {
        let sampler = self
            .samplers
            .get_mut(&object)
            .ok_or(Code::INVALID_PARAMETER)?;
        let mut next = sampler.next.ok_or(Code::INVALID_OPERATION)?;
        let now = sampler.stopped.unwrap_or(now);
        let waiting = (now.saturating_sub(next) / sampler.interval) as usize;
        sampler.has_overflowed |= waiting > sampler.capacity;
        if sampler.has_overflowed {
            return Err(Code::OUT_OF_MEMORY);
        }
        let device = sampler.device;
        let of_device = || {
            let activities = self.activities.iter();
            activities.filter(move |activity| activity.device == device)
        };
        let mut samples = Vec::new();
        for _ in 0..waiting.min(limit) {
            let end = next + sampler.interval;
            let mut totals = self.model.sample(of_device(), next, end);
            for (counter, total) in totals.iter_mut().enumerate() {
                if !sampler.counters.contains(&counter) {
                    *total = f64::NAN;
                }
            }
            samples.push(Sample {
                // The first one after a start began with the device (H200, CUDA 13.0).
                start: if std::mem::take(&mut sampler.is_first) {
                    0
                } else {
                    next
                },
                end,
                totals,
            });
            next = end;
        }
        sampler.next = Some(now - now.saturating_sub(next) % sampler.interval);
        let sampled_until = self
            .samplers
            .values()
            .filter_map(|sampler| sampler.next)
            .min();
        self.activities
            .retain(|activity| sampled_until.is_none_or(|until| activity.end > until));
        Ok(Decoded {
            samples,
            is_full: waiting > limit,
        })
    }
}
