//! Converts attribution tables into profile rows (names, quantiles, sort order), per function and
//! for the whole program.

use std::cmp::Ordering;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::activity_path::ActivityPath;
use super::api_rows::api_rows;
use super::busy_rows;
use super::device_samples;
use super::kernel_names::{KernelNames, OTHER_KERNELS};
use super::kernel_rows::{self, SharedRow};
use super::limits::{MAX_KERNEL_ROWS, MAX_REPLAY_ROWS};
use super::memory_profile::MemoryBySite;
use super::node_activities;
use super::replay_rows;
use super::row_keys::{CopyRowKey, KernelRowKey};
use super::row_totals::{ApiTotals, CallTotals, CopyTotals, DurationTotals, duration_stats};
use super::window_tables::WindowTables;
use super::wrong_streams;
use crate::clock;
use crate::cupti::collect::record::ApiFunction;
use crate::stats::path_ids::CallPath;
use crate::stats::profile_inputs::{CuptiActivity, RecordedActivity};
use gpuprof_report::occupancy;
use gpuprof_report::profile::{ApiStats, CopyStats, KernelStats, Profile};
use gpuprof_report::sorting::sort_by;

/// What functions and call paths ran.
pub(crate) fn recorded_activity(
    tables: &WindowTables,
    names: &KernelNames<'_>,
    paths: &[CallPath],
    memory: MemoryBySite,
) -> RecordedActivity {
    RecordedActivity {
        functions: activity_by_site(tables, names, paths),
        memory,
        paths: node_activities::activity_by_path(tables),
        replayed: replay_rows::replayed_paths(tables, paths),
    }
}

/// The activities of each function, calls and replays together.
fn activity_by_site(
    tables: &WindowTables,
    names: &KernelNames<'_>,
    paths: &[CallPath],
) -> FxHashMap<u32, CuptiActivity> {
    let mut sites: FxHashMap<u32, CuptiActivity> = FxHashMap::default();
    let mut by_label = replay_rows::replays_by_label(tables, paths);
    for (path, totals) in &tables.calls {
        if let Some(path) = paths.get(*path as usize) {
            let of_label = by_label.entry((path.site, path.label)).or_default();
            of_label.merge(totals);
            let of_site = sites.entry(path.site).or_default();
            of_site.called_busy_ns += totals.busy_ns;
            of_site.extent_ns += totals.extent_ns;
        }
    }
    let mut calls: FxHashMap<u32, CallTotals> = FxHashMap::default();
    for ((site, label), totals) in by_label {
        calls.entry(site).or_default().merge(&totals);
        let busy_ns = &mut sites.entry(site).or_default().busy_ns_by_label;
        busy_ns.insert(label, totals.busy_ns);
    }
    for (site, totals) in calls {
        let entry = sites.entry(site).or_default();
        entry.timed_busy_ns = totals.timed_busy_ns;
        entry.devices = totals.devices.count_ones();
        let activity = &mut entry.activity;
        activity.busy_ns = Some(totals.busy_ns);
        activity.busy_calls = totals.calls;
        activity.activities = totals.activities;
        activity.launches = totals.launches;
        activity.work_streams = totals.streams;
        activity.first_call_ns = totals
            .first_call_ticks
            .map(|ticks| clock::scale().ns(ticks));
    }
    let site = |path: ActivityPath| {
        let path = paths.get(path.calls_path() as usize);
        path.map(|path| path.site)
    };
    let kernels = tables
        .kernels
        .iter()
        .filter(|(key, _)| key.path.is_attributed())
        .filter_map(|(key, totals)| {
            let row: KernelRowKey = (key.symbol, key.device);
            Some(((site(key.path)?, row), totals))
        });
    let mut latency: FxHashMap<u32, DurationTotals> = FxHashMap::default();
    let mut kernels_of: FxHashMap<u32, Vec<SharedRow>> = FxHashMap::default();
    for ((site, row), totals) in kernel_rows::merged(kernels) {
        latency.entry(site).or_default().merge(&totals.latency);
        kernels_of.entry(site).or_default().push((row, totals));
    }
    for (site, rows) in kernels_of {
        let (_, kernels) = kernel_rows::sorted_kernel_rows(rows, names, tables);
        sites.entry(site).or_default().activity.kernels = kernels;
    }
    let copies = tables
        .copies
        .iter()
        .filter(|(key, _)| key.path.is_attributed())
        .filter_map(|(key, totals)| {
            let row: CopyRowKey = (key.kind, key.device);
            Some(((site(key.path)?, row), totals))
        });
    for ((site, row), totals) in merged(copies, CopyTotals::merge) {
        let entry = sites.entry(site).or_default();
        let copies = copy_stats(row, &totals, tables);
        entry.activity.copies.push(copies);
    }
    let mut api: FxHashMap<u32, Vec<(ApiFunction, &ApiTotals)>> = FxHashMap::default();
    for (&(site, function), totals) in &tables.api {
        let Some(site) = site else { continue };
        api.entry(site).or_default().push((function, totals));
    }
    for (site, totals) in api {
        sites.entry(site).or_default().activity.api = api_rows(totals);
    }
    for (site, samples) in &tables.site_samples {
        sites.entry(*site).or_default().activity.counters = samples.values();
    }
    for (site, entry) in &mut sites {
        let activity = &mut entry.activity;
        activity.busy_ns = activity.busy_ns.or(Some(0));
        let latency = latency.get(site).map(duration_stats);
        activity.launch_latency = latency.filter(|latency| latency.calls > 0);
        sort_by(&mut activity.copies, copy_order);
        sort_by(&mut activity.api, api_order);
    }
    sites
}

