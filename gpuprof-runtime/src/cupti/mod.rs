//! CUPTI: which kernels, copies, memsets and CUDA calls each profiled function caused.
//!
//! `collect` turns what CUPTI reports into records, `attribution` turns records into a profile,
//! and `launch_lines` finds the source lines of launches.

mod attribution;
mod collect;
mod launch_lines;
mod module_code;

use std::sync::Arc;
use std::time::Duration;

use gpuprof_report::profile::CopyKind;

#[cfg(feature = "inject")]
pub(crate) use collect::handover::offer as offer_handover;
pub(crate) use {
    attribution::correlator::Attributed,
    attribution::kernel_names::{KernelNames, full_name},
    attribution::memory_profile::{self, MemoryBySite},
    attribution::recorded_activities::RecordedNames,
    attribution::shared_attribution::SharedAttribution,
    attribution::symbol_table::SymbolNumbers,
    attribution::to_profile::{recorded_activity, write_to_profile},
    attribution::window_tables::WindowTables,
    collect::call_gate::count_calls,
    collect::callbacks::Hooks,
    collect::collection::{
        CollectionCounts, counts, drain, drain_last, notes, record_optional, records_memory,
        watch_modules,
    },
    collect::connection::Connecting,
    collect::launch_stacks::set_on as record_stacks,
    collect::lifecycle::{clock_moments, is_running, subscription, unavailable, while_unchanged},
    collect::pc_sampling::SampledStalls,
    collect::pm_sampling::{metrics::SampledMetric, relaxed},
    launch_lines::{line_cache::LineCache, to_profile::write_to_profile as write_launch_lines},
    module_code::{write_double_lines, write_stalls},
};

/// The direction of a recorded copy.
pub(crate) fn copy_kind(number: u32) -> CopyKind {
    let kind = CopyKind::ALL.get(number as usize).copied();
    kind.unwrap_or_default()
}

/// The name of a recorded CUDA call.
pub(crate) fn call_name(is_runtime: bool, cbid: u32) -> String {
    attribution::api_rows::name(collect::record::ApiFunction { is_runtime, cbid })
}

/// Starts CUPTI, unless it runs. Records go to `attribution`. If CUPTI is unavailable, [`notes`]
/// says why, and it is tried again only if `retries` is true. Returns whether this call has started
/// it for the first time.
pub(crate) fn start(
    attribution: &'static SharedAttribution,
    hooks: &'static Hooks,
    how: Connecting,
    retries: bool,
) -> bool {
    let samplings = (
        Arc::clone(&attribution.pm_sampling),
        Arc::clone(&attribution.pc_sampling),
    );
    let sink = Box::new(attribution);
    collect::collection::start(sink, samplings, hooks, how, retries)
}

/// Ends the sampling of counters. It can be started again.
pub(crate) fn end_counters(attribution: &SharedAttribution) {
    if attribution.pm_sampling.suspend() {
        attribution.forget_samples();
    }
}

/// Leaves CUPTI, while the program goes on. It can be started again. Reading the last records takes
/// at most `limit`. To be called in [`while_unchanged`].
pub(crate) fn suspend(attribution: &SharedAttribution, limit: Duration) {
    // The process may be ending.
    if collect::lifecycle::callable_library().is_none() {
        return;
    }
    attribution.pm_sampling.suspend();
    if !attribution.pc_sampling.suspend() {
        // Tried again at the end of the next look.
        return;
    }
    collect::collection::suspend(limit);
    attribution.forget_program_state();
}
