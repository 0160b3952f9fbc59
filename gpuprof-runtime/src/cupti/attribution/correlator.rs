//! The correlation id links a CUDA API call to its activities; the calling thread links it to the
//! enclosing profiled call.
//!
//! Records arrive in any order and at any time, so CUDA calls and activities are remembered by
//! correlation id, within the bounds of `limits`.

use std::sync::Arc;

use super::activity_path::{ActivityPath, Cause};
use super::capture_intervals::Captures;
use super::correlated_call::CorrelatedCall;
use super::cuda_calls::CudaCalls;
use super::graph_replays::{self, GraphReplays};
use super::memory_totals::ProcessMemory;
use super::node_owners::NodeOwner;
use super::orphans::Orphans;
use super::recorded_activities::{ActivityRecorder, RecordedNames};
use super::row_keys::KernelKey;
use super::row_totals::ReplayKey;
use super::sample_join::{SampledActivity, SampledKernel};
use super::sampled_devices::SampledDevices;
use super::step_history::StepHistory;
use super::symbol_table::SymbolNumbers;
use super::window_history::{RecordedWindows, WindowHistory, site_of_call};
use super::window_tables::WindowTables;
use crate::cupti::collect::lifecycle;
use crate::cupti::collect::pm_sampling::PmSampling;
use crate::cupti::collect::record::{ActivityRecord, ApiEvent, CapturedCall, NodeEvent};
use crate::recorder::Recorder;
use crate::stats::by_window::Since;
use crate::stats::profiled_call::EndedCall;

#[derive(Default)]
pub(crate) struct Correlator {
    pub(super) calls: CudaCalls,
    orphans: Orphans,
    pub(crate) windows: Arc<WindowHistory>,
    pub(super) steps: Arc<StepHistory>,
    captures: Captures,
    graphs: GraphReplays,
    pub(crate) symbols: SymbolNumbers,
    recorded: RecordedWindows,
    samples: SampledDevices,
    pub(super) time_line: ActivityRecorder,
    pub(super) memory: ProcessMemory,
}

/// Everything that was attributed so far.
pub(crate) struct Attributed {
    pub(crate) tables: WindowTables,
    pub(crate) symbols: SymbolNumbers,
}

impl Correlator {
    pub(crate) fn new(recorder: Arc<Recorder>, pm_sampling: Arc<PmSampling>) -> Self {
        Self {
            samples: SampledDevices::new(pm_sampling),
            time_line: ActivityRecorder::new(recorder),
            ..Self::default()
        }
    }

    /// What the numbers in events of the time line stand for.
    pub(crate) fn recorded_names(&self) -> &RecordedNames {
        self.time_line.names()
    }

    pub(crate) fn add_api_record(&mut self, event: ApiEvent) {
        let ApiEvent { api, call, .. } = event;
        if self.windows.window_at(api.start).is_some() {
            self.time_line.add_call(&event);
        }
        let newest = self.calls.newest(api.correlation);
        let outdated = self.orphans.take_outdated(newest);
        self.record_unattributed(outdated);
        self.captures.add_call(&api);
        let is_capture_open = self.captures.is_any_open_at(api.start);
        let known = CorrelatedCall::new(event, is_capture_open, self.graphs.node_updates());
        if self
            .calls
            .get(api.correlation)
            .is_some_and(|inner| inner.has_activity)
        {
            // The activities are those of a CUDA call inside this one, with the same id.
            return;
        }
        self.recorded.calls.add_running(call.id);
        if known.is_awaited() {
            self.recorded.calls.await_records(call.id);
        }
        match self.calls.insert(api.correlation, known) {
            Some(inner) => self.stop_awaiting(&inner),
            None => {
                if let Some(tables) = self.tables_at(api.start) {
                    tables.add_api(site_of_call(call.id), &api);
                }
            }
        }
        for activity in self.orphans.take(api.correlation) {
            self.record_caused(api.correlation, &activity);
        }
        self.enforce_limits();
    }

    pub(crate) fn add_node_event(&mut self, event: NodeEvent) {
        self.graphs.add_node_event(event);
        let forgotten = self.graphs.take_forgotten();
        if let Some(tables) = self.recorded.tables.current_mut() {
            tables.forgotten_captures += forgotten;
        }
    }

    pub(crate) fn add_captured_call(&mut self, call: CapturedCall) {
        self.graphs.add_captured_call(call);
    }

    pub(crate) fn add_activity(&mut self, activity: ActivityRecord) {
        let correlation = activity.span().correlation;
        let is_late = activity.span().start < lifecycle::resumed_at();
        if correlation == 0 || is_late {
            // Not caused by a CUDA call of the program, or by one before CUPTI was left, whose id
            // another call has by now.
            self.record_unattributed([activity]);
        } else if self.calls.get(correlation).is_some() {
            self.record_caused(correlation, &activity);
            self.enforce_limits();
        } else {
            let forgotten = self.orphans.add(activity);
            self.record_unattributed(forgotten);
        }
    }

