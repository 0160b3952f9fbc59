//! CUPTI: which kernels, copies, memsets and CUDA calls each profiled function caused.
//!
//! `collect` turns what CUPTI reports into records, `attribution` turns records into a profile, and
//! `call_stack` says which profiled call a thread is in.

mod attribution;
pub(crate) mod call_stack;
mod collect;

pub(crate) use {
    attribution::kernel_names::KernelNames,
    attribution::shared_attribution::Attribution,
    attribution::symbol_table::SymbolTable,
    attribution::to_profile::{recorded_activity, write_to_profile},
    attribution::window_tables::WindowTables,
    collect::collection::{CollectionCounts, counts, drain, drain_last, notes, record_all_calls},
    collect::lifecycle::is_running,
};

/// Starts CUPTI, at most once per process. Records go to `attribution`; `poll_clocks` is called
/// about once per second on the reader thread. If CUPTI is unavailable, [`notes`] says why.
/// Returns whether this call has started it.
pub(crate) fn start(attribution: &'static Attribution, poll_clocks: fn()) -> bool {
    collect::collection::start(Box::new(attribution), poll_clocks)
}
