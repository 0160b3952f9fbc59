//! What is sampled in turn with most metrics: how the threads of a warp work together.

use gpuprof_report::profile::Metric;

use super::listed::Form;
use super::metrics::{CounterNames, Integrals, counter, name};

// By index in [`COUNTERS`].
const WARPS: usize = 0;
const THREADS: usize = 1;
const INSTRUCTIONS: usize = 2;
pub(crate) const PASSES: usize = 3;
const SHARED_PASSES: usize = 4;
const CONFLICTS: usize = 5;
pub(crate) const ACCESSES: usize = 6;
const SHARED: usize = 7;
const TENSOR_FLOAT: usize = 8;
const TENSOR_INTEGER: usize = 9;

/// They fit into one pass, but decoding them takes 1.5 ms per ms in which a GH100 works (CUDA
/// 13.0).
/// `cargo xtask chips` says what chips have room for.
pub(super) const COUNTERS: [CounterNames; 10] = [
    counter!(PeakShare: "sm__warps_active_realtime"),
    counter!(Count: "sm__thread_inst_executed_pred_on_realtime"),
    counter!(Count: "sm__inst_executed_realtime"),
    counter!(Count: "l1tex__data_pipe_lsu_wavefronts"),
    counter!(Count: "l1tex__data_pipe_lsu_wavefronts_mem_shared"),
    counter!(Count: "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"),
    counter!(Count: "sm__inst_executed_pipe_lsu", "smsp__inst_executed_pipe_lsu"),
    counter!(PeakShare: "l1tex__data_pipe_lsu_wavefronts_mem_shared"),
    counter!(PeakShare: "TPC.TriageCompute.sm__pipe_tensor_op_hmma_cycles_active_realtime"),
    counter!(PeakShare: "TPC.TriageCompute.sm__pipe_tensor_op_imma_cycles_active_realtime"),
];

/// A metric of the second set, from its counters.
pub(crate) struct InTurnMetric {
    pub(crate) metric: Metric,
    counted: usize,
    /// What of that is left out.
    without: Option<usize>,
    per: Per,
}

impl InTurnMetric {
    /// What it is made of.
    pub(super) fn counters(&self) -> impl Iterator<Item = usize> {
        let per = match self.per {
            Per::Counter(counter, _) => Some(counter),
            Per::Ns => None,
        };
        [Some(self.counted), self.without, per]
            .into_iter()
            .flatten()
    }

    /// What it is the ratio of, in a sample with `ns` of kernels.
    pub(crate) fn ratio(&self, ns: f64, integrals: &Integrals) -> (f64, f64) {
        let of = |index: usize| integrals.get(index).copied().unwrap_or(f64::NAN);
        let per = match self.per {
            Per::Counter(counter, times) => times * of(counter),
            Per::Ns => ns,
        };
        (of(self.counted) - self.without.map_or(0.0, of), per)
    }
}

#[derive(Clone, Copy)]
enum Per {
    /// The time.
    Ns,
    /// So many of another counter.
    Counter(usize, f64),
}

const fn derived(metric: Metric, counted: usize, per: Per) -> InTurnMetric {
    InTurnMetric {
        metric,
        counted,
        without: None,
        per,
    }
}

/// Threads of a warp.
const WARP: f64 = 32.0;

pub(crate) const IN_TURN_METRICS: [InTurnMetric; 7] = [
    derived(Metric::SharedThroughput, SHARED, Per::Ns),
    derived(Metric::WarpsActive, WARPS, Per::Ns),
    derived(
        Metric::ThreadsActive,
        THREADS,
        Per::Counter(INSTRUCTIONS, WARP),
    ),
    derived(
        Metric::SharedConflicts,
        CONFLICTS,
        Per::Counter(SHARED_PASSES, 1.0),
    ),
    InTurnMetric {
        metric: Metric::AccessPasses,
        counted: PASSES,
        without: Some(SHARED_PASSES),
        per: Per::Counter(ACCESSES, 1.0),
    },
    derived(Metric::TensorFloat, TENSOR_FLOAT, Per::Ns),
    derived(Metric::TensorInteger, TENSOR_INTEGER, Per::Ns),
];
