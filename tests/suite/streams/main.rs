//! Promise: each call is timed on its own streams, devices and contexts, and on no others.

mod default_stream;
mod foreign_contexts;
mod inherited_streams;
mod many_calls_and_streams;
mod nested_on_one_stream;
mod overlapping_calls;
mod own_streams;
mod several_devices;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        default_stream::MODULE,
        foreign_contexts::MODULE,
        several_devices::MODULE,
        inherited_streams::MODULE,
        many_calls_and_streams::MODULE,
        nested_on_one_stream::MODULE,
        overlapping_calls::MODULE,
        own_streams::MODULE,
    ])
}
