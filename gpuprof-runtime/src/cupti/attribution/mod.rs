//! Attributes CUPTI records: finds the CUDA API call that caused each activity and the profiled
//! call that made it, and sums totals per function and window.

mod activity_path;
pub(crate) mod api_rows;
mod busy_rows;
mod call_activity;
mod capture_intervals;
mod captured_calls;
mod correlated_call;
mod correlator;
mod cuda_calls;
mod device_sweep;
mod device_timeline;
mod graph_replays;
mod interval_union;
pub(crate) mod kernel_names;
mod kernel_rows;
mod limits;
mod node_owners;
mod open_calls;
mod orphans;
pub(crate) mod recorded_activities;
mod replay_rows;
mod replays;
mod row_keys;
mod row_totals;
pub(crate) mod shared_attribution;
pub(crate) mod symbol_table;
pub(crate) mod to_profile;
mod tree_rows;
mod window_history;
pub(crate) mod window_tables;
mod wrong_streams;
