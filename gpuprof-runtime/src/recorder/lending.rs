//! The recorder on for a viewer of the running program, beside what the program itself wants.

use std::sync::atomic::Ordering::{Acquire, Relaxed};

use super::event::CallEvent;
use super::store::Recording;
use super::{Recorder, begin};

impl Recorder {
    /// Records for a viewer, whether or not something else asks for a time line. `limit` is the
    /// number of events that are kept if nothing does.
    pub(crate) fn lend(&self, limit: usize) {
        let mut store = self.store.lock();
        if !self.is_open.load(Acquire) {
            store.limit = limit;
        }
        begin(&mut store);
        self.is_lent.store(true, Relaxed);
        self.apply(&mut store);
    }

    /// Ends what [`lend`](Self::lend) began; what was recorded stays.
    pub(crate) fn end_lending(&self) {
        let mut store = self.store.lock();
        self.is_lent.store(false, Relaxed);
        self.apply(&mut store);
    }

    /// Forgets what was recorded, if viewers alone have asked for it.
    pub(crate) fn forget_lent(&self) {
        let mut store = self.store.lock();
        if !store.is_of_program && !self.is_lent.load(Relaxed) {
            store.forget();
        }
    }
}

impl Recording {
    /// Leaves what began between these two clock ticks. Events of the GPU are told by `on`.
    pub(crate) fn keep_between(&mut self, from: u64, to: u64) {
        self.on = vec![(from, to)];
        self.lost.retain(|lost| lost.ended >= from);
        self.events.retain(|recorded| match recorded.event {
            CallEvent::Cpu { started, .. } => (from..=to).contains(&started),
            _ => true,
        });
    }
}
