//! From CUPTI to records: finds and starts libcupti, receives CUDA calls and graph nodes by
//! callbacks and activities by buffers, and decodes them on a thread of its own.

mod activity_calls;
mod api_callbacks;
pub(crate) mod bindings;
pub(crate) mod bounded_queue;
mod buffers;
pub(crate) mod call_gate;
pub(crate) mod callback_clock;
mod callback_events;
pub(crate) mod callback_ids;
pub(crate) mod callbacks;
pub(crate) mod collection;
pub(crate) mod connection;
mod cuda_call_rings;
pub(crate) mod graph_nodes;
#[cfg(feature = "inject")]
pub(crate) mod handover;
pub(crate) mod kernel_symbol;
mod kernel_symbols;
pub(crate) mod launch_stacks;
pub(crate) mod library;
pub(crate) mod lifecycle;
mod opt_in_records;
mod own_subscription;
mod parameters;
mod parse_record;
pub(crate) mod pc_sampling;
pub(crate) mod pm_sampling;
pub(crate) mod python;
pub(crate) mod reader;
pub(crate) mod reader_progress;
pub(crate) mod record;
pub(crate) mod source_lines;
mod stack_sampling;
pub(crate) mod stack_table;
mod unavailable_reason;
mod used_contexts;
