//! Aggregates the counters of program threads and of the resolver into the functions and call tree
//! of a profile.

pub(crate) mod adaptive_sampling;
pub(crate) mod build_profile;
pub(crate) mod busy_union;
pub(crate) mod by_window;
pub(crate) mod call_outcome;
mod call_tree_node;
pub(crate) mod calls_in_progress;
mod cluster_sums;
mod concurrent_histogram;
pub(crate) mod durations;
mod event_pair_costs;
mod function_stats;
mod gpu_busy;
mod gpu_time_rollup;
pub(crate) mod gpu_totals;
mod host_path_totals;
pub(crate) mod host_totals;
mod label_stats;
#[cfg(all(test, loom))]
mod loom_tests;
pub(crate) mod memory_limit;
mod nested_paths;
pub(crate) mod path_counters;
mod path_estimate;
pub(crate) mod path_ids;
mod path_sampling;
pub(crate) mod profile_inputs;
pub(crate) mod profiled_call;
mod replayed_nodes;
pub(crate) mod sampling_allowance;
#[cfg(test)]
mod sampling_checks;
pub(crate) mod sampling_decisions;
mod site_counters;
pub(crate) mod thread_counters;
pub(crate) mod window_epoch;
