//! The correlation id links a CUDA API call to its activities; the calling thread links it to the
//! enclosing profiled call.
//!
//! Records arrive in any order, so everything with one correlation id is held together until it is
//! complete. Age is measured in rounds: one per flush of CUPTI's buffers, at least 100 ms apart
//! unless somebody asks for a profile.

use rustc_hash::FxHashMap;

use super::capture_intervals::Captures;
use super::correlated_call::CorrelatedCall;
use super::graph_replays::{self, GraphReplays};
use super::symbol_table::SymbolTable;
use super::window_history::{RecordedWindows, WindowHistory, site_of_call};
use super::window_tables::{KernelKey, WindowTables};
use crate::cupti::call_stack::EndedCall;
use crate::cupti::collect::callback_ids::Purpose;
use crate::cupti::collect::record::{Activity, ApiEvent, ApiRecord, CapturedCall, NodeEvent};
use crate::stats::late_results::LatePolicy;

/// Limit of CUDA calls of which records may still arrive; beyond it the older half is released.
const MAX_CALLS: usize = 1 << 17;
/// Rounds after its latest record for which a complete call is still held.
const RELEASE_COMPLETE_AFTER: u32 = 2;
/// Rounds after which activities without a CUDA call are recorded as unattributed.
const RELEASE_ORPHANS_AFTER: u32 = 50;
/// Rounds after which no more records of a call are expected: a captured launch never runs, and
/// nothing marks the last node of a graph.
const RELEASE_INCOMPLETE_AFTER: u32 = 600;

#[derive(Debug, Default)]
pub(crate) struct Correlator {
    /// By correlation id.
    calls: FxHashMap<u32, CorrelatedCall>,
    round: u32,
    pub(crate) windows: WindowHistory,
    captures: Captures,
    graphs: GraphReplays,
    pub(crate) symbols: SymbolTable,
    recorded: RecordedWindows,
    /// The round in which the latest window ended.
    window_ended_in: u32,
}

/// Everything that was attributed so far.
pub(crate) struct Attributed {
    pub(crate) current: WindowTables,
    /// Late records of an earlier window that still counts.
    pub(crate) late: WindowTables,
    pub(crate) symbols: SymbolTable,
}

impl Correlator {
    pub(crate) fn add_api_record(&mut self, ApiEvent { api, call }: ApiEvent) {
        self.captures.add_call(&api);
        let node_updates = self.graphs.node_updates();
        let known = self.entry(api.correlation);
        (known.api, known.call, known.node_updates) = (Some(api), call, node_updates);
        self.record(api.correlation);
        self.enforce_limit();
    }

    pub(crate) fn add_node_event(&mut self, event: NodeEvent) {
        self.graphs.add_node_event(event);
        let forgotten = self.graphs.take_forgotten();
        self.recorded.current_tables().forgotten_captures += forgotten;
    }

    pub(crate) fn add_captured_call(&mut self, call: CapturedCall) {
        self.graphs.add_captured_call(call);
    }

    pub(crate) fn add_activity(&mut self, activity: Activity) {
        let correlation = activity.span().correlation;
        if correlation == 0 {
            // Not caused by a CUDA call of the program.
            self.record_activity(&activity, activity.span().start, 0, 0);
            return;
        }
        let known = self.entry(correlation);
        known.activities += 1;
        known.pending.push(activity);
        if std::mem::take(&mut known.is_counted_unfinished)
            && let Some(api) = known.api
            && let Some(tables) = self.tables_at(api.start)
        {
            tables.finished_late += 1;
        }
        self.record(correlation);
        self.enforce_limit();
    }

    fn entry(&mut self, correlation: u32) -> &mut CorrelatedCall {
        let round = self.round;
        let entry = self.calls.entry(correlation);
        let known = entry.or_insert_with(|| CorrelatedCall {
            first_round: round,
            ..CorrelatedCall::default()
        });
        known.latest_round = round;
        known
    }

    /// Records what is known of a CUDA call, if its own record has arrived.
    fn record(&mut self, correlation: u32) {
        let Some(known) = self.calls.get_mut(&correlation) else {
            return;
        };
        let Some(api) = known.api else { return };
        let call = known.call.id;
        let is_graph = known.purpose() == Some(Purpose::Graph);
        let pending = std::mem::take(&mut known.pending);
        let is_new = !std::mem::replace(&mut known.is_api_recorded, true);
        if is_new && let Some(tables) = self.tables_at(api.start) {
            tables.add_api(site_of_call(call), &api);
        }
        for activity in pending {
            let owner = self.capturing_call(correlation, &activity, api.start);
            let key = self.record_activity(&activity, api.start, call, owner.unwrap_or(call));
            let start = activity.span().start;
            match (is_graph, key) {
                (true, _) => self.add_graph_node(correlation, start, key),
                (false, Some(key)) => self.record_latency(&api, start, key),
                (false, None) => {}
            }
        }
    }