/// Fills in the activities of the whole program and of the call tree, the occupancy of all
/// kernels, and the samples of the devices in `profile.counters`.
pub(crate) fn write_to_profile(
    profile: &mut Profile,
    tables: &WindowTables,
    names: &KernelNames<'_>,
    paths: &[CallPath],
) {
    let kernels = tables
        .kernels
        .iter()
        .map(|(key, totals)| ((key.symbol, key.device), totals));
    let kernels: Vec<SharedRow> = kernel_rows::merged(kernels).into_iter().collect();
    let (kernel_rows, kernels) = kernel_rows::sorted_kernel_rows(kernels, names, tables);
    let copies = tables
        .copies
        .iter()
        .map(|(key, totals)| ((key.kind, key.device), totals));
    let mut copies: Vec<(CopyRowKey, CopyStats)> = merged(copies, CopyTotals::merge)
        .into_iter()
        .map(|(row, totals)| (row, copy_stats(row, &totals, tables)))
        .collect();
    sort_by(&mut copies, |(_, a), (_, b)| copy_order(a, b));
    let (copy_rows, copies): (Vec<CopyRowKey>, _) = copies.into_iter().unzip();
    (profile.kernels, profile.copies) = (kernels, copies);
    if let Some(cupti) = &mut profile.cupti {
        cupti.add(&tables.completeness);
    }
    busy_rows::write(profile, tables);
    device_samples::write(&mut profile.counters, &tables.device_samples);
    node_activities::write_activities(profile, tables, paths, &kernel_rows, &copy_rows);
    let api = tables.api.iter();
    profile.api = api_rows(api.map(|((_, function), totals)| (*function, totals)));
    sort_by(&mut profile.api, api_order);
    if cfg!(not(feature = "cupti")) && profile.kernels.iter().any(is_mangled) {
        profile.diagnostics.notes.push(
            "kernel names are shown mangled: gpuprof is built without its feature cupti".into(),
        );
    }
    occupancy::fill_occupancy(profile);
    wrong_streams::add_diagnostic(profile);
    if tables.forgotten_captures > 0 {
        profile.diagnostics.notes.push(format!(
            "{} nodes of graphs and captured calls were forgotten, for lack of memory: if they are \
             replayed, their kernels are attributed to the function that launches the graph, or \
             are missing from the busy time of enclosing captured functions",
            tables.forgotten_captures
        ));
    }
    if tables.dropped_replays > 0 {
        profile.diagnostics.notes.push(format!(
            "{} replays of captured functions are missing from busy times and from the call tree: \
             more than {MAX_REPLAY_ROWS} pairs of a launching and a captured call path",
            tables.dropped_replays
        ));
    }
    if tables.kernels.keys().any(|key| key.symbol.is_none()) {
        profile.diagnostics.notes.push(format!(
            "more than {MAX_KERNEL_ROWS} kernel rows (call path and kernel name): the rest are \
             merged into {OTHER_KERNELS}"
        ));
    }
}

/// Whether the kernel is shown by a symbol of C++ or Rust.
fn is_mangled(kernel: &KernelStats) -> bool {
    ["_Z", "_R"]
        .iter()
        .any(|start| kernel.name.starts_with(start))
}

