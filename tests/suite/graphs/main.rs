//! Promise: captures stay whole, and replays are timed.

mod capture;
mod capture_storm;
mod lifetimes;
mod open_captures;
mod replays;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        capture::MODULE,
        capture_storm::MODULE,
        lifetimes::MODULE,
        open_captures::MODULE,
        replays::MODULE,
    ])
}
