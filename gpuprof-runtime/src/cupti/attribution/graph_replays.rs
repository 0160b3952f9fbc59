//! Attributes what a launched graph runs to the calls that captured it.

use super::call_activity::ActivityInterval;
use super::captured_calls::CapturedCalls;
use super::correlated_call::{CorrelatedCall, GraphLaunch};
use super::limits::{MAX_COUNTED_REPLAYS, MAX_REPLAY_SIZE};
use super::node_owners::{NodeOwner, NodeOwners};
use super::window_tables::WindowTables;
use crate::cupti::collect::record::{ActivityRecord, CapturedCall, NodeEvent};
use crate::stats::profiled_call::CallPosition;

#[derive(Debug, Default)]
pub(crate) struct GraphReplays {
    owners: NodeOwners,
    captured: CapturedCalls,
    /// The sizes of all launches that are not finished.
    size: usize,
    counted: usize,
}

impl GraphReplays {
    pub(crate) fn add_node_event(&mut self, event: NodeEvent) {
        self.owners.apply(event);
    }

    pub(crate) fn add_captured_call(&mut self, call: CapturedCall) {
        self.captured.add(call);
    }

    /// Updates of graph nodes so far.
    pub(crate) fn node_updates(&self) -> u64 {
        self.owners.updates()
    }

    /// Graph nodes and captured calls that were forgotten since the last call.
    pub(crate) fn take_forgotten(&mut self) -> u64 {
        self.owners.take_forgotten() + self.captured.take_forgotten()
    }

    /// The call that captured an activity of a graph launch; `None` if that is unknown.
    pub(crate) fn owner(
        &mut self,
        launch: &GraphLaunch,
        activity: &ActivityRecord,
    ) -> Option<NodeOwner> {
        let node = activity.span().graph_node;
        self.owners.owner(node, launch.node_updates)
    }

    /// Adds an activity that `owner` captured to the launch that ran it. Returns how many captured
    /// calls are around it, `owner` included, and whether the busy times of the launch are exact.
    pub(crate) fn add(
        &mut self,
        launch: &mut GraphLaunch,
        owner: CallPosition,
        activity: &ActivityRecord,
    ) -> (u32, bool) {
        let chain = self.captured.chain(owner);
        let before = launch.replay.size();
        let is_exact = launch.replay.add(&chain, &ActivityInterval::from(activity));
        self.size = (self.size + launch.replay.size()).saturating_sub(before);
        (chain.len() as u32, is_exact)
    }

    /// Whether there are too many intervals and captured calls.
    pub(crate) fn is_full(&self) -> bool {
        self.size > MAX_REPLAY_SIZE
    }

    pub(crate) fn is_half_empty(&self) -> bool {
        self.size <= MAX_REPLAY_SIZE / 2
    }

    /// Drops what is remembered of the finished calls of all launches, if that is too much.
    pub(crate) fn limit_counted<'a>(
        &mut self,
        launches: impl Iterator<Item = &'a mut CorrelatedCall>,
    ) {
        if self.counted > MAX_COUNTED_REPLAYS {
            launches.for_each(|launch| self.drop_counted(launch));
        }
    }

    /// Drops what is remembered of the finished calls of a launch.
    pub(crate) fn drop_counted(&mut self, launch: &mut CorrelatedCall) {
        if let Some(launch) = &mut launch.graph {
            self.counted = self.counted.saturating_sub(launch.replay.counted());
            launch.replay.drop_counted();
        }
    }

    /// Finishes a launch: adds it to the tables of its window, if that still counts.
    pub(crate) fn finish(
        &mut self,
        launch: &mut CorrelatedCall,
        tables: Option<&mut WindowTables>,
    ) {
        if let Some(tables) = tables {
            add_to(launch, tables);
        }
        if let Some(GraphLaunch { replay, .. }) = launch.graph.as_deref_mut() {
            let before = replay.counted();
            self.size = self.size.saturating_sub(replay.size());
            replay.finish();
            self.counted = (self.counted + replay.counted()).saturating_sub(before);
        }
    }
}

/// Adds what is not finished of a launch to the tables of its window.
pub(crate) fn add_to(launch: &CorrelatedCall, tables: &mut WindowTables) {
    let Some(graph) = &launch.graph else { return };
    for (key, totals) in graph.replay.totals(launch.call.path) {
        tables.add_replays(key, &totals);
    }
}

/// Adds the time from a launch to its first node, among the nodes so far, to the tables of its
/// window.
pub(crate) fn add_latency(launch: &CorrelatedCall, tables: &mut WindowTables) {
    if let Some(graph) = &launch.graph
        && !graph.is_latency_recorded
        && let Some((start, Some(key))) = graph.first_node
    {
        tables.add_latency(key, start.saturating_sub(launch.launched_at));
    }
}
