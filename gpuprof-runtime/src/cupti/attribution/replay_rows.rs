//! What replayed graphs ran, by function and by call path.

use rustc_hash::FxHashMap;

use super::row_totals::{CallTotals, ReplayKey};
use super::window_tables::WindowTables;
use crate::site::labels::LabelNumber;
use crate::stats::path_ids::{CallPath, ROOT};
use crate::stats::profile_inputs::ReplayedPath;

/// The replays of captured calls, as calls, by site and label. Like those of calls, the busy time
/// of a recursion counts once: a replay does not count inside another of its function, nor inside
/// a call of its function that launched the graph.
pub(super) fn replays_by_label(
    tables: &WindowTables,
    paths: &[CallPath],
) -> FxHashMap<(u32, LabelNumber), CallTotals> {
    let mut found: FxHashMap<_, CallTotals> = FxHashMap::default();
    for (key, totals) in &tables.replays {
        let Some(path) = paths.get(key.captured as usize).filter(|_| key.depth > 0) else {
            continue;
        };
        let mut captured = upward(paths, path.parent).take(key.depth as usize - 1);
        let mut launching = upward(paths, key.launch);
        if captured.all(|site| site != path.site) && launching.all(|site| site != path.site) {
            let of_label = found.entry((path.site, path.label)).or_default();
            of_label.merge(totals);
        }
    }
    found
}

/// The sites of a path, from the innermost.
pub(super) fn upward(paths: &[CallPath], path: u32) -> impl Iterator<Item = u32> {
    let mut next = path;
    std::iter::from_fn(move || {
        let path = paths.get(next as usize).filter(|_| next != ROOT)?;
        next = path.parent;
        Some(path.site)
    })
}

/// The replays of each captured path by each launching path; an enclosing one comes first.
pub(super) fn replayed_paths(tables: &WindowTables, paths: &[CallPath]) -> Vec<ReplayedPath> {
    let replayed = numbered(tables, paths).map(|(node, key)| {
        let ReplayKey {
            launch,
            depth,
            captured,
        } = key;
        let totals = tables.replays.get(&key).copied().unwrap_or_default();
        ReplayedPath {
            node,
            launch,
            depth,
            captured,
            replays: totals.calls,
            busy_ns: totals.busy_ns,
        }
    });
    replayed.collect()
}

/// The ids of the nodes of [`replayed_paths`].
pub(super) fn replayed_nodes(
    tables: &WindowTables,
    paths: &[CallPath],
) -> FxHashMap<ReplayKey, u32> {
    numbered(tables, paths)
        .map(|(node, key)| (key, node))
        .collect()
}

/// In order. The nodes of call paths have the numbers below.
fn numbered(
    tables: &WindowTables,
    paths: &[CallPath],
) -> impl Iterator<Item = (u32, ReplayKey)> + use<> {
    let mut keys: Vec<ReplayKey> = tables.replays.keys().copied().collect();
    keys.sort_unstable();
    (paths.len() as u32..).zip(keys)
}
