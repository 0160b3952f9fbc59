//! Promise: captures stay whole, and captured calls are counted and hold nothing.

mod capture;
mod capture_storm;
mod lifetimes;
mod open_captures;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        capture::MODULE,
        capture_storm::MODULE,
        lifetimes::MODULE,
        open_captures::MODULE,
    ])
}
