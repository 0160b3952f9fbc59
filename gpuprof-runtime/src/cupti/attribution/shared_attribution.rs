//! The attribution as the collector holds it: behind a lock that the reader shares with the
//! program's threads.
//!
//! Spans only push ended calls into a queue. The reader, and a thread that asks for a profile, do
//! everything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::correlator::{Attributed, Correlator};
use super::live_memory::LiveMemorySummary;
use super::recorded_activities::RecordedNames;
use super::step_history::StepHistory;
use super::symbol_table::SymbolNumbers;
use super::window_history::WindowHistory;
use crate::cupti::collect::bounded_queue::BoundedQueue;
use crate::cupti::collect::pc_sampling::{PcSampling, SampledStalls};
use crate::cupti::collect::pm_sampling::{PmSampling, SamplingEvent};
use crate::cupti::collect::reader::RecordSink;
use crate::cupti::collect::record::{
    ActivityRecord, ApiEvent, CapturedCall, MemoryRecord, NodeEvent,
};
use crate::cupti::collect::{graph_nodes, lifecycle};
use crate::cupti::module_code::ModuleCode;
use crate::recorder::Recorder;
use crate::stats::by_window::{LookWindows, Since};
use crate::stats::profiled_call::CallPosition;
use crate::stats::profiled_call::EndedCall;

/// How long a thread of the program waits for the reader, which holds the lock for milliseconds at
/// most. In a forked child the lock may be held forever.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// Ended calls that the reader processes before it releases the lock.
const ENDED_CALLS_PER_LOCK: usize = 4_096;

#[derive(Default)]
pub(crate) struct SharedAttribution {
    pub(crate) pm_sampling: Arc<PmSampling>,
    pub(crate) pc_sampling: Arc<PcSampling>,
    /// The code of the modules that were loaded since somebody asked for it.
    pub(crate) modules: ModuleCode,
    /// That of the correlator.
    windows: Arc<WindowHistory>,
    steps: Arc<StepHistory>,
    correlator: Mutex<Correlator>,
    ended_calls: BoundedQueue<EndedCall>,
    /// Window changes that were omitted because the lock was held all the time.
    missed_changes: AtomicU64,
}

impl SharedAttribution {
    pub(crate) fn new(recorder: Arc<Recorder>) -> Self {
        let pm_sampling = Arc::new(PmSampling::default());
        let correlator = Correlator::new(recorder, Arc::clone(&pm_sampling));
        Self {
            pc_sampling: Arc::new(PcSampling::new(Arc::clone(&pm_sampling))),
            pm_sampling,
            windows: Arc::clone(&correlator.windows),
            steps: Arc::clone(&correlator.steps),
            correlator: Mutex::new(correlator),
            ..Self::default()
        }
    }

    pub(crate) fn end_call(&self, ended: EndedCall) {
        let position = CallPosition {
            id: ended.id,
            path: ended.path,
        };
        graph_nodes::end_call(CapturedCall {
            position,
            parent: ended.parent,
            is_captured: ended.is_captured,
        });
        self.ended_calls.push(ended);
    }

    /// From now on launches count in the window `epoch`, or in none. A CUDA call of the program's
    /// may wait for this.
    pub(crate) fn set_window(&self, epoch: Option<u32>) {
        self.pc_sampling.set_counting(epoch.is_some());
        if let Some(now) = lifecycle::now() {
            self.windows.change(now, epoch);
        }
    }

    /// A step of the program has ended, which took `wall_ticks`.
    pub(crate) fn end_step(&self, wall_ticks: u64) {
        self.steps.end_step(wall_ticks);
    }

    /// A note for the report if a window change was omitted in this process.
    pub(crate) fn note(&self) -> Option<String> {
        let missed = self.missed_changes.load(Relaxed);
        (missed > 0).then(|| {
            format!(
                "the records of kernels were locked for {LOCK_TIMEOUT:?} when a window began or \
                 ended ({missed}x): kernels may be missing, or counted in another window"
            )
        })
    }

    /// Begins the window of this number. Returns the stalls that were sampled in the one that ends.
    pub(crate) fn begin_window(&self, window: u32, looks: &[LookWindows]) -> Option<SampledStalls> {
        let sampled = self.pc_sampling.begin_window();
        self.steps.begin(window);
        let Some(mut correlator) = self.correlator.try_lock_for(LOCK_TIMEOUT) else {
            self.missed_changes.fetch_add(1, Relaxed);
            return sampled;
        };
        self.take_ended_calls(&mut correlator);
        correlator.begin_window(window, looks);
        sampled
    }

    /// CUPTI records nothing from now on, until it is started again.
    pub(crate) fn forget_program_state(&self) {
        let mut correlator = self.correlator.lock();
        self.take_ended_calls(&mut correlator);
        correlator.forget_program_state();
    }

