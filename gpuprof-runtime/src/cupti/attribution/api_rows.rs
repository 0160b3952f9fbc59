//! The rows of CUDA calls in a profile: one per name, whatever its variants and versions.

use rustc_hash::FxHashMap;

use super::row_totals::{ApiTotals, duration_stats};
use crate::cupti::collect::callback_ids::CallPurpose;
use crate::cupti::collect::collection;
use crate::cupti::collect::record::ApiFunction;
use gpuprof_report::profile::{ApiKind, ApiStats};

/// The totals of each function, in one row per name.
pub(super) fn api_rows<'a>(
    totals: impl IntoIterator<Item = (ApiFunction, &'a ApiTotals)>,
) -> Vec<ApiStats> {
    let mut rows: FxHashMap<String, (ApiKind, ApiTotals)> = FxHashMap::default();
    for (function, totals) in totals {
        let kind = function.purpose().map_or(ApiKind::Other, CallPurpose::kind);
        let new = || (kind, ApiTotals::default());
        let (_, row) = rows.entry(name(function)).or_insert_with(new);
        row.merge(totals);
    }
    let rows = rows.into_iter();
    rows.map(|(name, (kind, totals))| {
        let mut stats = ApiStats::default();
        stats.name = name;
        stats.kind = kind;
        stats.times = duration_stats(&totals.times);
        stats.failed = totals.failed;
        stats
    })
    .collect()
}

/// The name of a CUDA function.
pub(crate) fn name(function: ApiFunction) -> String {
    let unnamed = || {
        let api = if function.is_runtime {
            "runtime"
        } else {
            "driver"
        };
        format!("{api} call {}", function.cbid)
    };
    collection::function_name(function).unwrap_or_else(unnamed)
}
