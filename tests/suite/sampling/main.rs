//! Promise: a sample is marked, its totals are estimates with true intervals, and it costs little.

mod automatic_rate;
mod calls_left_out;
mod confidence_intervals;
mod default_rows;
mod fixed_rate;
mod header_of_samples;
mod program_loads;
mod rates_over_time;
mod untimed_neighbours;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        automatic_rate::MODULE,
        calls_left_out::MODULE,
        untimed_neighbours::MODULE,
        rates_over_time::MODULE,
        fixed_rate::MODULE,
        header_of_samples::MODULE,
        confidence_intervals::MODULE,
        default_rows::MODULE,
        program_loads::MODULE,
    ])
}
