//! Promise: captures stay whole, and captured calls are counted and hold nothing.

mod capture;
mod lifetimes;
mod many_captures;
mod open_captures;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        capture::MODULE,
        lifetimes::MODULE,
        many_captures::MODULE,
        open_captures::MODULE,
    ])
}
