//! Sampling on all devices, by one thread: decodes what they have stored, and widens an interval
//! if it cannot keep up.

use std::time::{Duration, Instant};

use super::device_sampler::DeviceSampler;
use super::results::{PmSamplingResults, SamplingEvent};
use super::turns::Turn;
use super::unavailable::PmSamplingUnavailable;
use crate::cupti::collect::lifecycle;
use crate::os::thread_cpu_ns;

/// Decoded samples of a device that wait for the reader. Beyond that the device stores them.
const MAX_DECODED: usize = 100_000;

#[derive(Default)]
pub(super) struct Samplers {
    devices: Vec<SampledDevice>,
    pace: Option<DecodingShare>,
    /// A thread decodes.
    pub(super) has_thread: bool,
    /// The process is about to end.
    pub(super) is_ending: bool,
    /// How often something took so long that devices were not decoded in time: a start, a change
    /// of the metrics, a search for names.
    waits: u64,
}

struct SampledDevice {
    ordinal: u32,
    sampler: DeviceSampler,
    /// The waits before it was decoded last.
    waits: u64,
}

impl Samplers {
    pub(super) fn add(&mut self, ordinal: u32, sampler: DeviceSampler) {
        self.waits += 1;
        self.devices.push(SampledDevice {
            ordinal,
            sampler,
            waits: self.waits,
        });
    }

    /// Decodes what the devices have stored; `takes_turns`: and samples another set of metrics
    /// where it is its turn, which takes 0.3 s. Returns whether any is sampled.
    pub(super) fn decode(&mut self, results: &PmSamplingResults, takes_turns: bool) -> bool {
        let now = Instant::now();
        let takes_turns = takes_turns && !self.is_ending;
        let mut decoding = Duration::ZERO;
        self.devices.retain_mut(|of| {
            let (device, sampler) = (of.ordinal, &mut of.sampler);
            if results.waiting(device) >= MAX_DECODED {
                return true;
            }
            let refusals = sampler.refusals();
            if !refusals.is_empty() {
                self.waits += 1;
                results.refuse(device, refusals);
            }
            let has_waited = of.waits != self.waits;
            let mut events = Vec::new();
            // Not the time that it waits for a busy device.
            let began = thread_cpu_ns();
            let is_first = sampler.samples_first_set();
            let mut add = |sample| events.push(SamplingEvent::Sample(sample));
            let now = lifecycle::now();
            if let Some(now) = now.filter(|_| has_waited) {
                sampler.turns.put_off(now);
            }
            let turn = match now.filter(|_| takes_turns) {
                Some(now) => sampler.take_turns(now, &mut add),
                None => Ok(Turn::Same),
            };
            let decoded = match turn {
                Ok(Turn::Same) => sampler.decode(&mut add),
                turn => turn.map(|turn| turn == Turn::Full),
            };
            if turn == Ok(Turn::New) {
                results.describe(device, |facts| sampler.describe_in_turn(facts));
            }
            if turn != Ok(Turn::Same) {
                self.waits += 1;
            } else if is_first {
                // A wider interval makes the second set no cheaper.
                decoding += Duration::from_nanos(thread_cpu_ns().saturating_sub(began));
            }
            results.add(device, events);
            let goes_on = match decoded {
                Ok(is_full) if has_waited || !is_full => true,
                Ok(_) => {
                    self.waits += 1;
                    widen(device, sampler, results)
                }
                Err(error) => fail(device, error.into(), results),
            };
            of.waits = self.waits;
            goes_on
        });
        let pace = self.pace.get_or_insert_with(|| DecodingShare::new(now));
        if pace.is_too_slow(now, decoding) {
            self.widen_narrowest(results);
        }
        !self.devices.is_empty()
    }

    /// Widens the interval of the device with the most samples.
    fn widen_narrowest(&mut self, results: &PmSamplingResults) {
        let devices = self.devices.iter().enumerate();
        let narrowest = devices.min_by_key(|(_, of)| of.sampler.interval_ns);
        if let Some(index) = narrowest.map(|(index, _)| index)
            && let Some(of) = self.devices.get_mut(index)
        {
            self.waits += 1;
            of.waits = self.waits;
            if !widen(of.ordinal, &mut of.sampler, results) {
                self.devices.remove(index);
            }
        }
    }

    /// Ends sampling; without a call if the driver has ended before.
    pub(super) fn stop(&mut self, has_driver_ended: bool) {
        let devices = std::mem::take(&mut self.devices);
        if has_driver_ended {
            std::mem::forget(devices);
        }
    }
}

/// Returns whether the device is sampled still.
fn widen(device: u32, sampler: &mut DeviceSampler, results: &PmSamplingResults) -> bool {
    let now = lifecycle::now();
    match sampler.widen() {
        Ok(()) => {
            let widened = now.map(|time| SamplingEvent::Widened { time });
            results.add(device, widened);
            true
        }
        Err(unavailable) => fail(device, unavailable, results),
    }
}

/// The device is sampled no more.
fn fail(device: u32, unavailable: PmSamplingUnavailable, results: &PmSamplingResults) -> bool {
    results.fail(device, unavailable);
    false
}

/// How much of its time the thread computes for decoding.
#[derive(Clone, Copy, Debug)]
struct DecodingShare {
    since: Instant,
    decoding: Duration,
}

impl DecodingShare {
    /// The share of its time that the thread may spend on decoding.
    const MAX_SHARE: f64 = 0.6;
    /// Over at least this time.
    const PERIOD: Duration = Duration::from_secs(2);

    fn new(now: Instant) -> Self {
        Self {
            since: now,
            decoding: Duration::ZERO,
        }
    }

    /// Adds the time that it took to decode what all devices had stored at `now`. Returns whether
    /// it was too much, once in a period.
    fn is_too_slow(&mut self, now: Instant, decoding: Duration) -> bool {
        self.decoding += decoding;
        let period = now.duration_since(self.since);
        if period < Self::PERIOD {
            return false;
        }
        let share = self.decoding.as_secs_f64() / period.as_secs_f64();
        *self = Self::new(now);
        share > Self::MAX_SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::{DecodingShare, Duration, Instant};

    /// Whether the pace is too slow at the end of a period in which each 100 ms take `decoding`.
    fn is_too_slow(decoding: Duration) -> bool {
        let began = Instant::now();
        let mut pace = DecodingShare::new(began);
        let at = |step: u32| began + step * Duration::from_millis(100);
        assert!((1..20).all(|step| !pace.is_too_slow(at(step), decoding)));
        let is_too_slow = pace.is_too_slow(at(20), decoding);
        assert!(!pace.is_too_slow(at(21), decoding), "a period begins");
        is_too_slow
    }

    #[test]
    fn decoding_may_take_six_tenths_of_the_time() {
        assert!(!is_too_slow(Duration::from_millis(59)));
        assert!(is_too_slow(Duration::from_millis(61)));
    }
}
