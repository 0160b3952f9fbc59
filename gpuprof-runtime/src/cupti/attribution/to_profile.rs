//! Converts attribution tables into profile rows (names, quantiles, sort order), per function and
//! for the whole program.

use std::cmp::Reverse;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::api_rows::api_rows;
use super::limits::{MAX_KERNEL_ROWS, MAX_REPLAY_ROWS};
use super::replay_rows;
use super::row_totals::{
    ApiTotals, CallTotals, CopyTotals, DurationTotals, KernelTotals, duration_stats,
};
use super::symbol_table::SymbolTable;
use super::window_tables::{KernelKey, WindowTables};
use super::wrong_streams;
use crate::clock;
use crate::cupti::collect::record::{ApiFunction, CopyKind};
use crate::stats::path_ids::CallPath;
use crate::stats::profile_inputs::CuptiActivity;
use gpuprof_report::occupancy;
use gpuprof_report::profile::{self, ApiStats, CopyStats, KernelStats, Profile};

/// The name of all kernels beyond [`MAX_KERNEL_ROWS`].
const OTHER_KERNELS: &str = "(other kernels)";

/// The activities of each function, calls and replays together.
pub(crate) fn activity_by_site(
    tables: &WindowTables,
    symbols: &SymbolTable,
    paths: &[CallPath],
) -> FxHashMap<u32, CuptiActivity> {
    let mut sites: FxHashMap<u32, CuptiActivity> = FxHashMap::default();
    let mut by_label = replay_rows::replays_by_label(tables, paths);
    for (path, totals) in &tables.calls {
        if let Some(path) = paths.get(*path as usize) {
            let of_label = by_label.entry((path.site, path.label)).or_default();
            of_label.merge(totals);
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
    let mut latency: FxHashMap<u32, DurationTotals> = FxHashMap::default();
    for (key, totals) in &tables.kernels {
        let Some(site) = key.site else { continue };
        let entry = sites.entry(site).or_default();
        let kernel = kernel_stats(symbols, *key, totals);
        entry.activity.kernels.push(kernel);
        latency.entry(site).or_default().merge(&totals.latency);
    }
    for (key, totals) in &tables.copies {
        let Some(site) = key.site else { continue };
        let entry = sites.entry(site).or_default();
        let copies = copy_stats(key.kind, key.device, totals, tables);
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
    for (site, entry) in &mut sites {
        let activity = &mut entry.activity;
        activity.busy_ns = activity.busy_ns.or(Some(0));
        let latency = latency.get(site).map(duration_stats);
        activity.launch_latency = latency.filter(|latency| latency.calls > 0);
        sort(
            &mut activity.kernels,
            &mut activity.copies,
            &mut activity.api,
        );
    }
    sites
}

/// Fills in the activities of the whole program, and the occupancy of all kernels.
pub(crate) fn write_to_profile(
    profile: &mut Profile,
    tables: &WindowTables,
    symbols: &SymbolTable,
) {
    let without_site = |key: &KernelKey| KernelKey { site: None, ..*key };
    let kernels = merge_by(&tables.kernels, without_site, KernelTotals::merge);
    let copies = merge_by(
        &tables.copies,
        |key| (key.kind, key.device),
        CopyTotals::merge,
    );
    profile.kernels = kernels
        .iter()
        .map(|(key, totals)| kernel_stats(symbols, *key, totals))
        .collect();
    profile.copies = copies
        .iter()
        .map(|((kind, device), totals)| copy_stats(*kind, *device, totals, tables))
        .collect();
    let api = tables.api.iter();
    profile.api = api_rows(api.map(|((_, function), totals)| (*function, totals)));
    sort(&mut profile.kernels, &mut profile.copies, &mut profile.api);
    if let Some(cupti) = &mut profile.cupti {
        cupti.unfinished = tables.unfinished;
        cupti.late_records = tables.late_records;
        cupti.records_without_call = tables.records_without_call;
        cupti.dropped_calls = tables.dropped_calls;
        cupti.unattributed = tables.unattributed;
        cupti.unattributed_ns = tables.unattributed_ns;
        cupti.unattributed_graph_nodes = tables.unattributed_graph_nodes;
        if cfg!(not(feature = "cupti")) {
            profile.diagnostics.notes.push(
                "kernel names are shown mangled and GPU clocks are omitted: gpuprof is built \
                 without its feature cupti"
                    .into(),
            );
        }
    }
    occupancy::fill(profile);
    wrong_streams::note(profile);
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
            "more than {MAX_KERNEL_ROWS} kernel rows (function and kernel name): the rest are \
             merged into {OTHER_KERNELS}"
        ));
    }
}

/// Merges the rows whose keys differ only in the function.
fn merge_by<K, L: Hash + Eq, T: Default>(
    rows: &FxHashMap<K, T>,
    without_site: impl Fn(&K) -> L,
    merge: impl Fn(&mut T, &T),
) -> FxHashMap<L, T> {
    let mut merged: FxHashMap<L, T> = FxHashMap::default();
    for (key, totals) in rows {
        merge(merged.entry(without_site(key)).or_default(), totals);
    }
    merged
}

