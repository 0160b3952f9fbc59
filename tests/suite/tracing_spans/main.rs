//! Promise: a span of `tracing` is a call like that of an annotated function, and the program's log
//! is the same.

mod everywhere;
mod filters;
mod odd_lives;
mod per_enter;
mod per_span;
mod random_programs;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        everywhere::MODULE,
        filters::MODULE,
        odd_lives::MODULE,
        per_enter::MODULE,
        per_span::MODULE,
        random_programs::MODULE,
    ])
}
