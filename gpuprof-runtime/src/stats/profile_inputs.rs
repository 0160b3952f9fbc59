//! What `build_profile` computes a profile from; the collector gathers it.

use rustc_hash::FxHashMap;

use super::gpu_totals::GpuTimeTotals;
use super::host_totals::Totals;
use super::path_ids::CallPath;
use crate::clock::Scale;
use crate::site::Site;
use crate::site::labels::LabelNumber;
use gpuprof_report::profile::{FunctionMemory, GpuActivity, NVTX_MODULE};

/// The counters of one window, and what identifies their functions and call paths.
pub(crate) struct ProfileInputs<'a> {
    /// Sites that were called at least once in the process, by id.
    pub(crate) sites: &'a [&'static Site],
    /// Sites that never were.
    pub(crate) never_called: Vec<&'static Site>,
    /// Whether a site matches the window's filter.
    pub(crate) in_filter: Box<dyn Fn(&Site) -> bool + 'a>,
    pub(crate) paths: &'a [CallPath],
    pub(crate) totals: Totals,
    /// Of the ticks in `totals`.
    pub(crate) scale: Scale,
    /// How long the window has been open.
    pub(crate) wall_ns: u64,
    /// The clock after `totals` was read, in ticks: calls in progress are reported up to it.
    pub(crate) now: u64,
    pub(crate) gpu: GpuTimeTotals,
    /// `None`: CUPTI did not run.
    pub(crate) cupti: Option<RecordedActivity>,
}

/// The activity by CUPTI's records.
#[derive(Debug)]
pub(crate) struct RecordedActivity {
    /// By site.
    pub(crate) functions: FxHashMap<u32, CuptiActivity>,
    /// By site; empty unless memory is recorded.
    pub(crate) memory: FxHashMap<Option<u32>, Vec<FunctionMemory>>,
    pub(crate) paths: FxHashMap<u32, PathActivity>,
    /// What graphs replayed; an enclosing captured path comes before the nested ones.
    pub(crate) replayed: Vec<ReplayedPath>,
}

/// The activity of the calls on one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PathActivity {
    /// Nested calls included.
    pub(crate) busy_ns: u64,
    /// From the first start to the last end in each call, summed.
    pub(crate) extent_ns: u64,
    /// The part of `busy_ns` from calls that were timed by events.
    pub(crate) timed_busy_ns: u64,
    /// Of those that sampling left out.
    pub(crate) left_out_busy_ns: u64,
    /// The calls launched something themselves.
    pub(crate) has_own: bool,
}

impl ProfileInputs<'_> {
    /// Whether the site is that of NVTX ranges.
    pub(crate) fn is_range(&self, site: u32) -> bool {
        let site = self.sites.get(site as usize);
        site.is_some_and(|site| site.meta.module == NVTX_MODULE)
    }
}

/// What launches of graphs on one call path replayed of a captured call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplayedPath {
    /// The id of its node in the call tree.
    pub(crate) node: u32,
    pub(crate) launch: u32,
    /// How many captured calls enclose each other there; 0 for all that a launch replayed.
    pub(crate) depth: u32,
    pub(crate) captured: u32,
    pub(crate) replays: u64,
    pub(crate) busy_ns: u64,
}

/// The activity of one function by CUPTI's records.
#[derive(Clone, Debug, Default)]
pub(crate) struct CuptiActivity {
    pub(crate) activity: GpuActivity,
    /// The busy time of the calls with each label.
    pub(crate) busy_ns_by_label: FxHashMap<LabelNumber, u64>,
    /// The busy time of its calls, without replays of captured ones.
    pub(crate) called_busy_ns: u64,
    /// From the first start to the last end in each of these calls, summed.
    pub(crate) extent_ns: u64,
    /// The part of it from calls that were timed by events.
    pub(crate) timed_busy_ns: u64,
    /// Devices on which its calls, nested spans included, had activity.
    pub(crate) devices: u32,
}