fn kernel_stats(symbols: &SymbolTable, key: KernelKey, totals: &KernelTotals) -> KernelStats {
    let symbol = key.symbol.and_then(|number| symbols.symbol(number));
    let symbol = symbol.unwrap_or(OTHER_KERNELS);
    let (name, full_name) = readable_names(symbol);
    // The launch configuration with the largest total time; ties are broken deterministically.
    let shown = totals
        .shapes
        .iter()
        .max_by_key(|(shape, ns)| (*ns, Reverse(*shape)));
    let shape = shown.map(|(shape, _)| *shape).unwrap_or_default();
    let mut kernel = KernelStats::default();
    kernel.name = name;
    kernel.full_name = full_name;
    kernel.symbol = symbol.to_owned();
    kernel.device = key.device;
    kernel.times = duration_stats(&totals.times);
    kernel.graph_calls = totals.graph_calls;
    kernel.launch_latency = duration_stats(&totals.latency);
    kernel.grid = shape.grid;
    kernel.block = shape.block;
    kernel.shapes = totals.shapes.len() as u32;
    kernel.registers = shape.registers;
    kernel.static_shared_bytes = shape.static_shared_bytes;
    kernel.dynamic_shared_bytes = shape.dynamic_shared_bytes;
    kernel.occupancy = None;
    kernel.streams = totals.streams.count();
    kernel
}

/// The short and the full name of a kernel; without the feature `cupti` both are its symbol.
fn readable_names(symbol: &str) -> (String, String) {
    #[cfg(feature = "cupti")]
    {
        let full_name = gpuprof_report::demangle::full(symbol);
        (gpuprof_report::demangle::short(&full_name), full_name)
    }
    #[cfg(not(feature = "cupti"))]
    (symbol.to_owned(), symbol.to_owned())
}

fn copy_stats(
    kind: CopyKind,
    device: u32,
    totals: &CopyTotals,
    tables: &WindowTables,
) -> CopyStats {
    let mut copies = CopyStats::default();
    copies.kind = kind_of_copy(kind);
    copies.device = device;
    copies.times = duration_stats(&totals.times);
    copies.bytes = totals.bytes;
    copies.pageable_calls = totals.pageable_calls;
    copies.pageable_ns = totals.pageable_ns;
    copies.blocking_calls = totals.blocking_calls;
    copies.exposed_ns = tables.has_exposed_time(device).then_some(totals.exposed_ns);
    copies.streams = totals.streams.count();
    copies
}

fn kind_of_copy(kind: CopyKind) -> profile::CopyKind {
    match kind {
        CopyKind::HtoD => profile::CopyKind::HtoD,
        CopyKind::DtoH => profile::CopyKind::DtoH,
        CopyKind::HtoA => profile::CopyKind::HtoA,
        CopyKind::AtoH => profile::CopyKind::AtoH,
        CopyKind::AtoA => profile::CopyKind::AtoA,
        CopyKind::AtoD => profile::CopyKind::AtoD,
        CopyKind::DtoA => profile::CopyKind::DtoA,
        CopyKind::DtoD => profile::CopyKind::DtoD,
        CopyKind::HtoH => profile::CopyKind::HtoH,
        CopyKind::PtoP => profile::CopyKind::PtoP,
        CopyKind::Memset => profile::CopyKind::Memset,
        CopyKind::Unknown => profile::CopyKind::Unknown,
    }
}

/// Longest total time first; equal times by name, so that the order is the same in every run.
fn sort(kernels: &mut [KernelStats], copies: &mut [CopyStats], api: &mut [ApiStats]) {
    kernels.sort_by(|a, b| {
        let order = b.times.total_ns.cmp(&a.times.total_ns);
        order.then_with(|| (&a.symbol, a.device).cmp(&(&b.symbol, b.device)))
    });
    copies.sort_by(|a, b| {
        let order = b.times.total_ns.cmp(&a.times.total_ns);
        order.then_with(|| (a.kind.as_str(), a.device).cmp(&(b.kind.as_str(), b.device)))
    });
    api.sort_by(|a, b| {
        let order = b.times.total_ns.cmp(&a.times.total_ns);
        order.then_with(|| a.name.cmp(&b.name))
    });
}

#[cfg(test)]
mod tests {
    use gpuprof_report::profile::{Cupti, Profile};

    use super::write_to_profile;
    use crate::cupti::attribution::symbol_table::SymbolTable;
    use crate::cupti::attribution::window_tables::WindowTables;
    use crate::cupti::collect::record::{Activity, ActivitySpan, KernelRecord};

    #[test]
    fn kernel_names_are_readable_or_a_note_names_the_feature() {
        let kernel = KernelRecord {
            span: ActivitySpan::default(),
            symbol: "_Z4axpyi".into(),
            grid: [1; 3],
            block: [1; 3],
            registers: 0,
            static_shared_bytes: 0,
            dynamic_shared_bytes: 0,
        };
        let (mut tables, mut symbols) = (WindowTables::default(), SymbolTable::default());
        let symbol = symbols.intern(&Activity::Kernel(kernel.clone()));
        tables.add_kernel(None, symbol, &kernel);
        let mut profile = Profile::default();
        profile.cupti = Some(Cupti::default());
        write_to_profile(&mut profile, &tables, &symbols);
        let names: Vec<&str> = profile.kernels.iter().map(|kernel| &*kernel.name).collect();
        let notes = &profile.diagnostics.notes;
        match cfg!(feature = "cupti") {
            true => assert_eq!((names, notes.len()), (vec!["axpy"], 0)),
            false => {
                assert_eq!((names, notes.len()), (vec!["_Z4axpyi"], 1));
                assert!(notes[0].contains("without its feature cupti"));
            }
        }
    }
}
