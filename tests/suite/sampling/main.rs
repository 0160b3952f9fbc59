//! Promise: a sample is marked, its totals are estimates with true intervals, and it costs little.

mod automatic_rate;
mod confidence_intervals;
mod fixed_rate;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        automatic_rate::MODULE,
        fixed_rate::MODULE,
        confidence_intervals::MODULE,
    ])
}
