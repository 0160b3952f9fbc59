//! A CUDA call and the activities that it caused: everything with one correlation id.

use smallvec::SmallVec;

use super::replays::Replay;
use super::window_tables::KernelKey;
use crate::cupti::collect::callback_ids::Purpose;
use crate::cupti::collect::record::{Activity, ApiRecord, CallPosition};

/// What is known about one CUDA call. Its records arrive in any order.
#[derive(Clone, Debug, Default)]
pub(crate) struct CorrelatedCall {
    pub(crate) api: Option<ApiRecord>,
    /// The enclosing profiled call; none until `api` is known.
    pub(crate) call: CallPosition,
    /// Updates of graph nodes before the call.
    pub(crate) node_updates: u64,
    /// For a graph launch: what it ran of captured calls.
    pub(crate) replay: Option<Box<Replay>>,
    /// Activities that wait for `api`; none once it is known.
    pub(crate) pending: SmallVec<[Activity; 1]>,
    /// Activities so far.
    pub(crate) activities: u32,
    /// For a graph launch: the start of the earliest node so far, and its row if it is a kernel.
    pub(crate) first_node: Option<(u64, Option<KernelKey>)>,
    /// The tables have the launch latency of `first_node`.
    pub(crate) is_latency_recorded: bool,
    /// The tables of a finished window count it as unfinished.
    pub(crate) is_counted_unfinished: bool,
    /// The tables have its CPU time.
    pub(crate) is_api_recorded: bool,
    /// The rounds in which its first and its latest record arrived.
    pub(crate) first_round: u32,
    pub(crate) latest_round: u32,
}

impl CorrelatedCall {
    pub(crate) fn purpose(&self) -> Option<Purpose> {
        self.api?.function.purpose()
    }

    /// Whether the call causes activities, unless it is captured.
    pub(crate) fn causes_activity(&self) -> bool {
        let purpose = self.purpose();
        self.api.is_some_and(|api| !api.failed)
            && matches!(
                purpose,
                Some(Purpose::Launch | Purpose::Graph | Purpose::Copy | Purpose::Memset)
            )
    }

    /// Whether no more records are expected. How many nodes a graph launch runs is unknown.
    pub(crate) fn is_complete(&self) -> bool {
        let is_graph = self.purpose() == Some(Purpose::Graph);
        self.api.is_some() && (!self.causes_activity() || (self.activities > 0 && !is_graph))
    }
}
