//! Promise: the program, its driver and its results are the same with gpuprof as without.

mod allocator_calls;
mod calls_and_results;
mod context_resets;
mod current_context;
mod event_reuse;
mod failing_resolver;
mod faults;
mod faulty_kernel;
mod full_queue;
mod held_streams;
mod incomplete_drivers;
mod lifetimes;
mod memory;
mod program_state;
mod refused_starts;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        allocator_calls::MODULE,
        calls_and_results::MODULE,
        context_resets::MODULE,
        current_context::MODULE,
        event_reuse::MODULE,
        held_streams::MODULE,
        incomplete_drivers::MODULE,
        failing_resolver::MODULE,
        faults::MODULE,
        faulty_kernel::MODULE,
        full_queue::MODULE,
        lifetimes::MODULE,
        memory::MODULE,
        program_state::MODULE,
        refused_starts::MODULE,
    ])
}
