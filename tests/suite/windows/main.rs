//! Promise: resets, sessions and schedules cut the measurement without losing or mixing calls.

mod calls_in_progress;
mod crossed_calls;
mod resets_and_snapshots;
mod schedule_boundaries;
mod schedules;
mod session_filters;
mod sessions;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        calls_in_progress::MODULE,
        crossed_calls::MODULE,
        resets_and_snapshots::MODULE,
        schedules::MODULE,
        schedule_boundaries::MODULE,
        session_filters::MODULE,
        sessions::MODULE,
    ])
}