    /// The call that captured an activity of a graph launch, to which the activity is added.
    fn capturing_call(
        &mut self,
        correlation: u32,
        activity: &Activity,
        launched_at: u64,
    ) -> Option<u64> {
        let launch = self.calls.get_mut(&correlation)?;
        let epoch = self.windows.at(launched_at)?;
        if activity.span().graph_node == 0 || launch.purpose() != Some(Purpose::Graph) {
            return None;
        }
        let owner = self.graphs.owner(launch, activity);
        let is_exact =
            owner.is_none_or(|owner| self.graphs.add(launch, owner, activity, self.round));
        let tables = self.recorded.tables(epoch)?;
        tables.unattributed_graph_nodes += u64::from(owner.is_none());
        tables.late_records += u64::from(!is_exact);
        owner.map(|owner| owner.id)
    }

    /// Adds the finished part of a graph launch to its window.
    fn finish_replay(&mut self, correlation: u32) {
        let Some(launch) = self.calls.get_mut(&correlation) else {
            return;
        };
        let epoch = launch.api.and_then(|api| self.windows.at(api.start));
        let tables = epoch.and_then(|epoch| self.recorded.tables(epoch));
        self.graphs.finish(launch, tables);
    }

    fn finish_replays(&mut self, is_due: impl Fn(&CorrelatedCall) -> bool) {
        let launches = self.calls.iter().filter(|(_, launch)| is_due(launch));
        let due: Vec<u32> = launches.map(|(correlation, _)| *correlation).collect();
        for correlation in due {
            self.finish_replay(correlation);
        }
    }

    fn add_graph_node(&mut self, correlation: u32, start: u64, key: Option<KernelKey>) {
        if let Some(known) = self.calls.get_mut(&correlation)
            && known.first_node.is_none_or(|(first, _)| start < first)
        {
            known.first_node = Some((start, key));
        }
    }

    fn record_latency(&mut self, api: &ApiRecord, start: u64, key: KernelKey) {
        if let Some(tables) = self.tables_at(api.start) {
            tables.add_latency(key, start.saturating_sub(api.start));
        }
    }

    /// The tables of the window that was open at `time`.
    fn tables_at(&mut self, time: u64) -> Option<&mut WindowTables> {
        let epoch = self.windows.at(time)?;
        self.recorded.tables(epoch)
    }

    fn record_activity(
        &mut self,
        activity: &Activity,
        launched_at: u64,
        call: u64,
        owner: u64,
    ) -> Option<KernelKey> {
        let epoch = self.windows.at(launched_at)?;
        let symbol = self.symbols.intern(activity);
        self.recorded.add(epoch, call, owner, activity, symbol)
    }

    pub(crate) fn end_call(&mut self, ended: EndedCall) {
        self.recorded.end_call(ended);
    }

    /// Counts ended calls that did not fit in the queue.
    pub(crate) fn add_dropped_calls(&mut self, calls: u64) {
        self.recorded.current_tables().dropped_calls += calls;
    }

    /// Starts a round, and releases the calls that nothing more is expected of.
    pub(crate) fn next_round(&mut self) {
        self.round += 1;
        self.recorded.calls.next_round();
        let round = self.round;
        self.finish_replays(|launch| graph_replays::is_due(launch, round));
        self.release_all(|known| match known.api {
            Some(_) if known.is_complete() => round - known.latest_round >= RELEASE_COMPLETE_AFTER,
            Some(_) => round - known.latest_round >= RELEASE_INCOMPLETE_AFTER,
            None => round - known.first_round >= RELEASE_ORPHANS_AFTER,
        });
    }

    fn release_all(&mut self, is_due: impl Fn(&CorrelatedCall) -> bool) {
        let due: Vec<u32> = self
            .calls
            .iter()
            .filter(|(_, known)| is_due(known))
            .map(|(correlation, _)| *correlation)
            .collect();
        for correlation in due {
            self.release(correlation);
        }
    }

    /// Forgets a CUDA call, after recording what is known of it.
    fn release(&mut self, correlation: u32) {
        self.count_unfinished(correlation);
        self.record_graph_latency(correlation);
        self.finish_replay(correlation);
        if let Some(mut known) = self.calls.remove(&correlation) {
            self.graphs.drop_counted(&mut known);
            self.record_orphans(known.pending);
        }
    }

    /// Records activities without a CUDA call as unattributed, in the window they started in.
    fn record_orphans(&mut self, activities: impl IntoIterator<Item = Activity>) {
        for activity in activities {
            self.record_activity(&activity, activity.span().start, 0, 0);
        }
    }

    /// Counts a CUDA call whose activities did not arrive in its window.
    fn count_unfinished(&mut self, correlation: u32) {
        if let Some(launched_at) = self.unfinished_since(correlation)
            && let Some(tables) = self.tables_at(launched_at)
        {
            tables.unfinished += 1;
            if let Some(known) = self.calls.get_mut(&correlation) {
                known.is_counted_unfinished = true;
            }
        }
    }

