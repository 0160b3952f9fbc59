//! Promise: each call is timed on its own streams, devices and contexts, and on no others.

mod contexts;
mod devices;
mod inherited;
mod spans;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        contexts::MODULE,
        devices::MODULE,
        inherited::MODULE,
        spans::MODULE,
    ])
}
