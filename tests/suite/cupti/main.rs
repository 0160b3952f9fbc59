//! Promise: with CUPTI, kernels, copies and CUDA calls belong to the functions that caused them.

mod api_calls;
mod async_calls;
mod attribution;
mod busy_time;
mod collection;
mod devices;
mod graphs;
mod losses;
mod records;
mod unavailable;
mod windows;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        api_calls::MODULE,
        async_calls::MODULE,
        attribution::MODULE,
        busy_time::MODULE,
        collection::MODULE,
        devices::MODULE,
        graphs::MODULE,
        losses::MODULE,
        records::MODULE,
        unavailable::MODULE,
        windows::MODULE,
    ])
}