    /// Records the time from a graph launch to its first node, among the nodes so far.
    fn record_graph_latency(&mut self, correlation: u32) {
        let Some(known) = self.calls.get_mut(&correlation) else {
            return;
        };
        if let (Some(api), Some((start, key)), false) =
            (known.api, known.first_node, known.is_latency_recorded)
        {
            known.is_latency_recorded = true;
            if let Some(key) = key {
                self.record_latency(&api, start, key);
            }
        }
    }

    /// Records what is known of every CUDA call, before the window it belongs to ends.
    fn record_all(&mut self) {
        let previous_end = std::mem::replace(&mut self.window_ended_in, self.round);
        let correlations: Vec<u32> = self.calls.keys().copied().collect();
        for correlation in correlations {
            let Some(known) = self.calls.get_mut(&correlation) else {
                continue;
            };
            if known.api.is_some() {
                self.count_unfinished(correlation);
                self.record_graph_latency(correlation);
                self.finish_replay(correlation);
            } else if known.first_round < previous_end {
                // These activities arrived before the previous window ended, and their CUDA call
                // still has not. This is the last moment their window accepts records, so they are
                // recorded now as unattributed.
                let orphans = std::mem::take(&mut known.pending);
                self.record_orphans(orphans);
            }
        }
    }

    /// Releases complete calls if there are too many, and if that is not enough the older half.
    fn enforce_limit(&mut self) {
        if self.graphs.is_full() {
            self.finish_replays(|launch| launch.replay.is_some());
        }
        self.graphs.limit_counted(self.calls.values_mut());
        if self.calls.len() <= MAX_CALLS {
            return;
        }
        self.release_all(CorrelatedCall::is_complete);
        if self.calls.len() <= MAX_CALLS / 2 {
            return;
        }
        let mut by_age: Vec<(u32, u32)> = self
            .calls
            .iter()
            .map(|(correlation, known)| (known.first_round, *correlation))
            .collect();
        by_age.sort_unstable();
        by_age.truncate(by_age.len() / 2);
        for (_, correlation) in by_age {
            self.release(correlation);
        }
    }

    /// When this CUDA call was made, if its activities have not arrived.
    fn unfinished_since(&self, correlation: u32) -> Option<u64> {
        let known = self.calls.get(&correlation)?;
        let api = known.api.filter(|_| !known.is_counted_unfinished)?;
        let is_captured = || {
            let is_graph = known.purpose() == Some(Purpose::Graph);
            self.recorded.calls.is_captured(known.call.id)
                || (!is_graph && self.captures.is_any_open_at(api.start))
        };
        let is_missing = known.causes_activity() && known.activities == 0;
        (is_missing && !is_captured()).then_some(api.start)
    }

    /// Ends the current window and starts window `epoch`. Returns two sets of tables: those of the
    /// window that ended, and the late records of the window kept before it, if `policy` counts
    /// them.
    pub(crate) fn next_window(
        &mut self,
        epoch: u32,
        policy: LatePolicy,
    ) -> (WindowTables, WindowTables) {
        if matches!(policy, LatePolicy::KeepCurrent) {
            self.record_all();
        }
        self.recorded.next_window(epoch, policy)
    }

    /// Returns a copy of all totals that treats every call as complete; the live state still
    /// accepts records.
    pub(crate) fn attributed(&self) -> Attributed {
        let (mut recorded, mut symbols) = (self.recorded.clone(), self.symbols.clone());
        recorded.close_all();
        for (correlation, known) in &self.calls {
            if let Some(launched_at) = self.unfinished_since(*correlation)
                && let Some(epoch) = self.windows.at(launched_at)
                && let Some(tables) = recorded.tables(epoch)
            {
                tables.unfinished += 1;
            }
            self.record_pending(known, &mut recorded, &mut symbols);
        }
        let (current, late) = recorded.into_tables();
        Attributed {
            current,
            late,
            symbols,
        }
    }

    /// Records what waits for more records, in a copy.
    fn record_pending(
        &self,
        known: &CorrelatedCall,
        recorded: &mut RecordedWindows,
        symbols: &mut SymbolTable,
    ) {
        for activity in &known.pending {
            let symbol = symbols.intern(activity);
            if let Some(epoch) = self.windows.at(activity.span().start) {
                recorded.add(epoch, 0, 0, activity, symbol);
            }
        }
        if let Some(api) = known.api
            && let Some(epoch) = self.windows.at(api.start)
            && let Some(tables) = recorded.tables(epoch)
        {
            if let (Some((start, Some(key))), false) = (known.first_node, known.is_latency_recorded)
            {
                tables.add_latency(key, start.saturating_sub(api.start));
            }
            graph_replays::add_to(known, tables);
        }
    }
}