/// Merges the rows of the same key.
fn merged<'a, K: Hash + Eq, T: Default + 'a>(
    rows: impl Iterator<Item = (K, &'a T)>,
    merge: impl Fn(&mut T, &T),
) -> FxHashMap<K, T> {
    let mut merged: FxHashMap<K, T> = FxHashMap::default();
    rows.for_each(|(key, totals)| merge(merged.entry(key).or_default(), totals));
    merged
}

fn copy_stats((kind, device): CopyRowKey, totals: &CopyTotals, tables: &WindowTables) -> CopyStats {
    let mut copies = CopyStats::default();
    copies.kind = kind;
    copies.device = device;
    copies.times = duration_stats(&totals.times);
    copies.bytes = totals.bytes;
    copies.pageable_calls = totals.pageable_calls;
    copies.pageable_ns = totals.pageable_ns;
    copies.blocking_calls = totals.blocking_calls;
    copies.exposed_ns = tables.device_times(device).map(|_| totals.exposed_ns);
    copies.streams = totals.streams.count();
    copies
}

/// Longest total time first; equal times by name, so that the order is the same in every run.
fn copy_order(a: &CopyStats, b: &CopyStats) -> Ordering {
    let order = b.times.total_ns.cmp(&a.times.total_ns);
    order.then_with(|| (a.kind.as_str(), a.device).cmp(&(b.kind.as_str(), b.device)))
}

fn api_order(a: &ApiStats, b: &ApiStats) -> Ordering {
    let order = b.times.total_ns.cmp(&a.times.total_ns);
    order.then_with(|| a.name.cmp(&b.name))
}

#[cfg(test)]
mod tests {
    use gpuprof_report::profile::{CuptiCompleteness, Profile};

    use super::write_to_profile;
    use crate::cupti::attribution::activity_path::{ActivityPath, Cause};
    use crate::cupti::attribution::kernel_names::KernelNames;
    use crate::cupti::attribution::symbol_table::SymbolNumbers;
    use crate::cupti::attribution::window_tables::WindowTables;
    use crate::cupti::collect::record::{ActivityRecord, ActivitySpan, KernelRecord, LaunchShape};
    use crate::cupti::launch_lines::line_cache::LineCache;
    use crate::stats::path_ids::ROOT;

    fn add(tables: &mut WindowTables, symbols: &mut SymbolNumbers, path: u32, symbol: &str) {
        let kernel = KernelRecord {
            span: ActivitySpan::default(),
            symbol: symbol.into(),
            shape: LaunchShape::default(),
        };
        let symbol = symbols.intern(&ActivityRecord::Kernel(kernel.clone()));
        let cause = Cause {
            path: ActivityPath::Called(path),
            ..Cause::UNATTRIBUTED
        };
        tables.add_kernel(cause, symbol, &kernel);
    }

    fn profile(tables: &WindowTables, symbols: &SymbolNumbers) -> Profile {
        let mut profile = Profile::default();
        profile.cupti = Some(CuptiCompleteness::default());
        let lines = LineCache::default();
        let names = KernelNames::new(tables, symbols, &lines);
        write_to_profile(&mut profile, tables, &names, &[]);
        profile
    }

    #[test]
    fn kernel_names_are_readable_or_a_note_names_the_feature() {
        let (mut tables, mut symbols) = (WindowTables::default(), SymbolNumbers::default());
        add(&mut tables, &mut symbols, ROOT, "_Z4axpyi");
        let profile = profile(&tables, &symbols);
        let names: Vec<&str> = profile.kernels.iter().map(|kernel| &*kernel.name).collect();
        let notes = &profile.diagnostics.notes;
        if cfg!(feature = "cupti") {
            assert_eq!((names, notes.len()), (vec!["axpy"], 0))
        } else {
            assert_eq!((names, notes.len()), (vec!["_Z4axpyi"], 1));
            assert!(notes[0].contains("without its feature cupti"));
        }
    }

    #[test]
    fn without_a_mangled_name_there_is_no_note() {
        let (mut tables, mut symbols) = (WindowTables::default(), SymbolNumbers::default());
        assert!(profile(&tables, &symbols).diagnostics.notes.is_empty());
        add(&mut tables, &mut symbols, ROOT, "saxpy");
        assert!(profile(&tables, &symbols).diagnostics.notes.is_empty());
    }

    /// Of the template `gemm<int>` for 64, and for 128.
    #[cfg(feature = "cupti")]
    const SMALL_AND_LARGE: [&str; 2] = ["_Z4gemmILi64EEvv", "_Z4gemmILi128EEvv"];

    #[test]
    #[cfg(feature = "cupti")]
    fn a_kernel_has_one_name_in_all_functions_whatever_arrives_first() {
        use super::{MemoryBySite, recorded_activity};
        use crate::site::labels::LabelNumber;
        use crate::stats::path_ids::CallPath;

        for order in [[0, 1], [1, 0]] {
            let (mut tables, mut symbols) = (WindowTables::default(), SymbolNumbers::default());
            for (path, kernel) in (1..).zip(order) {
                add(&mut tables, &mut symbols, path, SMALL_AND_LARGE[kernel]);
            }
            let path = |site| CallPath {
                parent: ROOT,
                site,
                label: LabelNumber::NONE,
                recursive: false,
            };
            let lines = LineCache::default();
            let names = KernelNames::new(&tables, &symbols, &lines);
            let paths = [path(0), path(10), path(11)];
            let activity = recorded_activity(&tables, &names, &paths, MemoryBySite::default());
            let name_of = |site| &activity.functions[&site].activity.kernels[0].name;
            let found = [name_of(10), name_of(11)];
            assert_eq!(found, order.map(|kernel| ["gemm<64>", "gemm<128>"][kernel]));
            let profile = profile(&tables, &symbols);
            let mut all: Vec<_> = profile
                .kernels
                .iter()
                .map(|kernel| (&*kernel.symbol, &*kernel.name))
                .collect();
            all.sort();
            let [small, large] = SMALL_AND_LARGE;
            assert_eq!(all, [(large, "gemm<128>"), (small, "gemm<64>")]);
        }
    }
}
