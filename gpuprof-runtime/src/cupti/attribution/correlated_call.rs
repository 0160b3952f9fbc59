//! A CUDA call that may have caused activities.

use std::num::NonZeroU64;

use super::activity_path::LaunchCall;
use super::replays::Replay;
use super::row_keys::KernelKey;
use crate::cupti::collect::callback_ids::CallPurpose;
use crate::cupti::collect::record::ApiEvent;
use crate::cupti::collect::stack_table::StackId;
use crate::stats::profiled_call::CallPosition;

/// What is known about one CUDA call that has returned.
#[derive(Clone, Debug)]
pub(crate) struct CorrelatedCall {
    /// The start of the CUDA call, ns.
    pub(crate) launched_at: u64,
    /// The end of the CUDA call, ns.
    returned_at: u64,
    /// The enclosing profiled call.
    pub(crate) call: CallPosition,
    /// Where it was made, if that was looked at.
    pub(crate) stack: Option<StackId>,
    /// Whether the call causes activities, unless it is captured.
    expects_activity: bool,
    pub(crate) has_activity: bool,
    /// The tables of a finished window count it as unfinished.
    pub(crate) is_counted_unfinished: bool,
    /// Only of a graph launch.
    pub(crate) graph: Option<Box<GraphLaunch>>,
}

/// What a graph launch ran so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct GraphLaunch {
    /// Updates of graph nodes before the launch.
    pub(crate) node_updates: u64,
    /// What it ran of captured calls.
    pub(crate) replay: Replay,
    /// The start of the earliest node so far, and its row if it is a kernel.
    pub(crate) first_node: Option<(u64, Option<KernelKey>)>,
    /// The tables have the launch latency of `first_node`.
    pub(crate) is_latency_recorded: bool,
}

impl CorrelatedCall {
    /// `is_capture_open`: some stream was being captured when the call began, so that its work may
    /// not run.
    pub(crate) fn new(
        ApiEvent {
            api, call, stack, ..
        }: ApiEvent,
        is_capture_open: bool,
        node_updates: u64,
    ) -> Self {
        let purpose = api.function.purpose();
        let is_graph = purpose == Some(CallPurpose::Graph);
        let is_work = matches!(
            purpose,
            Some(
                CallPurpose::Launch | CallPurpose::Graph | CallPurpose::Copy | CallPurpose::Memset
            )
        );
        let runs = is_work && !api.failed && !api.moves_nothing;
        let graph = GraphLaunch {
            node_updates,
            ..GraphLaunch::default()
        };
        Self {
            launched_at: api.start,
            returned_at: api.end,
            call,
            stack,
            // The capture may be that of another thread, which is common beside graph launches.
            expects_activity: runs && (is_graph || !is_capture_open),
            has_activity: false,
            is_counted_unfinished: false,
            graph: is_graph.then(|| Box::new(graph)),
        }
    }

    /// `None` if the call has no time stamp.
    pub(crate) fn launch(&self) -> Option<LaunchCall> {
        let began = NonZeroU64::new(self.launched_at)?;
        let returned = self.returned_at;
        Some(LaunchCall { began, returned })
    }

    /// Whether records are expected, of which none has arrived.
    pub(crate) fn is_awaited(&self) -> bool {
        self.expects_activity && !self.has_activity
    }
}
