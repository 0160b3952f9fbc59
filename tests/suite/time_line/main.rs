//! Promise: the time line has every call, where it was and when, on one clock.

mod arguments;
mod counters;
mod kernels;
mod spans;
mod switching;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        arguments::MODULE,
        counters::MODULE,
        kernels::MODULE,
        spans::MODULE,
        switching::MODULE,
    ])
}
