//! The tables as the profile has them: names, quantiles, order; a function's own and the program's.
//!
//! Asks CUPTI for the names of CUDA calls, and nothing else.

use std::cmp::Reverse;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::recorded::Symbols;
use super::tables::{MOST_KEYS, OTHERS, OUTSIDE, Tables};
use super::totals::{ApiSums, CopySums, KernelSums, Sums};
use crate::cupti::collect::callback_ids::Purpose;
use crate::cupti::collect::record::{CopyKind, Function};
use crate::cupti::collect::subscriber;
use crate::stats::build_profile::CuptiActivity;
use gpuprof_report::occupancy;
use gpuprof_report::profile::{
    ApiStats, CopyStats, Cupti, DurationStats, GpuActivity, KernelStats, Profile,
};

/// The name of all kernels past [`MOST_KEYS`].
const OTHER_KERNELS: &str = "(other kernels)";

/// What a window's tables tell, by function.
pub(crate) fn by_site(tables: &Tables, symbols: &Symbols) -> FxHashMap<u32, CuptiActivity> {
    let mut sites: FxHashMap<u32, CuptiActivity> = FxHashMap::default();
    for (site, sums) in &tables.calls {
        let worked = sites.entry(*site).or_default();
        worked.timed_busy_ns = sums.timed_busy_ns;
        worked.devices = sums.devices.count_ones();
        worked.activity = GpuActivity {
            busy_ns: Some(sums.busy_ns),
            busy_calls: sums.calls,
            activities: sums.activities,
            launches: sums.launches,
            work_streams: sums.streams,
            first_call_ns: sums.first_ns,
            ..GpuActivity::default()
        };
    }
    let mut latency: FxHashMap<u32, Sums> = FxHashMap::default();
    for (&(site, symbol, device), sums) in &tables.kernels {
        let worked = sites.entry(site).or_default();
        worked
            .activity
            .kernels
            .push(kernel(symbols, symbol, device, sums));
        latency.entry(site).or_default().merge(&sums.latency);
    }
    for (&(site, kind, device), sums) in &tables.copies {
        let worked = sites.entry(site).or_default();
        let copies = copies(kind, device, sums, tables.knows_alone(device));
        worked.activity.copies.push(copies);
    }
    for (&(site, function), sums) in &tables.api {
        let worked = sites.entry(site).or_default();
        worked.activity.api.push(api_call(function, sums));
    }
    for (site, worked) in &mut sites {
        let work = &mut worked.activity;
        work.busy_ns = work.busy_ns.or(Some(0));
        let latency = latency.get(site).map(durations);
        work.launch_latency = latency.filter(|latency| latency.calls > 0);
        sort(&mut work.kernels, &mut work.copies, &mut work.api);
    }
    sites.remove(&OUTSIDE);
    sites
}

/// Fills in what the tables tell of the whole program, and what its devices tell of all kernels.
pub(crate) fn tell(profile: &mut Profile, tables: &Tables, symbols: &Symbols) {
    let kernels = sum(&tables.kernels, |key| (key.1, key.2), KernelSums::merge);
    let copied = sum(&tables.copies, |key| (key.1, key.2), CopySums::merge);
    let called = sum(&tables.api, |key| key.1, ApiSums::merge);
    profile.kernels = kernels
        .iter()
        .map(|((symbol, device), sums)| kernel(symbols, *symbol, *device, sums))
        .collect();
    profile.copies = copied
        .iter()
        .map(|((kind, device), sums)| copies(*kind, *device, sums, tables.knows_alone(*device)))
        .collect();
    profile.api = called
        .iter()
        .map(|(function, sums)| api_call(*function, sums))
        .collect();
    sort(&mut profile.kernels, &mut profile.copies, &mut profile.api);
    if cfg!(not(feature = "cupti")) && profile.cupti.is_some() {
        profile.diagnostics.notes.push(
            "kernel names are shown mangled and GPU clocks are omitted: gpuprof is built without \
             its feature cupti"
                .into(),
        );
    }
    if let Some(cupti) = &mut profile.cupti {
        *cupti = Cupti {
            invalid_records: cupti.invalid_records + tables.invalid,
            unfinished: tables.unfinished,
            late_records: tables.late,
            dropped_calls: tables.lost_calls,
            unattributed: tables.outside,
            unattributed_ns: tables.outside_ns,
            ..std::mem::take(cupti)
        };
    }
    occupancy::fill(profile);
    if tables.kernels.keys().any(|key| key.1 == OTHERS) {
        profile.diagnostics.notes.push(format!(
            "there are more than {MOST_KEYS} kernels by function and name: the rest is summed up as {OTHER_KERNELS}"
        ));
    }
}

