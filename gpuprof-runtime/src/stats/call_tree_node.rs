//! A path of the call tree, with its counts and GPU times.

use super::durations::Ns;
use super::gpu_totals::GpuPathTotals;
use super::host_path_totals::HostPathTotals;
use super::path_estimate::PathEstimate;
use super::path_ids::CallPath;

/// One path of the call tree with its counts and GPU times.
pub(super) struct CallTreeNode<'a> {
    /// The number of its path.
    pub(super) id: u32,
    pub(super) path: CallPath,
    pub(super) totals: HostPathTotals<Ns>,
    pub(super) estimate: PathEstimate<'a>,
    /// No call is timed, and they are taken to be nested in no timed span: it is in no sum.
    pub(super) is_unsummed: bool,
    /// Calls of it are nested in no timed span, and some of these have no time.
    pub(super) lacks_outermost: bool,
    /// GPU time of descendant spans, except those already included in the own time of a timed span
    /// in between.
    pub(super) nested_ns: f64,
    /// Some of this time is an equal part of time that spans shared.
    pub(super) nested_divided: bool,
    /// Of some of this time it is not known how it is shared, so that it may count twice.
    pub(super) nested_undivided: bool,
    /// `nested_ns` lacks the time of calls that should have been timed.
    pub(super) nested_partial: bool,
    /// `nested_ns` is partly estimated from a sample.
    pub(super) nested_estimated: bool,
}

impl<'a> CallTreeNode<'a> {
    /// By device.
    pub(super) fn gpu(&self) -> impl Iterator<Item = (u32, &'a GpuPathTotals)> {
        self.estimate.gpu.iter().copied()
    }
}
