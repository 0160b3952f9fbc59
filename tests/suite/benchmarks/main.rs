//! Promise: benchmarks are run, compared and reported as documented.

mod harness;
mod throttling;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[harness::MODULE, throttling::MODULE])
}
