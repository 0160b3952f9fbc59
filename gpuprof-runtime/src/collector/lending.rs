//! Records a time line for a viewer of the running program.

use std::time::Duration;

use super::Collector;
use crate::clock;
use gpuprof_report::trace::Trace;

impl Collector {
    /// Records a time line for a viewer until [`end_lending`](Self::end_lending). Returns when it
    /// began, in clock ticks; `None`: nothing is measured at present.
    pub(crate) fn lend_recorder(&self) -> Option<u64> {
        let window = self.window.lock();
        let settings = window.settings().filter(|_| window.measures())?;
        let began = clock::now();
        self.recorder.lend(settings.trace_limit);
        self.apply_flags(&window);
        Some(began)
    }

    /// Ends the recording for a viewer.
    pub(crate) fn end_lending(&self) {
        let window = self.window.lock();
        self.recorder.end_lending();
        self.apply_flags(&window);
    }

    /// The time line of what began between these two clock ticks. `None` if a lock was not free
    /// within `limit`.
    pub(crate) fn trace_between(&self, (from, to): (u64, u64), limit: Duration) -> Option<Trace> {
        self.build_trace(limit, |recorded| recorded.keep_between(from, to))
    }
}
