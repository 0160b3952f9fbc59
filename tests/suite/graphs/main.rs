//! Promise: captures stay whole, and replays are timed.

mod capture;
mod capture_storm;
mod lifetimes;
mod open_captures;
mod replay_failures;
mod replay_limits;
mod replays;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        capture::MODULE,
        capture_storm::MODULE,
        lifetimes::MODULE,
        open_captures::MODULE,
        replay_failures::MODULE,
        replay_limits::MODULE,
        replays::MODULE,
    ])
}
