//! From the totals of kernels to their rows in a profile. There may be very many, so totals stay
//! shared with the tables unless they are merged.

use std::cmp::Reverse;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::kernel_names::KernelNames;
use super::row_keys::KernelRowKey;
use super::row_totals::{KernelTotals, duration_stats, merge_kernel};
use super::window_tables::WindowTables;
use gpuprof_report::profile::KernelStats;
use gpuprof_report::sorting::sort_by_key;

pub(super) type SharedRow = (KernelRowKey, Arc<KernelTotals>);

/// Merges the totals of the same key.
pub(super) fn merged<'a, K: Hash + Eq>(
    rows: impl Iterator<Item = (K, &'a Arc<KernelTotals>)>,
) -> FxHashMap<K, Arc<KernelTotals>> {
    let mut merged = FxHashMap::default();
    rows.for_each(|(key, totals)| merge_kernel(&mut merged, key, totals));
    merged
}

/// The keys and the rows of kernels: the longest total time first; equal times by name, so that the
/// order is the same in every run.
pub(super) fn sorted_kernel_rows(
    mut rows: Vec<SharedRow>,
    names: &KernelNames<'_>,
    tables: &WindowTables,
) -> (Vec<KernelRowKey>, Vec<KernelStats>) {
    sort_by_key(&mut rows, |((symbol, device), totals)| {
        let total_ns = totals.times.durations.total;
        (Reverse(total_ns), names.symbol(*symbol), *device)
    });
    let stats = rows
        .iter()
        .map(|(row, totals)| kernel_stats(names, *row, totals, tables))
        .collect();
    (rows.iter().map(|(row, _)| *row).collect(), stats)
}

fn kernel_stats(
    names: &KernelNames<'_>,
    (symbol, device): KernelRowKey,
    totals: &KernelTotals,
    tables: &WindowTables,
) -> KernelStats {
    // The launch configuration with the largest total time; ties are broken deterministically.
    let shown = totals
        .shapes
        .iter()
        .max_by_key(|(shape, ns)| (*ns, Reverse(*shape)));
    let shape = shown.map(|(shape, _)| *shape).unwrap_or_default();
    let mut kernel = KernelStats::default();
    kernel.name = names.short(symbol).to_owned();
    kernel.full_name = names.full(symbol).to_owned();
    kernel.symbol = names.symbol(symbol).to_owned();
    kernel.device = device;
    kernel.times = duration_stats(&totals.times);
    kernel.graph_calls = totals.graph_calls;
    kernel.launch_latency = duration_stats(&totals.latency);
    kernel.grid = shape.grid;
    kernel.block = shape.block;
    kernel.shapes = totals.shapes.len() as u32;
    kernel.registers = shape.registers;
    kernel.static_shared_bytes = shape.static_shared_bytes;
    kernel.dynamic_shared_bytes = shape.dynamic_shared_bytes;
    kernel.local_bytes_per_thread = shape.local_bytes_per_thread;
    kernel.occupancy = None;
    kernel.streams = totals.streams.count();
    kernel.concurrent_ns = tables.device_times(device).map(|_| totals.concurrent_ns);
    kernel.counters = totals.samples.as_ref().and_then(|samples| samples.values());
    if let Some(stacks) = &totals.stacks {
        kernel.launch_lines = names.launch_lines(stacks);
    }
    kernel
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gpuprof_report::profile::{Bucket, KernelStats};

    use crate::cupti::attribution::activity_path::{ActivityPath, Cause};
    use crate::cupti::attribution::row_totals::KernelTotals;
    use crate::cupti::attribution::window_tables::WindowTables;
    use crate::cupti::collect::record::{ActivitySpan, KernelRecord, LaunchShape};
    use crate::stats::by_window::WindowSum;

    /// Adds a kernel of 10 ns.
    fn add(tables: &mut WindowTables, path: u32) {
        let cause = Cause {
            path: ActivityPath::Called(path),
            ..Cause::UNATTRIBUTED
        };
        let kernel = KernelRecord {
            span: ActivitySpan {
                start: 20,
                end: 30,
                ..ActivitySpan::default()
            },
            symbol: "axpy".into(),
            shape: LaunchShape::default(),
        };
        tables.add_kernel(cause, Some(0), &kernel);
    }

    fn row(tables: &WindowTables, path: u32) -> &Arc<KernelTotals> {
        let path = ActivityPath::Called(path);
        let found = tables.kernels.iter().find(|(key, _)| key.path == path);
        found.expect("a row").1
    }

    fn total_ns(tables: &WindowTables, path: u32) -> u64 {
        row(tables, path).times.durations.total
    }

    #[test]
    fn a_copy_of_the_tables_shares_the_rows_that_do_not_change() {
        let mut tables = WindowTables::default();
        add(&mut tables, 1);
        add(&mut tables, 2);
        let copy = tables.clone();
        add(&mut tables, 2);
        assert!(Arc::ptr_eq(row(&tables, 1), row(&copy, 1)));
        assert_eq!([1, 2].map(|path| total_ns(&copy, path)), [10, 10]);
        assert_eq!([1, 2].map(|path| total_ns(&tables, path)), [10, 20]);
        // So do merged tables.
        let mut merged = WindowTables::default();
        merged.merge(&copy);
        assert!(Arc::ptr_eq(row(&merged, 1), row(&copy, 1)));
        merged.merge(&tables);
        assert_eq!([1, 2].map(|path| total_ns(&merged, path)), [20, 30]);
        assert_eq!([1, 2].map(|path| total_ns(&copy, path)), [10, 10]);
    }

    #[test]
    fn ten_thousand_kernels_in_six_functions_fit_in_their_memory() {
        // Each row has one launch shape, one stream, and few different durations.
        let counters = 2 * size_of::<usize>();
        let buckets = 2 * 2 * size_of::<Bucket>();
        let of_table = size_of::<KernelTotals>() + counters + buckets;
        // Beside its names.
        let of_profile = size_of::<KernelStats>();
        let bytes = (60_000 * of_table, 70_000 * of_profile);
        assert!(bytes.0 <= 30_000_000 && bytes.1 <= 30_000_000, "{bytes:?}");
    }
}
