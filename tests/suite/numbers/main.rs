//! Promise: calls, times and the call tree are exact.

mod busy_devices;
mod event_pairs;
mod labels;
mod nesting;
mod random_programs;
mod recursion;
mod statistics;
mod unwinding;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        busy_devices::MODULE,
        event_pairs::MODULE,
        labels::MODULE,
        nesting::MODULE,
        random_programs::MODULE,
        recursion::MODULE,
        statistics::MODULE,
        unwinding::MODULE,
    ])
}
