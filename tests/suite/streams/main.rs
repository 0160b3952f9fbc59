//! Promise: each call is timed on its own streams, devices and contexts, and on no others.

mod contexts;
mod devices;
mod inherited_streams;
mod own_streams;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        contexts::MODULE,
        devices::MODULE,
        inherited_streams::MODULE,
        own_streams::MODULE,
    ])
}