    /// Counters are sampled no more, until they are asked for again.
    pub(crate) fn forget_samples(&self) {
        self.correlator.lock().forget_samples();
    }

    /// What was attributed so far; `None` if the lock was held for longer than `limit`.
    pub(crate) fn attributed(&self, since: Since, limit: Duration) -> Option<Attributed> {
        let mut correlator = self.correlator.try_lock_for(limit)?;
        self.take_ended_calls(&mut correlator);
        correlator.count_all_memory();
        Some(correlator.attributed(since))
    }

    /// The devices with records in this window.
    pub(crate) fn devices(&self, limit: Duration) -> Vec<u32> {
        let Some(mut correlator) = self.correlator.try_lock_for(limit) else {
            return Vec::new();
        };
        correlator.devices()
    }

    /// The live memory of the process; `None` if the lock was held for longer than `limit`.
    pub(crate) fn live_memory(&self, limit: Duration) -> Option<LiveMemorySummary> {
        let mut correlator = self.correlator.try_lock_for(limit)?;
        correlator.count_all_memory();
        Some(correlator.live_memory())
    }

    /// The kernel symbols of all tables, and what the numbers in events of the time line stand for;
    /// `None` if the lock was held for longer than `limit`.
    pub(crate) fn recorded_names(&self, limit: Duration) -> Option<(SymbolNumbers, RecordedNames)> {
        let correlator = self.correlator.try_lock_for(limit)?;
        let names = correlator.recorded_names();
        Some((correlator.symbols.clone(), names.clone()))
    }

    fn take_ended_calls(&self, correlator: &mut Correlator) {
        let dropped = self.ended_calls.drain(|ended| correlator.end_call(ended));
        correlator.add_dropped_calls(dropped);
    }
}

impl RecordSink for &'static SharedAttribution {
    fn on_activity(&mut self, activity: ActivityRecord) {
        self.correlator.lock().add_activity(activity);
    }

    fn on_memory(&mut self, record: MemoryRecord) {
        self.correlator.lock().add_memory(record);
    }

    fn on_api_event(&mut self, event: ApiEvent) {
        self.correlator.lock().add_api_record(event);
    }

    fn on_node_event(&mut self, event: NodeEvent) {
        self.correlator.lock().add_node_event(event);
    }

    fn on_captured_call(&mut self, call: CapturedCall) {
        self.correlator.lock().add_captured_call(call);
    }

    fn on_sampling(&mut self, device: u32, event: SamplingEvent) {
        self.correlator.lock().add_sampling_event(device, event);
    }

    fn on_buffers_read(&mut self) {
        // In batches, so that other threads wait for milliseconds even if the queue is full.
        let mut left = self.ended_calls.len();
        loop {
            let mut correlator = self.correlator.lock();
            let batch = left.min(ENDED_CALLS_PER_LOCK);
            self.ended_calls
                .drain_some(batch, |ended| correlator.end_call(ended));
            left -= batch;
            if left == 0 {
                correlator.add_dropped_calls(self.ended_calls.take_dropped());
                return;
            }
            MutexGuard::unlock_fair(correlator);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{SharedAttribution, Since};
    use crate::cupti::collect::bounded_queue::CAPACITY;
    use crate::stats::profiled_call::EndedCall;

    fn ended(id: u64) -> EndedCall {
        EndedCall {
            id,
            path: 0,
            parent: 0,
            is_outermost: true,
            is_timed: false,
            is_left_out: false,
            is_captured: false,
            cpu_ticks: 1,
            is_first: false,
            epoch: 0,
        }
    }

    #[test]
    fn calls_beyond_the_queues_capacity_are_counted_in_their_window() {
        let attribution = SharedAttribution::default();
        for call in 1..=CAPACITY as u64 + 7 {
            attribution.end_call(ended(call << 20));
        }
        let of_window = || {
            let attributed = attribution.attributed(Since::Window, Duration::ZERO);
            attributed.expect("nobody holds the lock").tables
        };
        let tables = of_window();
        let calls: u64 = tables.calls.values().map(|totals| totals.calls).sum();
        assert_eq!(
            (calls, tables.completeness.dropped_calls),
            (CAPACITY as u64, 7)
        );
        attribution.begin_window(2, &[]);
        assert_eq!(of_window().completeness.dropped_calls, 0);
    }

    #[test]
    fn a_missed_window_change_is_reported() {
        let attribution = SharedAttribution::default();
        assert_eq!(attribution.note(), None);
        let held = attribution.correlator.lock();
        attribution.begin_window(2, &[]);
        drop(held);
        let note = attribution.note().expect("a change was missed");
        assert!(
            note.contains("locked for 1s") && note.contains("(1x)"),
            "{note}"
        );
        assert!(
            attribution
                .attributed(Since::Window, Duration::ZERO)
                .is_some()
        );
    }
}
