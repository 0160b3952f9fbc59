//! What the calls on each path ran: busy times, and the kernels and copies of each node of the call
//! tree.

use std::cmp::Reverse;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::activity_path::ActivityPath;
use super::replay_rows::replayed_nodes;
use super::row_keys::{CopyRowKey, KernelRowKey};
use super::row_totals::DurationTotals;
use super::window_tables::WindowTables;
use crate::stats::path_ids::CallPath;
use crate::stats::profile_inputs::PathActivity;
use gpuprof_report::profile::{NodeActivity, Profile};
use gpuprof_report::sorting::sort_by_key;

/// What the calls on each path ran.
pub(super) fn activity_by_path(tables: &WindowTables) -> FxHashMap<u32, PathActivity> {
    let mut paths: FxHashMap<u32, PathActivity> = FxHashMap::default();
    for (path, totals) in &tables.calls {
        let of_path = paths.entry(*path).or_default();
        of_path.busy_ns = totals.busy_ns + totals.inner_busy_ns;
        of_path.extent_ns = totals.extent_ns + totals.inner_extent_ns;
        of_path.timed_busy_ns = totals.timed_busy_ns + totals.inner_timed_busy_ns;
        of_path.left_out_busy_ns = totals.left_out_busy_ns;
    }
    let kernels = tables.kernels.keys().map(|key| key.path);
    for path in kernels.chain(tables.copies.keys().map(|key| key.path)) {
        if let ActivityPath::Called(path) = shown_path(tables, path) {
            paths.entry(path).or_default().has_own = true;
        }
    }
    paths
}

/// Where an activity is shown: without a node of its replay, at the captured calls.
fn shown_path(tables: &WindowTables, path: ActivityPath) -> ActivityPath {
    match path {
        ActivityPath::Replayed(key) if !tables.replays.contains_key(&key) => {
            ActivityPath::Called(key.captured)
        }
        path => path,
    }
}

/// Fills in the kernels and copies of each node, given the rows of the profile in order.
pub(super) fn write_activities(
    profile: &mut Profile,
    tables: &WindowTables,
    paths: &[CallPath],
    kernel_rows: &[KernelRowKey],
    copy_rows: &[CopyRowKey],
) {
    let kernels = indices(kernel_rows);
    let copies = indices(copy_rows);
    let replays = replayed_nodes(tables, paths);
    let node = |path: ActivityPath| match shown_path(tables, path) {
        ActivityPath::Called(path) => Some(path),
        ActivityPath::Replayed(key) => replays.get(&key).copied(),
    };
    // By node, kernel and copies.
    let mut rows: FxHashMap<(u32, Option<u32>, Option<u32>), NodeActivity> = FxHashMap::default();
    let mut add = |path: ActivityPath, kernel, copies, times: &DurationTotals| {
        if let Some(node) = path.is_attributed().then(|| node(path)).flatten() {
            let row = rows.entry((node, kernel, copies)).or_default();
            (row.kernel, row.copies) = (kernel, copies);
            row.calls += times.durations.calls;
            row.total_ns += times.durations.total;
        }
    };
    for (key, totals) in &tables.kernels {
        let index = kernels.get(&(key.symbol, key.device));
        add(key.path, index.copied(), None, &totals.times);
    }
    for (key, totals) in &tables.copies {
        let index = copies.get(&(key.kind, key.device));
        add(key.path, None, index.copied(), &totals.times);
    }
    let mut by_node: FxHashMap<u32, Vec<NodeActivity>> = FxHashMap::default();
    for ((node, ..), activity) in rows {
        by_node.entry(node).or_default().push(activity);
    }
    for node in &mut profile.tree {
        node.activities = by_node.remove(&node.id).unwrap_or_default();
        let key = |row: &NodeActivity| (Reverse(row.total_ns), row.kernel, row.copies);
        sort_by_key(&mut node.activities, key);
    }
}

fn indices<K: Copy + Hash + Eq>(rows: &[K]) -> FxHashMap<K, u32> {
    rows.iter().copied().zip(0..).collect()
}
