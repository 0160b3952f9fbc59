//! Promise: resets, sessions and schedules cut the measurement without losing or mixing calls.

mod resets_and_snapshots;
mod schedules;
mod session_filters;
mod sessions;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        resets_and_snapshots::MODULE,
        schedules::MODULE,
        session_filters::MODULE,
        sessions::MODULE,
    ])
}
