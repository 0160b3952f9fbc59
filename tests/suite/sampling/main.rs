//! Promise: a sample is marked, its totals are estimates with true intervals, and it costs little.

mod automatic;
mod fixed;
mod intervals;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[automatic::MODULE, fixed::MODULE, intervals::MODULE])
}
