//! What is known of the sampled devices, and their decoded samples: behind a lock that is held for
//! moments, never during a call of CUPTI.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use gpuprof_report::profile::DeviceCounters;
use parking_lot::Mutex;

use super::metrics::Sample;
use super::unavailable::Unavailable;

pub(super) static RESULTS: Mutex<Results> = Mutex::new(Results(Vec::new()));
/// The devices of which samples come, one bit each.
static SAMPLED: AtomicU64 = AtomicU64::new(0);

/// The bit of a device. `None` beyond 64, which are more than CUDA shows to a process.
pub(super) fn bit(device: u32) -> Option<u64> {
    1_u64.checked_shl(device)
}

/// Whether samples come of a device.
pub(crate) fn is_sampled(device: u32) -> bool {
    bit(device).is_some_and(|bit| SAMPLED.load(Relaxed) & bit != 0)
}

/// What happened on a sampled device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SamplingEvent {
    /// Sampling was started at `time` of CUPTI's clock, which took `ns`.
    Started {
        time: u64,
        ns: u64,
    },
    Sample(Sample),
    /// The interval was doubled at `time`: samples came too fast.
    Widened {
        time: u64,
    },
}

pub(super) struct Results(Vec<DeviceResults>);

struct DeviceResults {
    /// Without what follows from samples.
    facts: DeviceCounters,
    since: Instant,
    /// Not read yet, in order of time.
    events: Vec<SamplingEvent>,
    unavailable: Option<(Unavailable, Option<Duration>)>,
}

impl Results {
    /// A device on which sampling was started, or could not be.
    pub(super) fn start(
        &mut self,
        facts: DeviceCounters,
        started: Result<SamplingEvent, Unavailable>,
    ) {
        let (events, unavailable) = match started {
            Ok(event) => {
                SAMPLED.fetch_or(bit(facts.device).unwrap_or(0), Relaxed);
                (vec![event], None)
            }
            Err(unavailable) => (Vec::new(), Some((unavailable, None))),
        };
        self.0.push(DeviceResults {
            facts,
            since: Instant::now(),
            events,
            unavailable,
        });
    }

    fn of(&mut self, device: u32) -> Option<&mut DeviceResults> {
        self.0.iter_mut().find(|of| of.facts.device == device)
    }

    /// How many events of a device are not read yet.
    pub(super) fn waiting(&mut self, device: u32) -> usize {
        self.of(device).map_or(0, |of| of.events.len())
    }

    pub(super) fn add(&mut self, device: u32, events: impl IntoIterator<Item = SamplingEvent>) {
        if let Some(of) = self.of(device) {
            of.events.extend(events);
        }
    }

    /// The device is sampled no more.
    pub(super) fn fail(&mut self, device: u32, unavailable: Unavailable) {
        SAMPLED.fetch_and(!bit(device).unwrap_or(0), Relaxed);
        if let Some(of) = self.of(device) {
            of.unavailable = Some((unavailable, Some(of.since.elapsed())));
        }
    }

    /// Removes what was not read yet, with the devices.
    pub(super) fn take(&mut self) -> Vec<(u32, Vec<SamplingEvent>)> {
        let taken = self.0.iter_mut();
        let taken = taken.map(|of| (of.facts.device, std::mem::take(&mut of.events)));
        taken.collect()
    }

    /// The devices that are or were sampled.
    pub(super) fn devices(&self) -> Vec<DeviceCounters> {
        let sampled = self.0.iter().filter(|of| !of.facts.metrics.is_empty());
        sampled.map(|of| of.facts.clone()).collect()
    }

    /// Why devices are not sampled, or no longer: after how long.
    pub(super) fn unavailable(&self) -> impl Iterator<Item = (&Unavailable, Option<Duration>)> {
        let unavailable = self.0.iter().filter_map(|of| of.unavailable.as_ref());
        unavailable.map(|(reason, sampled_for)| (reason, *sampled_for))
    }
}
