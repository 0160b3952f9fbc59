//! Promise: each call is counted and timed once, on any thread and under any runtime.

mod async_calls;
mod boxed_futures;
mod carried_spans;
mod many_polls;
mod pending_calls;
mod rayon_tasks;
mod same_as_without;
mod threads;
mod tokio_tasks;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        async_calls::MODULE,
        boxed_futures::MODULE,
        carried_spans::MODULE,
        many_polls::MODULE,
        pending_calls::MODULE,
        rayon_tasks::MODULE,
        same_as_without::MODULE,
        threads::MODULE,
        tokio_tasks::MODULE,
    ])
}
