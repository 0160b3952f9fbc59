//! Promise: a sample is marked, its totals are estimates with true intervals, and it costs little.

mod automatic_rate;
mod calls_left_out;
mod confidence_intervals;
mod fixed_rate;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        automatic_rate::MODULE,
        calls_left_out::MODULE,
        fixed_rate::MODULE,
        confidence_intervals::MODULE,
    ])
}