/// Adds up what differs only in its function.
fn sum<K, L: Hash + Eq, S: Default>(
    all: &FxHashMap<K, S>,
    without_site: impl Fn(&K) -> L,
    merge: impl Fn(&mut S, &S),
) -> FxHashMap<L, S> {
    let mut summed: FxHashMap<L, S> = FxHashMap::default();
    for (key, sums) in all {
        merge(summed.entry(without_site(key)).or_default(), sums);
    }
    summed
}

fn kernel(symbols: &Symbols, symbol: u32, device: u32, sums: &KernelSums) -> KernelStats {
    let symbol = symbols.name(symbol).unwrap_or(OTHER_KERNELS);
    let (name, full_name) = readable_names(symbol);
    // Of two that took the same time, always the same one.
    let shown = sums
        .shapes
        .iter()
        .max_by_key(|(shape, ns)| (*ns, Reverse(*shape)));
    let shape = shown.map(|(shape, _)| *shape).unwrap_or_default();
    KernelStats {
        name,
        full_name,
        symbol: symbol.to_owned(),
        device,
        times: durations(&sums.times),
        graph_calls: sums.graph_calls,
        launch_latency: durations(&sums.latency),
        grid: shape.grid,
        block: shape.block,
        shapes: sums.shapes.len() as u32,
        registers: shape.registers,
        static_shared_bytes: shape.static_shared_bytes,
        dynamic_shared_bytes: shape.dynamic_shared_bytes,
        occupancy: None,
        streams: sums.streams.count(),
    }
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

fn copies(kind: CopyKind, device: u32, sums: &CopySums, knows_alone: bool) -> CopyStats {
    CopyStats {
        kind: shown(kind).to_owned(),
        device,
        times: durations(&sums.times),
        bytes: sums.bytes,
        pageable_calls: sums.pageable_calls,
        pageable_ns: sums.pageable_ns,
        blocking_calls: sums.blocking_calls,
        exposed_ns: knows_alone.then_some(sums.exposed_ns),
        streams: sums.streams.count(),
    }
}

fn shown(kind: CopyKind) -> &'static str {
    match kind {
        CopyKind::HtoD => "HtoD",
        CopyKind::DtoH => "DtoH",
        CopyKind::HtoA => "HtoA",
        CopyKind::AtoH => "AtoH",
        CopyKind::AtoA => "AtoA",
        CopyKind::AtoD => "AtoD",
        CopyKind::DtoA => "DtoA",
        CopyKind::DtoD => "DtoD",
        CopyKind::HtoH => "HtoH",
        CopyKind::PtoP => "PtoP",
        CopyKind::Memset => "memset",
        CopyKind::Unknown => "unknown",
    }
}

fn api_call(function: Function, sums: &ApiSums) -> ApiStats {
    let unnamed = || {
        let library = if function.runtime {
            "runtime"
        } else {
            "driver"
        };
        format!("{library} call {}", function.cbid)
    };
    ApiStats {
        name: subscriber::function_name(function).unwrap_or_else(unnamed),
        kind: function.purpose().map_or("other", Purpose::name).to_owned(),
        times: durations(&sums.times),
        failed: sums.failed,
    }
}

fn durations(sums: &Sums) -> DurationStats {
    let (all, spread) = (&sums.all, &sums.spread);
    if all.calls == 0 {
        return DurationStats::default();
    }
    DurationStats {
        calls: all.calls,
        total_ns: all.total,
        mean_ns: all.mean().round() as u64,
        min_ns: all.min,
        max_ns: all.max,
        p50_ns: spread.quantile(0.50, all.min, all.max),
        p99_ns: spread.quantile(0.99, all.min, all.max),
    }
}

/// Those of the most time first; of the same time by name, so that the order is the same in every run.
fn sort(kernels: &mut [KernelStats], copies: &mut [CopyStats], api: &mut [ApiStats]) {
    kernels.sort_by(|a, b| {
        let order = b.times.total_ns.cmp(&a.times.total_ns);
        order.then_with(|| (&a.symbol, a.device).cmp(&(&b.symbol, b.device)))
    });
    copies.sort_by(|a, b| {
        let order = b.times.total_ns.cmp(&a.times.total_ns);
        order.then_with(|| (&a.kind, a.device).cmp(&(&b.kind, b.device)))
    });
    api.sort_by(|a, b| {
        let order = b.times.total_ns.cmp(&a.times.total_ns);
        order.then_with(|| a.name.cmp(&b.name))
    });
}
