//! Promise: the attribute registers each function with its name, settings and stream, and the code
//! that it generates triggers no lint of the caller.

// A lint for `strict_caller` that can only be set for a whole crate.
#![deny(non_ascii_idents)]

mod framework_types;
mod has_stream_types;
mod registered_functions;
mod stream_arguments;
mod stream_choice;
mod stream_discovery;
mod strict_caller;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        framework_types::MODULE,
        has_stream_types::MODULE,
        registered_functions::MODULE,
        stream_arguments::MODULE,
        stream_choice::MODULE,
        stream_discovery::MODULE,
        strict_caller::MODULE,
    ])
}
