//! What the windows have measured: whose tables a record goes to, and to which function's row.
//!
//! Must not import anything that calls CUPTI.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::correlation::Activity;
use super::open_calls::{Calls, Run};
use super::tables::{KernelKey, MOST_KEYS, OTHERS, OUTSIDE, Tables};
use crate::cupti::call_stack::{Ended, site_of};
use crate::gpu::LatePolicy;

/// Kernel names by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    numbers: FxHashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
}

impl Symbols {
    pub(crate) fn of(&mut self, activity: &Activity) -> u32 {
        match activity {
            Activity::Kernel(kernel) => self.number(&kernel.symbol),
            Activity::Copy(_) => OTHERS,
        }
    }

    /// The name of this number; `None` for [`OTHERS`].
    pub(crate) fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(|name| &**name)
    }

    fn number(&mut self, name: &Arc<str>) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        if self.names.len() >= MOST_KEYS {
            return OTHERS;
        }
        let number = self.names.len() as u32;
        self.names.push(Arc::clone(name));
        self.numbers.insert(Arc::clone(name), number);
        number
    }
}

/// What the windows have measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Booked {
    epoch: u32,
    pub(crate) now: Tables,
    /// An earlier window whose records still count, by its epoch.
    late: Option<(u32, Tables)>,
    pub(crate) calls: Calls,
}

impl Booked {
    /// The tables of this window; `None`: nobody wants them any more.
    pub(crate) fn of(&mut self, epoch: u32) -> Option<&mut Tables> {
        if epoch == self.epoch {
            return Some(&mut self.now);
        }
        let late = self.late.as_mut().filter(|(known, _)| *known == epoch);
        late.map(|(_, tables)| tables)
    }

    fn close_oldest(&mut self) -> bool {
        let Some((ended, done, is_known)) = self.calls.close_oldest() else {
            return false;
        };
        if let Some(tables) = self.of(ended.epoch) {
            tables.add_call(&ended, &done);
            tables.late += if is_known { 0 } else { done.activities };
        }
        true
    }

    pub(crate) fn ended(&mut self, ended: Ended) {
        self.calls.ended(ended);
        while self.calls.is_full() && self.close_oldest() {}
    }

    /// Books one run of `call` in the window of `epoch`; returns the key of a kernel.
    pub(crate) fn add(
        &mut self,
        epoch: u32,
        call: u64,
        activity: &Activity,
        symbol: u32,
    ) -> Option<KernelKey> {
        let tables = self.of(epoch)?;
        let site = site(call);
        let key = match activity {
            Activity::Kernel(kernel) => Some(tables.add_kernel(site, symbol, kernel)),
            Activity::Copy(copy) => {
                tables.add_copy(site, copy);
                None
            }
        };
        if call != 0 {
            self.add_to_calls(epoch, call, activity);
        }
        key
    }

    /// Begins the window of `epoch`, and returns what the one that ends has measured, and what has come for the one kept
    /// before it.
    pub(crate) fn next_window(&mut self, epoch: u32, late: LatePolicy) -> (Tables, Tables) {
        self.close_all();
        let ended = std::mem::replace(&mut self.epoch, epoch);
        let mut now = std::mem::take(&mut self.now);
        now.settle();
        let kept = match late {
            LatePolicy::Discard => self.late.take(),
            LatePolicy::KeepPrevious => None,
            LatePolicy::KeepCurrent => self.late.replace((ended, Tables::default())),
        };
        let mut kept = kept.map(|(_, late)| late).unwrap_or_default();
        kept.settle_late();
        (now, kept)
    }

    /// Closes every call that has ended.
    pub(crate) fn close_all(&mut self) {
        while self.close_oldest() {}
    }

    /// What was measured, and what has come for an earlier window that still counts.
    pub(crate) fn into_tables(mut self) -> (Tables, Tables) {
        self.close_all();
        let late = self.late.map(|(_, late)| late);
        let mut late = late.unwrap_or_default();
        self.now.settle();
        late.settle_late();
        (self.now, late)
    }

    fn add_to_calls(&mut self, epoch: u32, call: u64, activity: &Activity) {
        let ran = activity.ran();
        let run = Run {
            start: ran.start,
            end: ran.end,
            is_kernel: matches!(activity, Activity::Kernel(_)),
            stream: (ran.context, ran.stream),
            device: ran.device,
        };
        let mut closed = Vec::new();
        let is_known = self
            .calls
            .add(call, epoch, &run, |ended| closed.push(*ended));
        if is_known && closed.is_empty() {
            return;
        }
        let Some(tables) = self.of(epoch) else { return };
        tables.late += 1;
        closed.iter().for_each(|ended| tables.add_late(ended, &run));
    }
}

/// The site of a call, or none.
pub(crate) fn site(call: u64) -> u32 {
    if call == 0 { OUTSIDE } else { site_of(call) }
}
