//! Where in the call tree an activity counts.

use std::num::NonZeroU64;

use super::row_totals::ReplayKey;
use super::step_history::LaunchStep;
use crate::cupti::collect::stack_table::StackId;
use crate::stats::path_ids::ROOT;

/// The node of the call tree that an activity is attributed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ActivityPath {
    /// Calls on this path launched it; [`ROOT`] outside any profiled function.
    Called(u32),
    /// A graph launch replayed it.
    Replayed(ReplayKey),
}

impl ActivityPath {
    /// The path of the calls that launched or captured it.
    pub(crate) fn calls_path(self) -> u32 {
        match self {
            Self::Called(path) => path,
            Self::Replayed(key) => key.captured,
        }
    }

    pub(crate) fn is_attributed(self) -> bool {
        self.calls_path() != ROOT
    }
}

/// What an activity is attributed to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cause {
    /// The id of the profiled call that launched it; 0 for none.
    pub(crate) call: u64,
    /// Of a replayed activity that of the captured call, else that of `call`.
    pub(crate) path: ActivityPath,
    /// `None` if it is unknown.
    pub(crate) launch: Option<LaunchCall>,
    /// It launched a graph, of which only the first node has a launch latency.
    pub(crate) is_graph: bool,
    /// Where it was launched or, of a replayed activity, captured, if that was sampled.
    pub(crate) stack: Option<StackId>,
    pub(crate) closed: ClosedNs,
    /// Of a collective that waits for all ranks.
    pub(crate) step: Option<LaunchStep>,
}

/// For how long no window was open until an activity was launched, started and ended, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClosedNs {
    pub(crate) at_launch: u64,
    pub(crate) at_start: u64,
    pub(crate) at_end: u64,
}

/// The CUDA call that caused an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LaunchCall {
    pub(crate) began: NonZeroU64,
    pub(crate) returned: u64,
}

impl Cause {
    /// Without a known CUDA call.
    pub(crate) const UNATTRIBUTED: Self = Self {
        call: 0,
        path: ActivityPath::Called(ROOT),
        launch: None,
        is_graph: false,
        stack: None,
        closed: ClosedNs {
            at_launch: 0,
            at_start: 0,
            at_end: 0,
        },
        step: None,
    };
}
