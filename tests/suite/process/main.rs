//! Promise: however a process ends, the report is written once, and the exit status and output are
//! the program's own.

mod checkpoint;
mod diagnostics;
mod exit;
mod forked_child;
mod helper_threads;
mod locks;
mod set_user_id;
mod signals;
mod stopping_clock;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[
        exit::MODULE,
        forked_child::MODULE,
        helper_threads::MODULE,
        locks::MODULE,
        set_user_id::MODULE,
        signals::MODULE,
        checkpoint::MODULE,
        diagnostics::MODULE,
    ])
}
