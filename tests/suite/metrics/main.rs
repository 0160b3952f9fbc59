//! Promise: metrics for Prometheus have the numbers of the profile, count from the start of the
//! process, are bounded, and are served to any client without disturbing the program.

mod bounds;
mod counters;
mod exposition;
mod files;
mod listener;
mod many_functions;
mod numbers;
mod records;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        numbers::MODULE,
        bounds::MODULE,
        counters::MODULE,
        records::MODULE,
        files::MODULE,
        listener::MODULE,
    ])
}
