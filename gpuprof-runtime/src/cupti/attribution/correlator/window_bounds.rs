//! Where windows begin and end, and where CUPTI ends.

use super::Correlator;
use crate::cupti::attribution::capture_intervals::Captures;
use crate::cupti::attribution::cuda_calls::CudaCalls;
use crate::cupti::attribution::graph_replays::GraphReplays;
use crate::cupti::attribution::memory_totals::ProcessMemory;
use crate::cupti::attribution::sampled_devices::add_joined;
use crate::stats::by_window::LookWindows;

impl Correlator {
    /// Begins the window of this number.
    pub(crate) fn begin_window(&mut self, window: u32, looks: &[LookWindows]) {
        self.count_all_memory();
        if !self.recorded.tables.is_looked_at(looks) {
            self.complete_window();
        }
        self.recorded.tables.begin(window, looks);
    }

    /// What comes from now on of the current window comes late.
    fn complete_window(&mut self) {
        if self.recorded.tables.keeps_current() {
            self.record_all();
        }
        let mut samples = std::mem::take(&mut self.samples);
        let mut recorded = std::mem::take(&mut self.recorded);
        self.join_samples(&mut samples, &mut recorded);
        (self.samples, self.recorded) = (samples, recorded);
        self.recorded.close_all();
    }

    /// CUPTI records nothing from now on, until it is started again: forgets what may change
    /// meanwhile, and the CUDA calls, whose correlation ids CUPTI gives again.
    pub(crate) fn forget_program_state(&mut self) {
        for correlation in self.calls.correlations() {
            self.forget(correlation);
        }
        self.calls = CudaCalls::default();
        let orphans = std::mem::take(&mut self.orphans);
        self.record_unattributed(orphans.into_activities());
        self.captures = Captures::default();
        self.graphs = GraphReplays::default();
        self.memory = ProcessMemory::default();
        self.samples.forget();
    }

    /// Counters are sampled no more: those of later samples begin anew.
    pub(crate) fn forget_samples(&mut self) {
        let (windows, recorded) = (&self.windows, &mut self.recorded);
        self.samples
            .join_all(|device, joined| add_joined(windows, recorded, device, joined));
        self.samples.forget();
    }

    /// Records what is known of every CUDA call, before the window it belongs to ends.
    fn record_all(&mut self) {
        for correlation in self.calls.correlations() {
            self.count_unfinished(correlation);
            self.record_graph_latency(correlation);
            self.finish_replay(correlation);
        }
    }
}
