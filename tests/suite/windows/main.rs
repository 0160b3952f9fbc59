//! Promise: resets and sessions cut the measurement without losing or mixing calls.

mod calls_in_progress;
mod crossed_calls;
mod default_streams;
mod resets_and_snapshots;
mod session_filters;
mod sessions;
mod step_times;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        calls_in_progress::MODULE,
        crossed_calls::MODULE,
        default_streams::MODULE,
        resets_and_snapshots::MODULE,
        session_filters::MODULE,
        sessions::MODULE,
        step_times::MODULE,
    ])
}
