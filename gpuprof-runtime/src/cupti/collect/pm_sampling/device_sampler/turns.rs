//! When each set of metrics is sampled. Decoding the second one takes more than a processor, so that
//! it has a small part of the time, but one soon after the start.

use gpuprof_report::profile::DeviceCounters;

use super::{DeviceSampler, SampledSet};
use crate::cupti::collect::library::CallError;
use crate::cupti::collect::pm_sampling::host::{AvailableCounters, Host};
use crate::cupti::collect::pm_sampling::metrics::{MetricSet, PmSample};

/// The first set alone, ns: at first, and between two times of the second set.
const FIRST_NS: u64 = 300_000_000;
const BETWEEN_NS: u64 = 2_000_000_000;
/// The second set at a time, ns. What the device stores meanwhile has room.
const IN_TURN_NS: u64 = 100_000_000;

/// The turns of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    pub(super) set: MetricSet,
    /// When it is the other's turn, ns of CUPTI's clock; `None`: never.
    until: Option<u64>,
}

impl Turns {
    /// Of a device that samples the first set from `start` on, ns of CUPTI's clock.
    pub(super) fn new(start: Option<u64>) -> Self {
        Self {
            set: MetricSet::First,
            until: start.map(|start| start + FIRST_NS),
        }
    }

    /// The set whose turn it is at `now`, if that is another one. To be asked once for each change.
    pub(super) fn next(&mut self, now: u64) -> Option<MetricSet> {
        self.until.filter(|until| now >= *until)?;
        let (next, ns) = match self.set {
            MetricSet::First => (MetricSet::InTurn, IN_TURN_NS),
            MetricSet::InTurn => (MetricSet::First, BETWEEN_NS),
        };
        self.until = Some(now + ns);
        Some(next)
    }

    /// The first set alone from now on.
    pub(super) fn end(&mut self) {
        self.until = None;
    }
}

impl DeviceSampler {
    /// Samples the other set from now on, if it is its turn at `now`, ns of CUPTI's clock. Gives
    /// what the device has stored to `each`. Takes some ms, and the time to decode (H100, CUDA 13.0).
    /// Returns whether the second set is sampled for the first time.
    pub(in crate::cupti::collect::pm_sampling) fn take_turns(
        &mut self,
        now: u64,
        each: &mut dyn FnMut(PmSample),
    ) -> Result<bool, CallError> {
        let Some(next) = self.turns.next(now) else {
            return Ok(false);
        };
        let is_new = next == MetricSet::InTurn && self.in_turn.is_none();
        if is_new {
            let chip = AvailableCounters {
                name: self.chip,
                availability: &self.availability,
            };
            let Some(host) = Host::choose_in_turn(self.library, &chip) else {
                self.turns.end();
                return Ok(false);
            };
            let data = Vec::new();
            self.in_turn = Some(SampledSet { host, data });
        }
        let changed = self.stop().and_then(|()| {
            // What is lost by an error is a gap.
            let _ = self.decode(each);
            self.turns.set = next;
            self.configure()?;
            if self.set().data.is_empty() {
                self.make_data()?;
            }
            self.begin()
        });
        if changed.is_err() {
            self.turns.end();
            self.restart()?;
        }
        Ok(is_new)
    }

    /// Writes what is sampled in turn.
    pub(in crate::cupti::collect::pm_sampling) fn describe_in_turn(
        &self,
        facts: &mut DeviceCounters,
    ) {
        if let Some(in_turn) = &self.in_turn {
            in_turn.host.describe_in_turn(facts);
        }
    }
}
