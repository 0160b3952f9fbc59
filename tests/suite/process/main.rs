//! Promise: however a process ends, the report is written once, and the exit status and output are
//! the program's own.

mod checkpoint;
mod exit;
mod signals;

use std::process::ExitCode;

fn main() -> ExitCode {
    support::suite::run(&[exit::MODULE, signals::MODULE, checkpoint::MODULE])
}
