//! Attributes what a launched graph runs to the calls that captured it.

use super::captured_calls::CapturedCalls;
use super::correlated_call::CorrelatedCall;
use super::node_owners::NodeOwners;
use super::open_calls::ActivityInterval;
use super::window_tables::WindowTables;
use crate::cupti::collect::record::{Activity, CallPosition, CapturedCall, NodeEvent};

/// Limit of the intervals and captured calls of all launches: beyond it all are finished. 8 MiB.
const MAX_SIZE: usize = 1 << 18;
/// Limit of the finished captured calls that are remembered for late records: 4 MiB.
const MAX_COUNTED: usize = 1 << 19;
/// Rounds after its latest record for which a launch is still held.
const FINISH_AFTER_ROUNDS: u32 = 2;

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

    /// The call that captured an activity of a graph launch; `None` if none is known.
    pub(crate) fn owner(
        &mut self,
        launch: &CorrelatedCall,
        activity: &Activity,
    ) -> Option<CallPosition> {
        let node = activity.span().graph_node;
        self.owners.owner(node, launch.node_updates)
    }

    /// Adds an activity that `owner` captured to the launch that ran it, in a round. Returns
    /// whether the busy times of the launch are exact.
    pub(crate) fn add(
        &mut self,
        launch: &mut CorrelatedCall,
        owner: CallPosition,
        activity: &Activity,
        round: u32,
    ) -> bool {
        let chain = self.captured.chain(owner);
        let replay = launch.replay.get_or_insert_default();
        let before = replay.size();
        let is_exact = replay.add(&chain, &ActivityInterval::from(activity));
        replay.latest_round = round;
        self.size = (self.size + replay.size()).saturating_sub(before);
        is_exact
    }

    /// Whether there are too many intervals and captured calls.
    pub(crate) fn is_full(&self) -> bool {
        self.size > MAX_SIZE
    }

    /// Drops what is remembered of the finished calls of all launches, if that is too much.
    pub(crate) fn limit_counted<'a>(
        &mut self,
        launches: impl Iterator<Item = &'a mut CorrelatedCall>,
    ) {
        if self.counted > MAX_COUNTED {
            launches.for_each(|launch| self.drop_counted(launch));
        }
    }

    /// Drops what is remembered of the finished calls of a launch.
    pub(crate) fn drop_counted(&mut self, launch: &mut CorrelatedCall) {
        if let Some(replay) = &mut launch.replay {
            self.counted = self.counted.saturating_sub(replay.counted());
            replay.drop_counted();
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
        if let Some(replay) = &mut launch.replay {
            let before = replay.counted();
            self.size = self.size.saturating_sub(replay.size());
            replay.finish();
            self.counted = (self.counted + replay.counted()).saturating_sub(before);
        }
    }
}

/// Adds what is not finished of a launch to the tables of its window.
pub(crate) fn add_to(launch: &CorrelatedCall, tables: &mut WindowTables) {
    let Some(replay) = &launch.replay else { return };
    for (key, totals) in replay.totals(launch.call.path) {
        tables.add_replays(key, &totals);
    }
}

/// Whether a launch has something to finish for which no records have arrived for a while.
pub(crate) fn is_due(launch: &CorrelatedCall, round: u32) -> bool {
    let open = launch.replay.as_ref().filter(|replay| replay.size() > 0);
    open.is_some_and(|replay| round - replay.latest_round >= FINISH_AFTER_ROUNDS)
}
