//! Promise: with CUPTI, kernels, copies and CUDA calls belong to the functions that caused them.

mod api_calls;
mod async_calls;
mod attribution;
mod busy_time;
mod call_paths;
mod correlation_ids;
mod counted_losses;
mod counter_sampling;
mod counter_turns;
mod counters;
mod counters_at_exit;
mod device_time;
mod devices;
mod graph_objects;
mod graphs;
mod labels;
mod late_records;
mod listed_counters;
mod measured_parts;
mod memory;
mod memory_at_exit;
mod no_counters;
mod no_stalls;
mod record_collection;
mod record_order;
mod stacks;
mod stacks_at_exit;
mod stalls;
mod step_windows;
mod subscribers;
mod unavailable;
mod windows;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        api_calls::MODULE,
        async_calls::MODULE,
        attribution::MODULE,
        busy_time::MODULE,
        call_paths::MODULE,
        record_collection::MODULE,
        device_time::MODULE,
        devices::MODULE,
        graph_objects::MODULE,
        graphs::MODULE,
        labels::MODULE,
        late_records::MODULE,
        listed_counters::MODULE,
        measured_parts::MODULE,
        memory::MODULE,
        memory_at_exit::MODULE,
        correlation_ids::MODULE,
        counted_losses::MODULE,
        counter_sampling::MODULE,
        counter_turns::MODULE,
        counters::MODULE,
        counters_at_exit::MODULE,
        no_counters::MODULE,
        no_stalls::MODULE,
        record_order::MODULE,
        step_windows::MODULE,
        stacks::MODULE,
        stacks_at_exit::MODULE,
        stalls::MODULE,
        subscribers::MODULE,
        unavailable::MODULE,
        windows::MODULE,
    ])
}