    /// Records an activity of a CUDA call that is known.
    fn record_caused(&mut self, correlation: u32, activity: &ActivityRecord) {
        let Some(known) = self.calls.get_mut(correlation) else {
            return;
        };
        let (launched_at, call, launch) = (known.launched_at, known.call, known.launch());
        let was_awaited = known.is_awaited();
        let was_counted = std::mem::take(&mut known.is_counted_unfinished);
        known.has_activity = true;
        let (is_graph, stack) = (known.graph.is_some(), known.stack);
        let owner = self.node_owner(correlation, activity);
        let replayed = self.replayed_path(correlation, activity, launched_at, owner);
        let cause = Cause {
            call: call.id,
            path: replayed.unwrap_or(ActivityPath::Called(call.path)),
            launch,
            is_graph,
            stack: owner.and_then(|owner| owner.stack).or(stack),
            closed: self.windows.closed_ns(launched_at, activity.span()),
            step: None,
        };
        let site = site_of_call(owner.and_then(NodeOwner::call).map_or(call.id, |of| of.id));
        let key = self.record_activity(activity, launched_at, cause, site);
        if is_graph {
            self.add_graph_node(correlation, activity.span().start, key);
        }
        if was_awaited {
            self.recorded.calls.stop_awaiting(call.id);
        }
        if was_counted && let Some(tables) = self.tables_at(launched_at) {
            tables.completeness.unfinished = tables.completeness.unfinished.saturating_sub(1);
        }
    }

    /// The call that captured an activity of a graph launch.
    fn node_owner(&mut self, correlation: u32, activity: &ActivityRecord) -> Option<NodeOwner> {
        let launch = self.calls.get(correlation)?.graph.as_deref()?;
        match activity.span().graph_node {
            0 => None,
            _ => self.graphs.owner(launch, activity),
        }
    }

    /// Where an activity of a graph launch counts if the call that captured it is known. The
    /// activity is added to the launch.
    fn replayed_path(
        &mut self,
        correlation: u32,
        activity: &ActivityRecord,
        launched_at: u64,
        owner: Option<NodeOwner>,
    ) -> Option<ActivityPath> {
        let known = self.calls.get_mut(correlation)?;
        let (launch_path, launch) = (known.call.path, known.graph.as_deref_mut()?);
        let epoch = self.windows.window_at(launched_at)?;
        if activity.span().graph_node == 0 {
            return None;
        }
        let owner = owner.and_then(NodeOwner::call);
        let added = owner.map(|owner| (owner, self.graphs.add(launch, owner, activity)));
        let tables = self.recorded.tables.get_mut(epoch)?;
        let Some((owner, (depth, is_exact))) = added else {
            tables.completeness.unattributed_graph_nodes += 1;
            return None;
        };
        tables.completeness.late_records += u64::from(!is_exact);
        Some(ActivityPath::Replayed(ReplayKey {
            launch: launch_path,
            depth,
            captured: owner.path,
        }))
    }

    /// Adds what a graph launch ran so far to its window.
    fn finish_replay(&mut self, correlation: u32) {
        let Some(launch) = self.calls.get_mut(correlation) else {
            return;
        };
        let epoch = self.windows.window_at(launch.launched_at);
        let tables = epoch.and_then(|epoch| self.recorded.tables.get_mut(epoch));
        self.graphs.finish(launch, tables);
    }

    fn add_graph_node(&mut self, correlation: u32, start: u64, key: Option<KernelKey>) {
        let known = self.calls.get_mut(correlation);
        if let Some(launch) = known.and_then(|known| known.graph.as_deref_mut())
            && launch.first_node.is_none_or(|(first, _)| start < first)
        {
            launch.first_node = Some((start, key));
        }
    }

    /// The tables of the window that was open at `time`.
    pub(super) fn tables_at(&mut self, time: u64) -> Option<&mut WindowTables> {
        let epoch = self.windows.window_at(time)?;
        self.recorded.tables.get_mut(epoch)
    }

    /// `site`: of the function that launched it, or captured it.
    fn record_activity(
        &mut self,
        activity: &ActivityRecord,
        launched_at: u64,
        cause: Cause,
        site: Option<u32>,
    ) -> Option<KernelKey> {
        let epoch = self.windows.window_at(launched_at);
        let key = epoch.and_then(|epoch| {
            let symbol = self.symbols.intern(activity);
            self.time_line.add_activity(activity, &cause, symbol);
            let collective = symbol.filter(|symbol| self.symbols.waits_for_all(*symbol));
            let step = collective.and_then(|_| self.steps.step_at(epoch, launched_at));
            let cause = Cause { step, ..cause };
            self.recorded.add(epoch, cause, activity, symbol)
        });
        let row = epoch
            .zip(key)
            .map(|(epoch, key)| SampledKernel { epoch, key, site });
        let sampled = SampledActivity::new(activity, row);
        self.sample_activity(activity.span().device, epoch, sampled);
        key
    }

    pub(crate) fn end_call(&mut self, ended: EndedCall) {
        self.recorded.end_call(ended);
    }

    /// Counts ended calls that did not fit in the queue.
    pub(crate) fn add_dropped_calls(&mut self, calls: u64) {
        if let Some(tables) = self.recorded.tables.current_mut() {
            tables.completeness.dropped_calls += calls;
        }
    }

    /// Forgets a CUDA call, after recording what is known of it.
    pub(super) fn forget(&mut self, correlation: u32) {
        self.count_unfinished(correlation);
        self.record_graph_latency(correlation);
        self.finish_replay(correlation);
        if let Some(mut known) = self.calls.remove(correlation) {
            self.graphs.drop_counted(&mut known);
            self.stop_awaiting(&known);
        }
    }

    /// No more records of a CUDA call are waited for.
    fn stop_awaiting(&mut self, known: &CorrelatedCall) {
        if known.is_awaited() {
            self.recorded.calls.stop_awaiting(known.call.id);
        }
    }

    /// Records activities without a CUDA call, in the window they started in.
    fn record_unattributed(&mut self, activities: impl IntoIterator<Item = ActivityRecord>) {
        for activity in activities {
            let started = activity.span().start;
            let cause = self.windows.unattributed(activity.span());
            self.record_activity(&activity, started, cause, None);
        }
    }

    /// Counts a CUDA call whose activities did not arrive in its window.
    fn count_unfinished(&mut self, correlation: u32) {
        let known = self.calls.get(correlation);
        let is_new = known.is_some_and(|known| !known.is_counted_unfinished);
        if let Some(launched_at) = known.and_then(|known| self.unfinished_since(known))
            && is_new
            && let Some(tables) = self.tables_at(launched_at)
        {
            tables.completeness.unfinished += 1;
            if let Some(known) = self.calls.get_mut(correlation) {
                known.is_counted_unfinished = true;
            }
        }
    }

    /// Records the time from a graph launch to its first node, among the nodes so far.
    fn record_graph_latency(&mut self, correlation: u32) {
        let Some(known) = self.calls.get_mut(correlation) else {
            return;
        };
        let epoch = self.windows.window_at(known.launched_at);
        if let Some(tables) = epoch.and_then(|epoch| self.recorded.tables.get_mut(epoch)) {
            graph_replays::add_latency(known, tables);
        }
        if let Some(launch) = &mut known.graph {
            launch.is_latency_recorded |= launch.first_node.is_some();
        }
    }

    fn enforce_limits(&mut self) {
        if self.graphs.is_full() {
            for correlation in self.calls.correlations() {
                if self.graphs.is_half_empty() {
                    break;
                }
                self.finish_replay(correlation);
            }
        }
        self.graphs.limit_counted(self.calls.values_mut());
        while let Some(correlation) = self.calls.next_to_forget() {
            self.forget(correlation);
        }
    }

    /// When this CUDA call was made, if its activities have not arrived.
    fn unfinished_since(&self, known: &CorrelatedCall) -> Option<u64> {
        let is_captured = || self.recorded.calls.is_captured(known.call.id);
        (known.is_awaited() && !is_captured()).then_some(known.launched_at)
    }

    /// The devices with records in this window.
    pub(crate) fn devices(&mut self) -> Vec<u32> {
        let tables = self.recorded.tables.current_mut();
        tables.map_or_else(Vec::new, |tables| tables.devices())
    }

    /// Returns a copy of all totals that treats every call as complete; the live state still
    /// accepts records.
    pub(crate) fn attributed(&self, since: Since) -> Attributed {
        let (mut recorded, mut symbols) = (self.recorded.copy(since), self.symbols.clone());
        self.join_samples(&mut self.samples.clone(), &mut recorded);
        recorded.close_all();
        for known in self.calls.values() {
            if let Some(epoch) = self.windows.window_at(known.launched_at)
                && let Some(tables) = recorded.tables.get_mut(epoch)
            {
                let is_new = !known.is_counted_unfinished;
                let is_unfinished = is_new && self.unfinished_since(known).is_some();
                tables.completeness.unfinished += u64::from(is_unfinished);
                graph_replays::add_to(known, tables);
                graph_replays::add_latency(known, tables);
            }
        }
        for activity in self.orphans.iter() {
            let symbol = symbols.intern(activity);
            let started = activity.span().start;
            if let Some(epoch) = self.windows.window_at(started) {
                let collective = symbol.filter(|symbol| symbols.waits_for_all(*symbol));
                let cause = Cause {
                    step: collective.and_then(|_| self.steps.step_at(epoch, started)),
                    ..self.windows.unattributed(activity.span())
                };
                recorded.add(epoch, cause, activity, symbol);
            }
        }
        let mut tables = recorded.into_sum();
        if since == Since::Window {
            tables.steps.finish(self.steps.ended());
        }
        Attributed { tables, symbols }
    }
}

mod samples;
#[cfg(test)]
mod tests;
mod window_bounds;
